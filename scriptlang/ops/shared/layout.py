"""The memory layout of results: the order of their dimensions, chosen as PyTorch chooses it.

An order lists dimensions from the slowest to the fastest; results are dense in it.  Three rules
cover nearly all operators: pointwise results have the order of their operands (`pointwise_order`),
copies that of the original (`laid_like`), and results of layers on images have the memory format of
the image (`in_format_of`).  Results without a rule are row-major (`rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import DType
from ...tensors import Tensor, contiguous_strides
from ..calling.current import note_moved

CHANNELS_LAST = {4: 2, 5: 3}
"""Number of dimensions -> the channels-last memory format."""


def is_dense(x: Tensor) -> bool:
    """Whether the elements fill a range of memory without gaps or overlap, in any order."""
    step = 1
    if 0 in x._size:
        return True
    for s, n in sorted((s, n) for s, n in zip(x._stride, x._size) if n != 1):
        if s != step:
            return False
        step *= n
    return True


def sorted_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """The order of dimensions by the strides of all operands; earlier operands take precedence.

    A stride of 0 in one of two dimensions does not order them; of equal strides, the longer
    dimension is the slower one.  Dimensions that no operand orders keep their order.
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
    """The order of a tensor's dimensions in memory."""
    return sorted_order(x._size, [x._stride])


def dense_strides(size: Sequence[int], order: Sequence[int]) -> list[int]:
    """The strides, in elements, of a dense tensor with its dimensions in that order."""
    strides = [0] * len(size)
    for d, s in zip(order, contiguous_strides([size[d] for d in order])):
        strides[d] = s
    return strides


def expanded_strides(x: Tensor, shape: Sequence[int], converted: bool) -> list[int]:
    """The strides of an operand broadcast to a shape; converted: of its copy in another type."""
    stride = dense_strides(x._size, order_of(x)) if converted else x._stride
    new = len(shape) - len(x._size)
    return [0] * new + [
        0 if n == 1 and m != 1 else s for n, m, s in zip(x._size, shape[new:], stride)
    ]


def pointwise_order(
    shape: Sequence[int], dtype: DType | None, operands: Sequence[Any]
) -> Sequence[int]:
    """The order of the dimensions of a pointwise result of that shape.

    dtype: the type that operands are converted to before; None if none is converted.
    Operands that are no tensors are ignored.
    """
    tensors = [x for x in operands if isinstance(x, Tensor)]
    if all(x._size == tuple(shape) and x.is_contiguous() for x in tensors):
        return range(len(shape))
    return sorted_order(
        shape, [expanded_strides(x, shape, dtype not in (None, x.dtype)) for x in tensors]
    )


def laid(array: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """The array itself if it is dense in that order, else a copy that is."""
    there = np.asarray(array.transpose(order), order="C")
    plain = there.reshape(-1).reshape(there.shape)  # normalizes the strides of dimensions of size 1
    return plain.transpose(np.argsort(order))


def rows(array: np.ndarray) -> np.ndarray:
    """The array in row-major order, copied if it is not."""
    return np.asarray(array, order="C")


def laid_like(array: np.ndarray, x: Tensor) -> np.ndarray:
    """The array, of the shape of x, with the order of dimensions of x; copied if needed."""
    return laid(array, order_of(x))


def copied(x: Tensor) -> np.ndarray:
    """A dense copy of a tensor's array with the same order of dimensions."""
    order = order_of(x)
    return np.array(x._array.transpose(order), order="C").transpose(np.argsort(order))


def format_of(x: Tensor) -> int:
    """The memory format of an image: 2 or 3 if it is channels last, else 0."""
    wanted = CHANNELS_LAST.get(len(x._size), 0)
    return wanted if wanted and lies_channels_last(x) else 0


def lies_channels_last(x: Tensor) -> bool:
    """Whether strides grow from the channels over the last dimensions to the first, gaps allowed.

    False if dimensions of size 1 make the layout row-major as well.
    """
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
    """The memory format of signals (N, C, L), treated as images with one row."""
    if len(x._size) != 3:
        return 0
    n, c, length = x._size
    a, b, s = x._stride
    return format_of(x._as_view((n, c, 1, length), (a, b, s * length, s), x._offset))


def check_rank(memory_format: int | None, dims: int) -> None:
    """Raise RuntimeError if a memory format does not exist for this number of dimensions."""
    if memory_format in (2, 3) and dims != memory_format + 2:
        name = "channels_last" if memory_format == 2 else "channels_last_3d"
        raise RuntimeError(f"required rank {memory_format + 2} tensor to use {name} format")


def format_order(dims: int, memory_format: int | None) -> Sequence[int]:
    """The order of the dimensions in a memory format, from the slowest to the fastest."""
    return [0, *range(2, dims), 1] if memory_format in (2, 3) else range(dims)


def in_format(array: np.ndarray, memory_format: int) -> np.ndarray:
    """The array in a memory format, copied if needed."""
    return laid(array, format_order(array.ndim, memory_format))


def in_format_of(array: np.ndarray, x: Tensor) -> np.ndarray:
    """The array in the memory format of an image, copied if needed."""
    return in_format(array, format_of(x))


def become(self: Tensor, other: Tensor) -> Tensor:
    """Give `self` the size, strides and offset of `other`, a view of the same storage."""
    self._size, self._stride, self._offset = other._size, other._stride, other._offset
    self._view = None
    note_moved(self)
    return self


def resize(self: Tensor, size: Sequence[int], memory_format: int | None = None) -> Tensor:
    """Resize in place.  The elements keep their order in memory; new ones are zero."""
    if tuple(size) == self._size:
        return self
    if any(n < 0 for n in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {size}")
    need = self._offset + int(np.prod(size, dtype=np.int64))
    self._storage.grow(need * self.dtype.itemsize)
    check_rank(memory_format, len(size))
    strides = dense_strides(size, format_order(len(size), memory_format))
    return become(self, self._as_view(size, strides, self._offset))


Place = tuple[int, int]
"""The addresses of a tensor's first byte, and behind its last."""


def place_of(t: Tensor) -> Place:
    """Where the elements of a tensor lie."""
    first = t.data_ptr()
    if 0 in t._size:
        return first, first
    reach = sum((n - 1) * step for n, step in zip(t._size, t.stride()))
    return first, first + (reach + 1) * t.itemsize
