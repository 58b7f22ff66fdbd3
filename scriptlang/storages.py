"""The results of `x.storage()` and `x.untyped_storage()`: the memory of a tensor, as in PyTorch.

Both are views of one `tensors.Storage`, which a tensor shares with its views: writes affect all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import dtypes
from .dtypes import DType
from .lazy_numpy import np
from .objects import CPU
from .tensors import Storage, Tensor


class _Memory:
    """The common part, which does not depend on element types."""

    is_cuda = is_sparse = False
    device = CPU

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def nbytes(self) -> int:
        return self._storage.nbytes

    def data_ptr(self) -> int:
        return self._storage.data.__array_interface__["data"][0]

    def cpu(self) -> Any:
        return self

    def is_pinned(self, device: Any = "cuda") -> bool:
        return False

    def is_shared(self) -> bool:
        return is_shared(self._storage)

    def share_memory_(self) -> Any:
        """Move the bytes to memory that is shared with processes that fork from this one."""
        share(self._storage)
        return self

    def size(self) -> int:
        raise NotImplementedError

    def tolist(self) -> list[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Memory) and self._storage is other._storage

    def __hash__(self) -> int:
        return id(self._storage)


class UntypedStorage(_Memory):
    """A storage as bytes."""

    def size(self) -> int:
        return self._storage.nbytes

    def element_size(self) -> int:
        return 1

    def tolist(self) -> list[int]:
        return self._storage.data.tolist()

    def __getitem__(self, key: Any) -> Any:
        found = self._storage.data[key]
        return UntypedStorage(Storage(found)) if isinstance(key, slice) else int(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._storage.data[key] = value

    def clone(self) -> UntypedStorage:
        return UntypedStorage(Storage(self._storage.data.copy()))

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Copy the bytes of another storage. Raises RuntimeError if the sizes differ."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"cannot copy a storage of {source.nbytes()} bytes into one of {self.nbytes()}"
            )
        self._storage.data[:] = source._storage.data
        return self

    def fill_(self, value: int) -> UntypedStorage:
        self._storage.data[:] = value
        return self

    def resize_(self, nbytes: int) -> None:
        """Append bytes. Raises RuntimeError for a smaller size, since tensors use the memory."""
        if nbytes < self.nbytes():
            raise RuntimeError("a storage cannot become smaller; clone the part that is wanted")
        self._storage.grow(nbytes)

    def __repr__(self) -> str:
        lines = [f" {byte}" for byte in self.tolist()[:1000]]
        return "\n".join(
            [*lines, f"[torch.storage.UntypedStorage(device=cpu) of size {len(self)}]"]
        )


class TypedStorage(_Memory):
    """A storage as elements of one dtype, in the order of memory."""

    def __init__(self, storage: Storage, dtype: DType) -> None:
        super().__init__(storage)
        self.dtype = dtype

    def _elements(self) -> Tensor:
        return Tensor(self._storage, self.dtype, (self.size(),))

    def size(self) -> int:
        return self._storage.nbytes // self.dtype.itemsize

    def element_size(self) -> int:
        return self.dtype.itemsize

    def untyped(self) -> UntypedStorage:
        return UntypedStorage(self._storage)

    def tolist(self) -> list[Any]:
        return self._elements().tolist()

    def __getitem__(self, index: int) -> Any:
        if not isinstance(index, int):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[index].item()

    def __setitem__(self, key: Any, value: Any) -> None:
        self._elements()[key] = value

    def clone(self) -> TypedStorage:
        return TypedStorage(Storage(self._storage.data.copy()), self.dtype)

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        self._elements().copy_(source._elements())
        return self

    def fill_(self, value: Any) -> TypedStorage:
        self._elements().fill_(value)
        return self

    def resize_(self, size: int) -> None:
        self.untyped().resize_(size * self.dtype.itemsize)

    def type(self) -> str:
        return f"torch.{STORAGE_NAMES.get(self.dtype.name, self.dtype.name)}Storage"

    def __repr__(self) -> str:
        lines = [f" {value}" for value in self.tolist()[:1000]]
        return "\n".join(
            [
                *lines,
                f"[torch.storage.TypedStorage(dtype={self.dtype!r}, device=cpu) "
                f"of size {len(self)}]",
            ]
        )


STORAGE_NAMES = dtypes.DISPLAY
"""PyTorch's names of storages by dtype, as in `torch.FloatStorage`."""


def is_shared(storage: Storage) -> bool:
    """Whether the memory is shared with other processes."""
    return (
        isinstance(getattr(storage.owner, "base", None), memoryview)
        and type(storage.owner.base.obj).__name__ == "mmap"
    )


def share(storage: Storage) -> None:
    """Move a storage to memory that is shared with processes that fork from this one."""
    if is_shared(storage) or not storage.nbytes:
        return
    import mmap

    memory = np.frombuffer(memoryview(mmap.mmap(-1, storage.nbytes)), np.uint8)
    memory[:] = storage.data
    storage.data = memory
    storage.has_grown = True  # the cached arrays of tensors are outdated
