"""Checks of index tensors, and their conversion to numpy indices."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...tensors import Tensor
from .elementwise import DISPLAY, check_apart, check_writable


def check_indices(index: np.ndarray, n: int, dim: int) -> None:
    """Raise IndexError if an index is not in [-n, n)."""
    if index.size and (index.min() < -n or index.max() >= n):
        bad = index[(index < -n) | (index >= n)].flat[0]
        raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {n}")


def check_long(name: str, index: Tensor) -> None:
    if index.dtype is not dtypes.int64:
        raise RuntimeError(
            f"{name}: Expected dtype int64 for index, but got {DISPLAY[index.dtype.name]}"
        )


def check_target(self: Tensor, *read) -> None:
    """Raise RuntimeError if `self` cannot be written or overlaps a tensor that is read."""
    check_writable(self)
    for t in read:
        if isinstance(t, Tensor):
            check_apart(self, t, same=False)


def check_count(self: Tensor, indices) -> None:
    """Raise IndexError if there are no indices, or more than dimensions."""
    if not indices:
        raise IndexError("at least one index must be provided")
    if len(indices) > len(self._size):
        raise IndexError(
            f"too many indices for tensor of dimension {len(self._size)} (got {len(indices)})"
        )


def check_common(key: list, indices) -> None:
    """Raise IndexError if the index arrays do not broadcast."""
    try:
        np.broadcast_shapes(*(k.shape for k in key if isinstance(k, np.ndarray)))
    except ValueError:
        shapes = ", ".join(str(list(i._size)) for i in indices if i is not None)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


def numpy_key(self: Tensor, indices) -> tuple:
    """The numpy index that is equivalent to PyTorch's list of optional index tensors."""
    check_count(self, indices)
    key = []
    dim = 0
    for i in indices:
        if i is None:
            key.append(slice(None))
            dim += 1
            continue
        array = i._array
        if i.dtype.name in ("bool", "uint8"):
            if not array.ndim:  # a mask without dimensions indexes none
                continue
            mask = array.astype(bool)
            have = self._size[dim : dim + mask.ndim]
            if mask.shape != have:
                d = next(
                    (d for d in range(mask.ndim) if mask.shape[d : d + 1] != have[d : d + 1]), 0
                )
                raise IndexError(
                    f"The shape of the mask {list(mask.shape)} at index {d} does not "
                    f"match the shape of the indexed tensor {list(self._size)} at "
                    f"index {dim + d}"
                )
            key += np.nonzero(mask)
            dim += mask.ndim
            continue
        if i.dtype.name not in ("int64", "int32"):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if dim >= len(self._size):
            raise IndexError(f"too many indices for tensor of dimension {len(self._size)}")
        if all(self._size):  # else no element is looked up
            check_indices(array, self._size[dim], dim)
        elif array.size and not self._size[dim]:
            raise IndexError("index is out of bounds for dimension with size 0")
        else:
            array = np.zeros_like(array)
        key.append(array.astype(np.int64, copy=False))
        dim += 1
    if indices and not dim:
        raise RuntimeError("there is nothing to index with but masks without dimensions")
    if dim > len(self._size):
        raise IndexError(f"too many indices for tensor of dimension {len(self._size)} (got {dim})")
    check_common(key, indices)
    return tuple(key)
