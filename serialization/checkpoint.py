"""Reads weights without a program: files of torch.save, and safetensors files.

    weights = read_checkpoint("model.pth")
    model.load_state_dict(weights)

No code from the file is run: pickles are read by the reader of archives, which only makes data.  If
a zip file is mapped, its tensors stay in it until they are written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from .. import types as T
from ..errors import ArchiveError
from ..objects import Device
from ..tensors import Storage, Tensor, contiguous_strides
from . import recognise
from .legacy import is_legacy, read_legacy
from .materialise import Materialiser, Storages
from .pickle_tree import GlobalRef, StorageRef, TensorRef
from .record_reader import DAMAGED, RecordReader
from .sources import open_source
from .unpickle import REBUILDERS, Unpickler, rebuild_tensor, tuple_of_sizes

if TYPE_CHECKING:
    from .pickle_tree import Tree

ONLY_WEIGHTS = (
    "in PyTorch, save the weights alone: torch.save(model.state_dict(), path); "
    "to keep the program too, save torch.jit.script(model)"
)


def read_checkpoint(source: Any, mmap: bool | None = None) -> Any:
    """The value in a file of weights: usually a dict of name -> Tensor; in general tensors, numbers
    and strings in dicts, lists, tuples and sets.

    source: a path, a binary file object or bytes, of a file of torch.save (also one from before
    PyTorch 1.6) or a safetensors file (which needs the package safetensors).
    mmap: whether a file is mapped instead of read; None maps large files.
    Raises ArchiveError for other files, and for pickles that contain more than data.
    """
    data = open_source(source, mmap)
    try:
        if bytes(data[:2]) == b"PK":
            return _read_zip(data)
        if is_legacy(data):
            return read_legacy(data, CheckpointUnpickler, Values)
    except RecursionError:
        raise ArchiveError(
            "the checkpoint is nested deeper than can be read",
            None,
            "no model is saved like this; do not use the file",
        ) from None
    if recognise.safetensors(bytes(data[:16]), len(data)) is not None:
        return _read_safetensors(data)
    raise recognise.explain(data) or recognise.truncated(len(data))


def _read_zip(data: memoryview) -> Any:
    reader = RecordReader(data)
    reader.unpickler = CheckpointUnpickler
    if "data.pkl" not in reader.records:
        raise recognise.explain_zip(reader.zip.records)
    if any(name.startswith("code/") for name in reader.records):
        raise ArchiveError(
            "a TorchScript archive: a program with its weights",
            None,
            "load it with scriptlang.load; its state_dict() has the weights",
        )
    storages = Storages(reader.tensor, reader.is_swapped())
    return Values(reader.pickle("data.pkl"), "data.pkl", "data", storages).root()


class CheckpointUnpickler(Unpickler):
    """Reads what state dicts and training checkpoints contain besides tensors."""

    def push_name(self, module: str, name: str) -> None:
        full = f"{module}.{name}"
        if module == "torch" and getattr(dtypes, name, None).__class__ is dtypes.DType:
            self.push(getattr(dtypes, name))
        elif full in MORE_REBUILDERS:
            self.push(GlobalRef(full))
        elif full in REBUILDERS or module in ("torch", "torch.storage", "torch.cuda"):
            super().push_name(module, name)
        else:
            self.fail(
                f"it holds an object of {full[:80]}, which only Python code could make",
                ONLY_WEIGHTS,
            )

    def integer(self, size: int) -> None:
        self.push(int.from_bytes(self.take(size), "little", signed=True))

    def reduce(self) -> None:
        more = MORE_REBUILDERS.get(getattr(self.stack[-2], "name", ""))
        if more is None:
            super().reduce()
        else:
            args, target = self.stack.pop(), self.stack.pop()
            self.push(more(self, target.name, args))


def size(u: Unpickler, name: str, args: Any) -> tuple[int, ...]:
    return tuple_of_sizes(u, args[0] if type(args) is tuple and len(args) == 1 else None)


def plain_set(u: Unpickler, name: str, args: Any) -> set[Any]:
    if (
        type(args) is not tuple
        or len(args) != 1
        or type(args[0]) is not list
        or not all(v is None or isinstance(v, (bool, int, float, str)) for v in args[0])
    ):
        u.fail("a set of something else than numbers and strings", ONLY_WEIGHTS)
    return set(args[0])


def encoded(u: Unpickler, name: str, args: Any) -> bytes:
    """A bytes value, which pickles of protocol 2 store as a latin-1 string."""
    if (
        type(args) is not tuple
        or len(args) != 2
        or type(args[0]) is not str
        or args[1] != "latin1"
        or not all(c <= "\xff" for c in args[0])
    ):
        u.fail("bytes that are not written as pickles write them", DAMAGED)
    return args[0].encode("latin1")


def tensor_of_bytes(u: Unpickler, name: str, args: Any) -> TensorRef:
    """A tensor of `_rebuild_tensor_v3`, whose storage is untyped and whose element type is an
    argument."""
    if (
        type(args) is not tuple
        or len(args) not in (7, 8)
        or type(args[0]) is not StorageRef
        or args[6].__class__ is not dtypes.DType
    ):
        u.fail("a tensor without a storage or an element type", DAMAGED)
    memory, dtype = args[0], args[6]
    storage = StorageRef(dtype.code, memory.key, memory.numel // dtype.itemsize, memory.location)
    return rebuild_tensor(u, name, (storage, *args[1:6], *args[7:]))


MORE_REBUILDERS = {
    "torch._utils._rebuild_tensor_v3": tensor_of_bytes,
    "_codecs.encode": encoded,
    "torch.Size": size,
    "__builtin__.set": plain_set,
    "builtins.set": plain_set,
}


class Values(Materialiser):
    """Makes the values of a checkpoint's pickle.  It declares no types and has no classes."""

    def __init__(self, tree: Tree, record: str, folder: str, storages: Storages) -> None:
        super().__init__(tree, record, folder, storages, lambda name: None, self.no_type)

    def no_type(self, text: str) -> T.Type:
        self.fail(f"a checkpoint has no type {text[:80]!r}")

    def any(self, v: Any, what: str, depth: int, type: T.Type) -> Any:
        if isinstance(v, (dtypes.DType, set, Device, bytes)):
            return v
        return super().any(v, what, depth, type)


