"""Checks of index tensors, and their conversion to numpy indices."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...tensors import Tensor, wrap_dim
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


def check_rows(name: str, self: Tensor, dim: int, index: Tensor, scatters: bool = False) -> None:
    """Raise as PyTorch does if an index is negative or too large.

    scatters: whether PyTorch calls scatter_add for the first and the last of several dimensions."""
    dim = wrap_dim(dim, len(self._size))
    size = self._size[dim] if self._size else 1
    at = index._array.reshape(-1)
    wrong = at[(at < 0) | (at >= size)]
    if not len(wrong):
        return
    text = f"index {wrong[0]} is out of bounds for dimension {dim} with size {size}"
    if name == "index_copy_":
        raise IndexError(f"index_copy_(): {text}")
    if scatters and len(self._size) > 1 and dim in (0, len(self._size) - 1):
        raise RuntimeError(text)
    raise IndexError("index out of range in self")


def check_elements(index: Tensor, count: int, empty: str) -> None:
    """Raise IndexError unless the indices are those of elements, counted from either end.

    empty: the error if there are none."""
    if not count and index.numel():
        raise IndexError(empty)
    at = index._array.reshape(-1)
    wrong = at[(at < -count) | (at >= count)]
    if len(wrong):
        raise IndexError(
            f"out of range: tried to access index {wrong[0]} on a tensor of {count} elements."
        )


def check_source(
    name: str, self: Tensor, dim: int, index: Tensor, source: Tensor, scalars=True
) -> None:
    """Raise unless the source has the type of `self`, one row per index, and otherwise its size.

    scalars: whether a tensor without dimensions may stand for one with a single element.
    """
    dim = wrap_dim(dim, len(self._size))
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, but got "
            f"(self) {DISPLAY[self.dtype.name]} and (source) "
            f"{DISPLAY[source.dtype.name]}"
        )
    target, given = list(self._size) or [1], list(source._size) or [1]
    if len(target) != len(given) or given[dim] != index.numel():
        raise RuntimeError(
            f"{name}(): Number of indices ({index.numel()}) should be equal to "
            f"source.size(dim): ({given[dim] if dim < len(given) else 0}), for "
            f"dim: {dim}"
        )
    target[dim] = given[dim]
    if target != given or not scalars and len(self._size) != len(source._size):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the "
            f"specified dimension. Got self.shape = {list(self._size)} source.shape "
            f"= {list(source._size)}"
        )
