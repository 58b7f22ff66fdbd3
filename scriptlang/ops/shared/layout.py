"""How results lie in memory: the order of their dimensions, decided as PyTorch decides it.

An order lists dimensions from the slowest to the fastest; results are dense in it.  Three rules
cover nearly all operators: pointwise results lie as their operands do (`pointwise_order`), copies
as what they copy (`laid_like`), and results of layers on images have the memory format of the
image (`in_format_of`).  What has no rule is row-major (`rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import DType
from ...tensors import Tensor, contiguous_strides

CHANNELS_LAST = {4: 2, 5: 3}
"""Number of dimensions -> the memory format in which channels lie last."""


def is_dense(x: Tensor) -> bool:
    """Whether the elements fill their memory without gaps or overlap, in some order."""
    step = 1
    if 0 in x._size:
        return True
    for s, n in sorted((s, n) for s, n in zip(x._stride, x._size) if n != 1):
        if s != step:
            return False
        step *= n
    return True


def sorted_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """The order of dimensions that the strides of all operands ask for, the first one first.

    An operand says nothing of two dimensions where its stride is 0 in one; of equal strides the
    longer dimension is the slower one.  What nobody orders stays as it is.
    """

    def apart(a: int, b: int) -> int:
        for stride in strides:
            if stride[a] == 0 or stride[b] == 0:
                continue
            if stride[a] != stride[b]:
                return stride[a] - stride[b]
            if shape[a] > shape[b]:
                return 1
        return 0

    fastest_first = list(reversed(range(len(shape))))
    for i in range(1, len(shape)):
        here = i
        for there in reversed(range(i)):
            way = apart(fastest_first[there], fastest_first[here])
            if way > 0:
                fastest_first[there], fastest_first[here] = (
                    fastest_first[here],
                    fastest_first[there],
                )
                here = there
            elif way < 0:
                break
    return fastest_first[::-1]


def order_of(x: Tensor) -> list[int]:
    """The order in which the dimensions of a tensor lie."""
    return sorted_order(x._size, [x._stride])


def dense_strides(size: Sequence[int], order: Sequence[int]) -> list[int]:
    """Strides, in elements, of a tensor without gaps whose dimensions lie in that order."""
    strides = [0] * len(size)
    for d, s in zip(order, contiguous_strides([size[d] for d in order])):
        strides[d] = s
    return strides


def expanded_strides(x: Tensor, shape: Sequence[int], converted: bool) -> list[int]:
    """Strides of an operand broadcast to a shape; converted: of its copy in another type."""
    stride = dense_strides(x._size, order_of(x)) if converted else x._stride
    new = len(shape) - len(x._size)
    return [0] * new + [
        0 if n == 1 and m != 1 else s for n, m, s in zip(x._size, shape[new:], stride)
    ]


def pointwise_order(
    shape: Sequence[int], dtype: DType | None, operands: Sequence[Any]
) -> Sequence[int]:
    """The order of a pointwise result of that shape.

    dtype: the type that operands are converted to before; None where each is taken as it is.
    Operands that are no tensors say nothing.
    """
    tensors = [x for x in operands if isinstance(x, Tensor)]
    if all(x._size == tuple(shape) and x.is_contiguous() for x in tensors):
        return range(len(shape))
    return sorted_order(
        shape, [expanded_strides(x, shape, dtype not in (None, x.dtype)) for x in tensors]
    )


def laid(array: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """The array itself where it lies densely in that order, else a copy that does."""
    there = np.asarray(array.transpose(order), order="C")
    plain = there.reshape(-1).reshape(there.shape)  # gives dimensions of size 1 their strides
    return plain.transpose(np.argsort(order))


def rows(array: np.ndarray) -> np.ndarray:
    """The array in row-major order, copied where it is not."""
    return np.asarray(array, order="C")


def laid_like(array: np.ndarray, x: Tensor) -> np.ndarray:
    """The array, of the shape of x, with its dimensions in the order of those of x."""
    return laid(array, order_of(x))


def copied(x: Tensor) -> np.ndarray:
    """A copy of a tensor's elements in the order in which they lie."""
    order = order_of(x)
    return np.array(x._array.transpose(order), order="C").transpose(np.argsort(order))


def format_of(x: Tensor) -> int:
    """The memory format of an image: 2 or 3 where channels lie last, else 0."""
    wanted = CHANNELS_LAST.get(len(x._size), 0)
    return wanted if wanted and lies_channels_last(x) else 0


def lies_channels_last(x: Tensor) -> bool:
    """Whether strides grow from the channels over the last dimensions to the first one, gaps or
    not; what would be row-major, too, because dimensions have size 1, is not."""
    size, stride = x._size, x._stride
    if not stride[1]:
        return False
    least = 0
    for d in (1, *range(len(size) - 1, 1, -1), 0):
        if size[d] == 0 or stride[d] < least:
            return False
        if d == 0 and least == stride[1]:
            return False
        least = stride[d] * size[d] if size[d] > 1 else stride[d]
    return True


def format_of_signal(x: Tensor) -> int:
    """The memory format of signals (N, C, L), taken as images of one row."""
    if len(x._size) != 3:
        return 0
    n, c, length = x._size
    a, b, s = x._stride
    return format_of(x._as_view((n, c, 1, length), (a, b, s * length, s), x._offset))


def check_rank(memory_format: int | None, dims: int) -> None:
    """RuntimeError where tensors of so many dimensions cannot lie in a memory format."""
    if memory_format in (2, 3) and dims != memory_format + 2:
        name = "channels_last" if memory_format == 2 else "channels_last_3d"
        raise RuntimeError(f"required rank {memory_format + 2} tensor to use {name} format")


def format_order(dims: int, memory_format: int | None) -> Sequence[int]:
    """The order of the dimensions in a memory format."""
    return [0, *range(2, dims), 1] if memory_format in (2, 3) else range(dims)


def in_format(array: np.ndarray, memory_format: int) -> np.ndarray:
    """The array in a memory format, copied where it lies otherwise."""
    return laid(array, format_order(array.ndim, memory_format))


def in_format_of(array: np.ndarray, x: Tensor) -> np.ndarray:
    """The array in the memory format of an image."""
    return in_format(array, format_of(x))


def become(self: Tensor, other: Tensor) -> Tensor:
    """Make `self` look as `other`, a view of the same storage, does."""
    self._size, self._stride, self._offset = other._size, other._stride, other._offset
    self._view = None
    return self


def resize(self: Tensor, size: Sequence[int], memory_format: int | None = None) -> Tensor:
    """Another size; elements that were there stay, in the order of memory, new ones are zero."""
    if tuple(size) == self._size:
        return self
    if any(n < 0 for n in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {size}")
    need = self._offset + int(np.prod(size, dtype=np.int64))
    self._storage.grow(need * self.dtype.itemsize)
    check_rank(memory_format, len(size))
    strides = dense_strides(size, format_order(len(size), memory_format))
    return become(self, self._as_view(size, strides, self._offset))