# safetensors

SAFETENSORS_DTYPES = {
    "BOOL": dtypes.bool,
    "U8": dtypes.uint8,
    "I8": dtypes.int8,
    "I16": dtypes.int16,
    "I32": dtypes.int32,
    "I64": dtypes.int64,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "F32": dtypes.float32,
    "F64": dtypes.float64,
    "C64": dtypes.complex64,
}


def _read_safetensors(data: memoryview) -> dict[str, Tensor]:
    try:
        import safetensors
    except ImportError:
        raise ArchiveError(
            "a safetensors file, and the package safetensors is not installed",
            None,
            "pip install safetensors",
        ) from None
    try:
        entries = safetensors.deserialize(bytes(data))
    except safetensors.SafetensorError as e:
        raise ArchiveError(f"not a sound safetensors file: {e}", None, DAMAGED) from None
    return {name: _from_safetensors(name, entry) for name, entry in sorted(entries)}


def _from_safetensors(name: str, entry: dict[str, Any]) -> Tensor:
    dtype = SAFETENSORS_DTYPES.get(entry["dtype"])
    if dtype is None:
        raise ArchiveError(
            f"{name!r} has the dtype {entry['dtype']}, which is not supported",
            None,
            f"convert it to one of {', '.join(SAFETENSORS_DTYPES)}",
        )
    shape = tuple(entry["shape"])
    strides = contiguous_strides(shape)
    storage = Storage(np.frombuffer(entry["data"], np.uint8).copy())
    return Tensor(storage, dtype, shape, tuple(strides), 0, False)
