"""Storage, the memory that tensors are views of; sizes and contiguous strides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .lazy_numpy import is_array, is_loaded, np

if TYPE_CHECKING:
    from .tensors import Tensor


class Storage:
    """A piece of memory. `owner` is the object that owns it, `data` a flat uint8 array over it.

    `data` is created when it is first used, from a contiguous array or from the native engine's
    memory. `version`, if set, counts writes (ops/derivatives/state.py).
    """

    __slots__ = ("__weakref__", "_data", "has_grown", "owner", "version")

    def __init__(self, data: np.ndarray | None, owner: Any = None) -> None:
        self._data = data
        self.owner = owner
        self.has_grown = False
        self.version: int

    @property
    def data(self) -> np.ndarray:
        if self._data is None:
            self._data = _bytes_of(self.owner)
        return self._data

    @data.setter
    def data(self, data: np.ndarray) -> None:
        self._data = self.owner = data

    @classmethod
    def allocate(cls, nbytes: int) -> Storage:
        return cls(np.empty(nbytes, np.uint8))

    @classmethod
    def of_buffer(cls, buffer: Any) -> Storage:
        """A storage over any object with the buffer protocol, without a copy."""
        data = np.frombuffer(buffer, np.uint8) if len(buffer) else np.empty(0, np.uint8)
        return cls(data, buffer)

    def __reduce__(self) -> tuple[Any, ...]:
        return Storage, (np.array(self.data),)  # a copy, since data may be a view of the owner

    def grow(self, nbytes: int) -> None:
        """Append zeros.
        The memory moves, and the tensors of this storage become views of the new memory."""
        if nbytes <= self.nbytes:
            return
        data = np.zeros(nbytes, np.uint8)
        data[: self.nbytes] = self.data
        self.data = data
        self.has_grown = True  # the cached arrays of tensors are outdated

    @property
    def nbytes(self) -> int:
        return self.data.size if self._data is not None else self.owner.nbytes


def _bytes_of(owner: np.ndarray[Any, Any]) -> np.ndarray:
    if not owner.nbytes:
        return np.empty(0, np.uint8)
    if is_array(owner):
        return owner.reshape(-1, order="A").view(np.uint8)
    return np.frombuffer(owner, np.uint8)


def contiguous_strides(size: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements; a dimension of size 0 counts as 1, as in PyTorch."""
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def wrap_dim(dim: int, ndim: int) -> int:
    """The dimension counted from the start. Raises IndexError if it is out of range."""
    bound = max(ndim, 1)
    if not -bound <= dim < bound:
        raise IndexError(
            "Dimension out of range (expected to be in range of "
            f"[{-bound}, {bound - 1}], but got {dim})"
        )
    return dim + bound if dim < 0 else dim


class Size(tuple[Any, ...]):
    """A shape: a tuple of ints with `numel()`, printed like torch.Size."""

    def numel(self) -> int:
        """The product of the sizes."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


def memory_of(array: np.ndarray) -> tuple[Storage, int]:
    """Return (a storage of the memory that the array is a view of, the array's byte offset)."""
    root: Any = array
    while is_array(root.base):
        root = root.base
    if not root.flags.forc:  # a strided view of memory that is not one array
        return Storage(_span(array), array), 0
    start = root.__array_interface__["data"][0]
    offset = array.__array_interface__["data"][0] - start if array.size else 0
    return Storage(None, root), offset


FORMATS = {
    "bool": "?",
    "uint8": "B",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "float32": "f",
    "float64": "d",
}
"""Element types that Python's memoryview can read."""


def view_without_numpy(tensor: Tensor) -> memoryview[Any] | None:
    """The elements of a tensor in memory of the native engine, in its shape; None for a tensor that
    only numpy can read, and once numpy is loaded."""
    if is_loaded():
        return None
    storage, size, dtype = tensor._storage, tensor._size, tensor.dtype
    code = FORMATS.get(dtype.name)
    if code is None or storage._data is not None or 0 in size or not tensor.is_contiguous():
        return None
    first = tensor._offset * dtype.itemsize
    span: Any = memoryview(storage.owner)[first : first + math.prod(size) * dtype.itemsize]
    return span.cast(code, size)


def _span(array: np.ndarray) -> np.ndarray:
    """The bytes from the first to the last element of an array without negative strides."""
    if not array.size:
        return np.empty(0, np.uint8)
    extent = sum((n - 1) * s for n, s in zip(array.shape, array.strides)) + array.itemsize
    first = array[tuple(slice(1) for _ in array.shape)].reshape(1).view(np.uint8)
    return np.lib.stride_tricks.as_strided(first, (extent,), (1,))
