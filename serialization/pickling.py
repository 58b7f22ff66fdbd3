"""Writes pickles as PyTorch's Pickler does: protocol 2, with the same opcodes, names and memo.

What is written depends on the value and its type.  A `List[int]` is made by `build_intlist`; other
lists and dicts are tagged with their type, since pickles have no element types.

    Pickler(storage_key).dump(obj, type) -> bytes
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import types as T
from ..errors import LimitError
from ..objects import Device, EnumValue, ScriptObject, Snapshot
from ..ops.quantization.quantized_tensors import ChannelQuantizer, QuantizedTensor, Quantizer
from ..tensors import Tensor
from .materialise import state_type
from .pickle_tree import SCALAR_TYPES

LIST_BUILDERS: dict[T.Type, str] = {
    T.INT: "build_intlist",
    T.FLOAT: "build_doublelist",
    T.BOOL: "build_boollist",
    T.TENSOR: "build_tensorlist",
}
"""The functions in torch.jit._pickle that make lists, by the type of the elements."""

SHORT_TUPLES = {0: b")", 1: b"\x85", 2: b"\x86", 3: b"\x87"}


class Pickler:
    """Writes one pickle.

    storage_key: returns the record key of a tensor's storage; it is called in the order in which
    storages occur.
    get_state: runs the `__getstate__` of an object and returns the result.
    class_name: returns the name of a class or enum in the archive.

    kept: the values whose ids are keys of `memo`, so that their ids are not used again.
    open: the ids of the containers being written.  tuples, repeated: see `count_repeated`.
    """

    def __init__(
        self,
        storage_key: Callable[[Tensor], str],
        get_state: Callable[[ScriptObject], Any] | None = None,
        class_name: Callable[[Any], str] = lambda t: t.name,
    ) -> None:
        self.storage_key = storage_key
        self.get_state = get_state
        self.named = class_name
        self.out = bytearray(b"\x80\x02")
        self.memo: dict[Any, int] = {}
        self.snapshot = Snapshot()
        self.kept: list[Any] = []
        self.shared: dict[int, tuple[Any, ...]] = {}
        """Tuples, by id, that are written once and then only referred to."""
        self.tuples: set[int] = set()
        self.repeated = 0
        self.open: set[int] = set()

    def dump(self, value: Any, type: T.Type = T.ANY) -> bytes:
        """The whole pickle of one value."""
        self.value(value, type)
        self.out += b"."
        return bytes(self.out)

    def value(self, value: Any, type: T.Type = T.ANY) -> None:
        """Write a value of type `type`.  If that is Any, types of containers are derived from their
        elements."""
        type = actual_type(type, value)
        if value is None or isinstance(value, bool):
            self.out += {None: b"N", True: b"\x88", False: b"\x89"}[value]
        elif isinstance(value, EnumValue):
            self.enum(value)
        elif isinstance(value, int):
            self.int(value)
        elif isinstance(value, float):
            self.float(value)
        elif isinstance(value, str):
            self.string(value)
        elif isinstance(value, Tensor):
            self.once(value, lambda: self.tensor(value))
        elif isinstance(value, ScriptObject):
            self.once(value, lambda: self.object(value))
        elif isinstance(value, tuple) and id(value) in self.shared:
            self.once(value, lambda: self.tuple(value, type))
        elif isinstance(value, tuple):
            begin = len(self.out)
            self.tuple(value, type)
            self.count_repeated(value, len(self.out) - begin)
        elif isinstance(value, list):
            self.once(value, lambda: self.list(value, type))
        elif isinstance(value, dict):
            self.once(value, lambda: self.dict(value, type))
        elif isinstance(value, complex):
            self.call("builtins", "complex", lambda: self.parts(value), b"\x86")
        elif isinstance(value, Device):
            self.call("torch", "device", lambda: self.string(str(value)), b"\x85")
        else:
            raise TypeError(f"a {value.__class__.__name__} cannot be kept in an archive")

    def count_repeated(self, value: tuple[Any, ...], size: int) -> None:
        """Limit the size of tuples that are written again.

        They are written wherever they occur, as in PyTorch.  If a tuple contains another one twice,
        which contains a third one twice, and so on, the size grows exponentially.
        """
        if id(value) in self.tuples:
            self.repeated += size
            if self.repeated > MAX_REPEATED:
                raise LimitError(
                    f"tuples that occur many times take over {MAX_REPEATED:,} bytes "
                    "of the archive: keep them in lists, which are written once"
                )
        self.tuples.add(id(value))

    # Leaves

    def int(self, value: int) -> None:
        if 0 <= value < 1 << 8:
            self.out += b"K" + struct.pack("<B", value)
        elif 0 <= value < 1 << 16:
            self.out += b"M" + struct.pack("<H", value)
        elif -1 << 31 <= value < 1 << 31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            self.out += b"\x8a\x08" + struct.pack("<q", value)

    def float(self, value: float) -> None:
        self.out += b"G" + struct.pack(">d", value)

    def string(self, value: str) -> None:
        def push() -> None:
            raw = value.encode("utf-8", "surrogatepass")
            self.out.extend(b"X" + struct.pack("<I", len(raw)) + raw)

        self.memoized(("str", value), push)

    def name(self, module: str, name: str) -> None:
        self.memoized(
            ("global", module, name), lambda: self.out.extend(f"c{module}\n{name}\n".encode())
        )

    def class_name(self, t: T.Type) -> None:
        module, _, name = self.named(t).rpartition(".")
        self.name(module, name)

    def enum(self, value: EnumValue) -> None:
        self.class_name(value.type)
        self.value(value.value)
        self.out += b"R"

    # The memo

    def memoized(self, key: Any, push: Callable[[], Any]) -> None:
        """Write something the first time; later write a reference to the memo."""
        index = self.memo.get(key)
        if index is not None:
            self.out += (
                b"h" + struct.pack("<B", index) if index < 256 else b"j" + struct.pack("<I", index)
            )
            return
        push()
        index = self.memo[key] = len(self.memo)
        self.out += (
            b"q" + struct.pack("<B", index) if index < 256 else b"r" + struct.pack("<I", index)
        )

    def once(self, value: Any, push: Callable[[], Any]) -> None:
        """`memoized` by identity, so that one object stays one object.  It refuses an object that
        contains itself."""
        if id(value) in self.open:
            raise TypeError("a value that holds itself cannot be kept in an archive")
        self.kept.append(value)
        self.open.add(id(value))
        self.memoized(("object", id(value)), push)
        self.open.discard(id(value))

    def call(self, module: str, name: str, push_args: Callable[[], Any], pack: bytes) -> None:
        self.name(module, name)
        push_args()
        self.out += pack + b"R"

    # Containers

    def tuple(self, value: tuple[Any, ...], type: T.Type) -> None:
        if isinstance(type, T.ListType):  # a tuple of any length
            types = [type.element] * len(value)
        else:
            types = (
                [*type.elements]
                if isinstance(type, T.TupleType) and len(type.elements) == len(value)
                else [T.ANY] * len(value)
            )
        if len(value) not in SHORT_TUPLES:
            self.out += b"("
        for item, t in zip(value, types):
            self.value(item, t)
        self.out += SHORT_TUPLES.get(len(value), b"t")

    def parts(self, value: complex) -> None:
        self.float(value.real)
        self.float(value.imag)

    def sizes(self, values: Any) -> None:
        """Write sizes or strides: a tuple that always uses MARK and TUPLE, as in PyTorch."""
        self.out += b"("
        for v in values:
            self.int(v)
        self.out += b"t"

    def list(self, value: list[Any], type: T.Type) -> None:
        element = type.element if isinstance(type, T.ListType) else element_type(value)
        builder = LIST_BUILDERS.get(element)
        if builder is not None:
            self.name("torch.jit._pickle", builder)
            self.out += b"("
            self.items(value, element)
            self.out += b"tR"
        else:
            self.tagged(T.ListType(element), lambda: self.items(value, element))

    def items(self, values: Sequence[Any], element: T.Type) -> None:
        self.out += b"]("
        for v in values:
            self.value(v, element)
        self.out += b"e"

    def dict(self, value: dict[Any, Any], type: T.Type) -> None:
        if not isinstance(type, T.DictType):
            type = T.DictType(element_type(list(value)), element_type(list(value.values())))

        def push() -> None:
            self.out.extend(b"}(")
            for k, v in value.items():
                self.value(k, type.key)
                self.value(v, type.value)
            self.out.extend(b"u")

        self.tagged(type, push)

    def tagged(self, type: T.Type, push: Callable[[], Any]) -> None:
        self.name("torch.jit._pickle", "restore_type_tag")
        push()
        self.string(type.annotation)
        self.out += b"\x86R"

    # Tensors, objects

    def tensor(self, t: Tensor) -> None:
        quantized = isinstance(t, QuantizedTensor)
        self.name("torch._utils", "_rebuild_qtensor" if quantized else "_rebuild_tensor_v2")
        self.out += b"("
        self.memoized(("storage", id(t._storage), t.dtype.code), lambda: self.storage(t))
        self.kept.append(t._storage)
        self.int(t.storage_offset())
        self.sizes(t.shape)
        self.sizes(t.stride())
        if quantized:
            self.quantizer(t.quantizer)
        self.out += b"\x88" if t.requires_grad else b"\x89"
        self.name("collections", "OrderedDict")
        self.out += b")RtR"

    def quantizer(self, q: Quantizer | ChannelQuantizer) -> None:
        self.out += b"("
        if isinstance(q, Quantizer):
            self.name("torch", "per_tensor_affine")
            self.float(q.scale)
            self.int(q.zero_point)
        else:
            self.name(
                "torch",
                "per_channel_affine" if q.scheme == 1 else "per_channel_affine_float_qparams",
            )
            self.value(q.scales)
            self.value(q.zero_points)
            self.int(q.axis)
        self.out += b"t"

    def storage(self, t: Tensor) -> None:
        self.out += b"("
        self.string("storage")
        self.name("torch", f"{SCALAR_TYPES[t.dtype.code]}Storage")
        self.string(self.storage_key(t))
        self.string("cpu")
        self.int(t._storage.nbytes // t.element_size())
        self.out += b"tQ"

    def object(self, obj: ScriptObject) -> None:
        self.class_name(obj.type)
        self.out += b")\x81"
        if obj.type.name.startswith(T.CUSTOM_CLASSES):
            self.value(self.snapshot.slots(obj)[0], state_type(obj.type.name))
            self.out += b"b"
            return
        if self.get_state is not None and "__getstate__" in obj.type.methods:
            self.value(self.get_state(obj), obj.type.methods["__getstate__"].schema.returns[0].type)
        else:
            self.out += b"}("
            for attribute, value in zip(obj.type.attributes, self.snapshot.slots(obj)):
                self.string(attribute.name)
                self.value(value, attribute.type)
            self.out += b"u"
        self.out += b"b"


def actual_type(type: T.Type, value: Any) -> T.Type:
    """The type as which a value is written: for an Optional or Union, the part that fits it."""
    if isinstance(type, T.OptionalType):
        return type.element
    if isinstance(type, T.UnionType):
        kinds = {list: T.ListType, dict: T.DictType, tuple: T.TupleType}
        fitting = [t for t in type.options if isinstance(t, kinds.get(value.__class__, T.Type))]
        return fitting[0] if len(fitting) == 1 else T.ANY
    return type


MAX_REPEATED = 1 << 26
"""The largest number of bytes of a pickle for tuples that are written again."""

MOST_DEEP = 50
"""The largest depth of the type of a value.  Deeper types are written as Any, since readers limit
the depth of types."""


def element_type(values: Iterable[Any], known: dict[int, T.Type] | None = None) -> T.Type:
    """The common type of values whose declared type is not known; Any if their types differ."""
    known = {} if known is None else known
    found = {value_type(v, known) for v in values}
    return found.pop() if len(found) == 1 else T.ANY


def value_type(value: Any, known: dict[int, T.Type]) -> T.Type:
    """The type of a run-time value.  known: the types of containers found so far, by id."""
    for cls, t in (
        (bool, T.BOOL),
        (int, T.INT),
        (float, T.FLOAT),
        (str, T.STR),
        (complex, T.COMPLEX),
        (Tensor, T.TENSOR),
        (Device, T.DEVICE),
    ):
        if isinstance(value, cls):
            return t
    if value is None:
        return T.NONE
    own = getattr(value, "type", None) or getattr(value, "__script_type__", None)
    if isinstance(own, T.Type):
        return own
    if not isinstance(value, (list, dict, tuple)):
        return T.ANY
    if id(value) not in known:
        known[id(value)] = T.ANY  # in case it contains itself
        if isinstance(value, list):
            found: T.Type = T.ListType(element_type(value, known))
        elif isinstance(value, dict):
            found = T.DictType(element_type(value, known), element_type(value.values(), known))
        else:
            found = T.TupleType(tuple(value_type(v, known) for v in value))
        known[id(value)] = found if found.depth < MOST_DEEP and found.size < 1000 else T.ANY
    return known[id(value)]
