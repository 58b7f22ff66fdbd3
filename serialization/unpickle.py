"""A pickle reader that only makes data, and refuses opcodes and names outside of two small tables.

It never imports, looks up or calls anything that a file names.  A name becomes a `GlobalRef`, and
REDUCE of a name in `REBUILDERS` makes one of the records of `pickle_tree`.  Everything else raises
an ArchiveError that says what the file requested.

The memory it uses is proportional to the pickle, since every opcode pushes at most one value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import ArchiveError
from .pickle_tree import (
    STORAGE_CLASSES,
    DeviceRef,
    EnumRef,
    GlobalRef,
    ObjectRef,
    StorageRef,
    TensorRef,
    Tree,
)

MAX_DIMS = 32
MAX_NAME = 4096
MAX_INT = 2**63

DAMAGED = "the file is damaged or cut short; download or copy it again"
HOSTILE = "TorchScript archives never need this; do not load the file with any other tool either"


def unpickle(data: memoryview, record: str) -> Tree:
    """The value of a pickle.  Raises ArchiveError, which names `record`, if it is not allowed."""
    return Unpickler(data, record).run()


class Unpickler:
    """Reads one pickle.

    stack: the values above the last mark.  marks: the stacks below each open mark.
    """

    def __init__(self, data: memoryview, record: str) -> None:
        self.data = bytes(data)
        self.record = record
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.tree = Tree(None)
        self.is_done = False

    def run(self) -> Tree:
        data, size, table = self.data, len(self.data), self.handlers()
        while not self.is_done:
            if self.at >= size:
                self.fail("the pickle ends before its STOP", DAMAGED)
            opcode = data[self.at]
            handler = table[opcode]
            if handler is None:
                self.fail(
                    f"the pickle uses opcode {opcode:#04x} at byte {self.at}, "
                    "which is not among those of archives",
                    HOSTILE,
                )
            self.at += 1
            try:
                handler(self)
            except IndexError:
                self.fail(f"opcode {opcode:#04x} takes from an empty stack", DAMAGED)
        return self.tree

    @classmethod
    def handlers(cls) -> list[Callable[[Unpickler], None] | None]:
        """The handlers by opcode; None for opcodes that are refused.  In a subclass, its methods
        replace those of the same name."""
        if cls is Unpickler:
            return OPCODES
        return [h and getattr(cls, h.__name__, h) for h in OPCODES]

    def fail(self, why: str, help: str = HOSTILE) -> NoReturn:
        raise ArchiveError(why, self.record, help)

    # Reading operands

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            self.fail("the pickle is cut short", DAMAGED)
        part = self.data[self.at : end]
        self.at = end
        return part

    def number(self, layout: struct.Struct) -> int:
        return layout.unpack(self.take(layout.size))[0]

    def line(self) -> str:
        end = self.data.find(b"\n", self.at, self.at + MAX_NAME)
        if end < 0:
            self.fail("a name has no end", DAMAGED)
        text = self.text(self.data[self.at : end])
        self.at = end + 1
        return text

    def text(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            self.fail("a string is not UTF-8", DAMAGED)

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop_mark(self) -> list[Any]:
        if not self.marks:
            self.fail("a mark is missing", DAMAGED)
        items, self.stack = self.stack, self.marks.pop()
        return items

    # Opcodes

    def proto(self) -> None:
        version = self.take(1)[0]
        if version > 4:
            self.fail(f"pickle protocol {version}; archives use 2", DAMAGED)

    def frame(self) -> None:
        self.take(8)

    def stop(self) -> None:
        if self.marks or len(self.stack) != 1:
            self.fail(f"the pickle ends with {len(self.stack)} values, not one", DAMAGED)
        self.tree.value = self.stack[0]
        self.is_done = True

    def mark(self) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def long1(self) -> None:
        self.integer(self.take(1)[0])

    def integer(self, size: int) -> None:
        if size > 8:
            self.fail(f"an integer of {size} bytes; TorchScript's have 8", DAMAGED)
        self.push(int.from_bytes(self.take(size), "little", signed=True))

    def tuple_of(self, count: int) -> None:
        if len(self.stack) < count:
            raise IndexError
        items = tuple(self.stack[-count:])
        del self.stack[-count:]
        self.push(items)

    def put(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    def get(self, index: int) -> None:
        if index not in self.memo:
            self.fail(f"the pickle uses value {index} of its memo before it is there", DAMAGED)
        self.push(self.memo[index])

    def memoize(self) -> None:
        self.put(len(self.memo))

    def container(self, kind: type) -> Any:
        target = self.stack[-1]
        if type(target) is not kind:
            self.fail(
                f"the pickle adds to a {type(target).__name__} as if it were a {kind.__name__}"
            )
        return target

    def append(self) -> None:
        item = self.stack.pop()
        self.container(list).append(item)

    def appends(self) -> None:
        items = self.pop_mark()
        self.container(list).extend(items)

    def setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.fill(self.container(dict), [key, value])

    def setitems(self) -> None:
        items = self.pop_mark()
        self.fill(self.container(dict), items)

    def fill(self, target: dict[Any, Any], items: list[Any]) -> None:
        if len(items) % 2:
            self.fail("a key of a dict has no value", DAMAGED)
        for i in range(0, len(items), 2):
            if not isinstance(items[i], KEY_TYPES):
                self.fail(f"a {type(items[i]).__name__} is the key of a dict", HOSTILE)
            target[items[i]] = items[i + 1]

    def make_list(self) -> None:
        items = self.pop_mark()
        self.push(items)

    def make_dict(self) -> None:
        items = self.pop_mark()
        made: dict[Any, Any] = {}
        self.fill(made, items)
        self.push(made)

    def make_tuple(self) -> None:
        items = self.pop_mark()
        self.push(tuple(items))

    # Names, objects

    def global_name(self) -> None:
        module = self.line()
        self.push_name(module, self.line())

    def stack_global(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if type(name) is not str or type(module) is not str:
            self.fail("a name that is not text")
        self.push_name(module, name)

    def push_name(self, module: str, name: str) -> None:
        full = f"{module}.{name}"
        is_ours = module == "__torch__" or module.startswith("__torch__.")
        if (
            not is_ours
            and full not in REBUILDERS
            and full not in MERE_NAMES
            and storage_code(full) is None
        ):
            self.fail(f"the pickle names {full[:80]}, which loading never calls")
        self.push(GlobalRef(full))

    def reduce(self) -> None:
        args, target = self.stack.pop(), self.stack.pop()
        if type(target) is not GlobalRef:
            self.fail(f"the pickle calls a {type(target).__name__}")
        rebuild = REBUILDERS.get(target.name)
        if rebuild is not None and type(args) is tuple:
            self.push(rebuild(self, target.name, args))
        elif target.name.startswith("__torch__") and type(args) in (int, float, str):
            self.push(EnumRef(target.name, args))  # PyTorch passes the value without a tuple
        else:
            self.fail(f"the pickle calls {target.name[:80]} with a {type(args).__name__}")

    def newobj(self) -> None:
        args, target = self.stack.pop(), self.stack.pop()
        if type(target) is not GlobalRef or not target.name.startswith("__torch__") or args != ():
            self.fail("the pickle makes an instance of something that is no class of the archive")
        self.push(ObjectRef(target.name))

    def build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if type(target) is dict:  # such as the _metadata of a state_dict, which is not needed
            return
        if type(target) is not ObjectRef or target.is_built:
            self.fail(f"the pickle sets the state of a {type(target).__name__}")
        target.state, target.is_built = state, True

    def persistent(self) -> None:
        pid = self.stack.pop()
        if (
            type(pid) is not tuple
            or len(pid) not in (5, 6)
            or pid[0] != "storage"
            or type(pid[1]) is not GlobalRef
            or type(pid[2]) is not str
            or type(pid[3]) is not str
            or not is_size(pid[4])
        ):
            self.fail("the pickle refers to something outside that is no storage")
        code = storage_code(pid[1].name)
        if code is None:
            self.fail(f"{pid[1].name[:80]} is no storage")
        self.push(StorageRef(code, pid[2], pid[4], pid[3]))


KEY_TYPES = (str, int, float, complex, TensorRef, EnumRef, DeviceRef)
"""The classes of keys of dicts.  Hashing them is cheap, unlike that of deeply nested tuples."""


def is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < MAX_INT


def storage_code(name: str) -> int | None:
    """The number of the dtype of a storage class; None for other names."""
    module, _, short = name.rpartition(".")
    if module not in ("torch", "torch.storage", "torch.cuda"):
        return None
    return STORAGE_CLASSES.get(short)


def rebuild_tensor(u: Unpickler, name: str, args: tuple[Any, ...]) -> TensorRef:
    """The tensor of `_rebuild_tensor(storage, offset, size, stride[, requires_grad, hooks[,
    flags]])`, which must lie within the storage."""
    if not 4 <= len(args) <= 7 or type(args[0]) is not StorageRef:
        u.fail("a tensor without a storage", DAMAGED)
    storage, offset, size, stride = args[:4]
    size, stride = tuple_of_sizes(u, size), tuple_of_sizes(u, stride)
    if len(size) != len(stride) or len(size) > MAX_DIMS or not is_size(offset):
        u.fail(
            f"a tensor of {len(size)} sizes, {len(stride)} strides and offset {offset!r:.20}",
            DAMAGED,
        )
    numel, last = 1, offset
    for n, step in zip(size, stride):
        numel *= n
        last += (n - 1) * step
    if numel and last >= storage.numel or numel >= MAX_INT:
        u.fail(f"a tensor reaches element {last:,} of a storage of {storage.numel:,}")
    flags = args[6] if len(args) > 6 else None
    flags = flags if type(flags) is dict else {}
    return TensorRef(
        storage,
        offset,
        size,
        stride,
        len(args) > 4 and args[4] is True,
        flags.get("conj") is True,
        flags.get("neg") is True,
    )


def tuple_of_sizes(u: Unpickler, value: Any) -> tuple[int, ...]:
    if type(value) not in (tuple, list) or not all(map(is_size, value)):
        u.fail("the sizes or strides of a tensor are no list of sizes", DAMAGED)
    return tuple(value)


def rebuild_quantized(u: Unpickler, name: str, args: tuple[Any, ...]) -> TensorRef:
    """The tensor of `_rebuild_qtensor(storage, offset, size, stride, (scheme, ...), requires_grad,
    hooks)`."""
    if (
        len(args) < 5
        or type(args[4]) is not tuple
        or not args[4]
        or type(args[4][0]) is not GlobalRef
    ):
        u.fail("a quantized tensor without its scheme", DAMAGED)
    scheme, *numbers = args[4]
    plain = rebuild_tensor(u, name, (*args[:4], *args[5:6]))
    kind, kinds = SCHEMES.get(scheme.name.rpartition(".")[2], (None, ()))
    if (
        kind is None
        or len(numbers) != len(kinds)
        or not all(type(n) in k for n, k in zip(numbers, kinds))
    ):
        u.fail(f"a quantized tensor with the parameters of no scheme ({scheme.name[:60]})", DAMAGED)
    return TensorRef(
        plain.storage,
        plain.offset,
        plain.size,
        plain.stride,
        plain.requires_grad,
        quantizer=tuple(numbers),
    )


SCHEMES = {
    **dict.fromkeys(
        ("per_tensor_affine", "per_tensor_symmetric"), ("tensor", ((float, int), (int,)))
    ),
    **dict.fromkeys(
        ("per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams"),
        ("channel", ((TensorRef,), (TensorRef,), (int,))),
    ),
}
"""Schemes of quantization: whether parameters are per tensor or per channel, and their types."""


def rebuild_other_tensor(u: Unpickler, name: str, args: tuple[Any, ...]) -> TensorRef:
    """A tensor that is not supported, such as a sparse one.  Only the name of the function that
    makes it is kept; materialising it raises."""
    return TensorRef(None, 0, (), (), kind=name.rpartition(".")[2])


def rebuild_parameter(u: Unpickler, name: str, args: tuple[Any, ...]) -> TensorRef:
    if len(args) < 2 or type(args[0]) is not TensorRef:
        u.fail("a parameter without a tensor", DAMAGED)
    t = args[0]
    return TensorRef(
        t.storage,
        t.offset,
        t.size,
        t.stride,
        args[1] is True,
        t.is_conj,
        t.is_neg,
        t.kind,
        t.quantizer,
    )


def build_list(u: Unpickler, name: str, args: tuple[Any, ...]) -> list[Any]:
    """The list of `build_intlist([1, 2])`, tagged with the type that the function implies."""
    element, accepted = LIST_BUILDERS[name]
    if len(args) != 1 or type(args[0]) is not list or not all(type(v) in accepted for v in args[0]):
        u.fail(f"{name} of something that is no List[{element}]", DAMAGED)
    u.tree.tag(args[0], f"List[{element}]")
    return args[0]


def restore_type_tag(u: Unpickler, name: str, args: tuple[Any, ...]) -> Any:
    if len(args) != 2 or type(args[0]) not in (list, dict) or type(args[1]) is not str:
        u.fail("a type tag on something that is no list or dict", DAMAGED)
    u.tree.tag(args[0], args[1])
    return args[0]


def ordered_dict(u: Unpickler, name: str, args: tuple[Any, ...]) -> dict[Any, Any]:
    if args not in ((), ([],)):
        u.fail("an OrderedDict made from arguments", DAMAGED)
    return {}


def device(u: Unpickler, name: str, args: tuple[Any, ...]) -> DeviceRef:
    if (
        len(args) not in (1, 2)
        or type(args[0]) is not str
        or len(args[0]) > 64
        or not all(map(is_size, args[1:]))
    ):
        u.fail("a device without a name", DAMAGED)
    return DeviceRef(":".join(map(str, args)))


def complex_number(u: Unpickler, name: str, args: tuple[Any, ...]) -> complex:
    if len(args) != 2 or not all(type(v) in (int, float) for v in args):
        u.fail("a complex number that is not two numbers", DAMAGED)
    return complex(*args)


LIST_BUILDERS: dict[str, tuple[str, tuple[type, ...]]] = {
    "torch.jit._pickle.build_intlist": ("int", (int,)),
    "torch.jit._pickle.build_doublelist": ("float", (float,)),
    "torch.jit._pickle.build_boollist": ("bool", (bool,)),
    "torch.jit._pickle.build_tensorlist": ("Tensor", (TensorRef,)),
}

REBUILDERS: dict[str, Callable[[Unpickler, str, tuple[Any, ...]], Any]] = {
    "collections.OrderedDict": ordered_dict,
    "torch._utils._rebuild_tensor": rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": rebuild_tensor,
    "torch._utils._rebuild_qtensor": rebuild_quantized,
    "torch._utils._rebuild_sparse_tensor": rebuild_other_tensor,
    "torch._utils._rebuild_sparse_csr_tensor": rebuild_other_tensor,
    "torch._utils._rebuild_nested_tensor": rebuild_other_tensor,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild_other_tensor,
    "torch._utils._rebuild_device_tensor_from_numpy": rebuild_other_tensor,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    **dict.fromkeys(LIST_BUILDERS, build_list),
    "torch.jit._pickle.restore_type_tag": restore_type_tag,
    "torch.device": device,
    "builtins.complex": complex_number,
    "__builtin__.complex": complex_number,
}
"""The names that REDUCE accepts, and the functions here that take their place.  The objects with
these names are never looked up."""

MERE_NAMES = frozenset(
    f"torch.{name}"
    for name in (
        "per_tensor_affine",
        "per_channel_affine",
        "per_tensor_symmetric",
        "per_channel_symmetric",
        "per_channel_affine_float_qparams",
        "strided",
        "sparse_coo",
        "sparse_csr",
        "sparse_csc",
        "sparse_bsr",
        "sparse_bsc",
    )
)
"""Names that occur among the arguments of quantized and sparse tensors, and are only data."""

U8, U16, U32, U64 = (struct.Struct(f) for f in ("<B", "<H", "<I", "<Q"))
I32, F64 = struct.Struct("<i"), struct.Struct(">d")

_HANDLERS: dict[bytes, Callable[[Unpickler], None]] = {
    b"\x80": Unpickler.proto,
    b"\x95": Unpickler.frame,
    b".": Unpickler.stop,
    b"(": Unpickler.mark,
    b"N": lambda u: u.push(None),
    b"\x88": lambda u: u.push(True),
    b"\x89": lambda u: u.push(False),
    b"K": lambda u: u.push(u.take(1)[0]),
    b"M": lambda u: u.push(u.number(U16)),
    b"J": lambda u: u.push(u.number(I32)),
    b"\x8a": Unpickler.long1,
    b"G": lambda u: u.push(u.number(F64)),
    b"X": lambda u: u.push(u.text(u.take(u.number(U32)))),
    b"\x8c": lambda u: u.push(u.text(u.take(u.take(1)[0]))),
    b"\x8d": lambda u: u.push(u.text(u.take(u.number(U64)))),
    b")": lambda u: u.push(()),
    b"]": lambda u: u.push([]),
    b"}": lambda u: u.push({}),
    b"\x85": lambda u: u.tuple_of(1),
    b"\x86": lambda u: u.tuple_of(2),
    b"\x87": lambda u: u.tuple_of(3),
    b"t": Unpickler.make_tuple,
    b"l": Unpickler.make_list,
    b"d": Unpickler.make_dict,
    b"a": Unpickler.append,
    b"e": Unpickler.appends,
    b"s": Unpickler.setitem,
    b"u": Unpickler.setitems,
    b"q": lambda u: u.put(u.take(1)[0]),
    b"r": lambda u: u.put(u.number(U32)),
    b"\x94": Unpickler.memoize,
    b"h": lambda u: u.get(u.take(1)[0]),
    b"j": lambda u: u.get(u.number(U32)),
    b"c": Unpickler.global_name,
    b"\x93": Unpickler.stack_global,
    b"R": Unpickler.reduce,
    b"\x81": Unpickler.newobj,
    b"b": Unpickler.build,
    b"Q": Unpickler.persistent,
}

OPCODES: list[Callable[[Unpickler], None] | None] = [
    _HANDLERS.get(bytes([code])) for code in range(256)
]
"""The handlers by opcode; None for opcodes that are refused."""
