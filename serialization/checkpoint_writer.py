"""Writes weights without a program, as torch.save does, for torch.load(weights_only=True).

    write_checkpoint({"weight": w, "epoch": 3}, "model.pth")

The file is a zip file with `data.pkl`, a pickle, and a record for each storage.  Views of the same
storage stay views of the same storage.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..dtypes import BAREBONES, DType
from ..objects import Device
from ..ops.quantization.quantized_tensors import QuantizedTensor
from ..tensors import Size, Tensor
from .archive_writer import StorageTable, identity, write_to
from .pickling import SHORT_TUPLES, Pickler

MAX_DEPTH = 100

REMEDY = (
    "save data: tensors, numbers, strings, lists, tuples, dicts and sets of them, such as "
    "module.state_dict(); to keep the program too, save scriptlang.script(module)"
)


def write_checkpoint(value: Any, target: Any) -> None:
    """Write tensors in dicts, lists and tuples, with numbers and strings, for torch.load and
    `scriptlang.load(weights_only=True)`.

    target: a path (written atomically) or a binary file object.
    Raises TypeError, which names the place, for values that are not data; nothing is written then.
    """
    storages = StorageTable("data")
    pickle = CheckpointPickler(storages.key).dump(value)
    records = [
        ("data.pkl", pickle),
        (".format_version", b"1"),
        (".storage_alignment", b"64"),
        ("byteorder", sys.byteorder.encode()),
        *storages.records(),
        ("version", b"3\n"),
    ]
    write_to(target, [*records, (".data/serialization_id", identity(records))])


class CheckpointPickler(Pickler):
    """Writes plain containers, whose elements have no declared types.

    path: the place of the current value, for errors.
    """

    def __init__(self, storage_key: Callable[[Tensor], str]) -> None:
        super().__init__(storage_key)
        self.path: list[str] = []

    def value(self, value: Any, type: Any = None) -> None:
        write = WRITERS.get(value.__class__)
        if write is None:
            write = next((w for cls, w in WRITERS.items() if isinstance(value, cls)), None)
        if write is None or len(self.path) > MAX_DEPTH or is_record(value):
            at = "".join(self.path) or "the value"
            what = (
                "it holds itself, or is nested too deep"
                if len(self.path) > MAX_DEPTH
                else f"a {value.__class__.__name__} cannot be kept"
            )
            raise TypeError(f"{at}: {what}; {REMEDY}")
        write(self, value)

    def inside(self, place: str, value: Any) -> None:
        """Write a value inside of another one, at a place that errors report."""
        self.path.append(place)
        self.value(value)
        self.path.pop()

    def plain(self, value: Any) -> None:
        super().value(value)

    def integer(self, value: int) -> None:
        if -1 << 63 <= value < 1 << 63:
            self.int(int(value))
            return
        raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        if len(raw) > 255:
            raise TypeError(f"{''.join(self.path)}: an int of {len(raw)} bytes cannot be kept")
        self.out += b"\x8a" + bytes([len(raw)]) + raw

    def dtype(self, value: DType) -> None:
        self.name("torch", value.name)

    def bytes(self, value: bytes) -> None:
        def push() -> None:
            self.string(value.decode("latin1"))
            self.string("latin1")

        self.call("_codecs", "encode", push, b"\x86")

    def set(self, value: set[Any]) -> None:
        self.call("__builtin__", "set", lambda: self.list(sorted(value, key=repr)), b"\x85")

    def complex(self, value: complex) -> None:
        self.call("__builtin__", "complex", lambda: self.parts(value), b"\x86")

    def shape(self, value: Size) -> None:
        self.call("torch", "Size", lambda: self.tuple(tuple(value)), b"\x85")

    # Containers

    def tuple(self, value: tuple[Any, ...], type: Any = None) -> None:
        if len(value) not in SHORT_TUPLES:
            self.out += b"("
        for i, item in enumerate(value):
            self.inside(f"[{i}]", item)
        self.out += SHORT_TUPLES.get(len(value), b"t")

    def list(self, value: list[Any], type: Any = None) -> None:
        self.once(value, lambda: self.out.extend(b"]"))
        self.out += b"("
        for i, item in enumerate(value):
            self.inside(f"[{i}]", item)
        self.out += b"e"

    def dict(self, value: dict[Any, Any], type: Any = None) -> None:
        if isinstance(value, OrderedDict):
            self.once(value, lambda: self.call("collections", "OrderedDict", lambda: None, b")"))
        else:
            self.once(value, lambda: self.out.extend(b"}"))
        self.out += b"("
        for k, v in value.items():
            self.inside(" key ", k)
            self.inside(f"[{k!r:.80}]", v)
        self.out += b"u"
        if getattr(value, "__dict__", None):  # such as the _metadata of a state_dict
            self.inside(".__dict__", dict(value.__dict__))
            self.out += b"b"

    def again(self, value: Any, write: Any) -> None:
        """Write a container, or a reference to it if it was written before."""
        index = self.memo.get(("object", id(value)))
        if index is None:
            write(value)
        else:
            self.memoized(("object", id(value)), lambda: None)

    # Tensors

    def any_tensor(self, value: Tensor) -> None:
        self.once(
            value,
            lambda: (
                self.parameter(value)
                if getattr(value, "is_parameter", False)
                else self.one_tensor(value)
            ),
        )

    def parameter(self, value: Tensor) -> None:
        self.name("torch._utils", "_rebuild_parameter")
        self.one_tensor(value.detach())
        self.out += b"\x88" if value.requires_grad else b"\x89"
        self.name("collections", "OrderedDict")
        self.out += b")R\x87R"

    def one_tensor(self, t: Tensor) -> None:
        """Write one tensor.  If PyTorch has no storage class for its element type, the storage is
        untyped and the element type follows."""
        if (
            isinstance(t, QuantizedTensor)
            or t.dtype not in BAREBONES
            and not t.dtype.name.startswith("float8")
        ):
            self.tensor(t)
            return
        self.kept.append(t)
        self.name("torch._utils", "_rebuild_tensor_v3")
        self.out += b"("
        self.memoized(("storage", id(t._storage), None), lambda: self.untyped(t))
        self.int(t.storage_offset())
        self.sizes(t._size)
        self.sizes(t.stride())
        self.out += b"\x88" if t.requires_grad else b"\x89"
        self.name("collections", "OrderedDict")
        self.out += b")R"
        self.dtype(t.dtype)
        self.out += b"tR"

    def untyped(self, t: Tensor) -> None:
        self.out += b"("
        self.string("storage")
        self.name("torch.storage", "UntypedStorage")
        self.string(self.storage_key(t))
        self.string("cpu")
        self.int(t._storage.nbytes)
        self.out += b"tQ"


def is_record(value: Any) -> bool:
    """Whether a value is a named tuple, whose class readers could not make."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


WRITERS: dict[type, Callable[[CheckpointPickler, Any], None]] = {
    type(None): CheckpointPickler.plain,
    bool: CheckpointPickler.plain,
    int: CheckpointPickler.integer,
    float: CheckpointPickler.plain,
    str: CheckpointPickler.plain,
    complex: CheckpointPickler.complex,
    Device: CheckpointPickler.plain,
    DType: CheckpointPickler.dtype,
    bytes: CheckpointPickler.bytes,
    set: CheckpointPickler.set,
    Size: CheckpointPickler.shape,
    Tensor: CheckpointPickler.any_tensor,
    tuple: CheckpointPickler.tuple,
    list: lambda p, v: p.again(v, p.list),
    dict: lambda p, v: p.again(v, p.dict),
}
"""The methods that write values, by the class of the value."""
