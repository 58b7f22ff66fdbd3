"""New tensors, filled with a number, of a given size or like another tensor."""

from __future__ import annotations

import math

import numpy as np

from ...dtypes import DType
from ...tensors import Tensor
from .elementwise import array_of, check_fits
from .layout import check_rank, dense_strides, format_order, order_of


def check_size(size) -> tuple[int, ...]:
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    if math.prod(size) > 1 << 40:
        raise RuntimeError(f"a tensor of size {list(size)} is too large")
    return tuple(size)


def filled(size, value, dtype: DType) -> Tensor:
    check_fits(value, dtype)
    return Tensor._wrap(np.full(check_size(size), array_of(value, dtype), dtype.numpy))


def laid_out(size, value, dtype: DType, memory_format: int | None) -> Tensor:
    """A filled tensor in a memory format."""
    if memory_format not in (2, 3):
        return filled(size, value, dtype)
    check_rank(memory_format, len(size))
    return ordered(check_size(size), value, dtype, format_order(len(size), memory_format))


def ordered(size, value, dtype: DType, order) -> Tensor:
    """A dense filled tensor with its dimensions in the given order in memory."""
    base = filled([math.prod(size)], value, dtype)
    return Tensor(base._storage, dtype, size, dense_strides(size, order), 0)


def like(x: Tensor, value, dtype: DType, memory_format: int | None = None) -> Tensor:
    """A filled tensor of the size of x, in a memory format or with the dimension order of x."""
    size = x._size
    check_rank(memory_format, len(size))
    order = order_of(x) if memory_format in (None, 1) else format_order(len(size), memory_format)
    return ordered(size, value, dtype, order)


def formatted(x: Tensor, memory_format: int) -> Tensor:
    """A copy in a memory format: 0 contiguous, 1 preserve, 2 and 3 channels last."""
    fresh = like(x, 0, x.dtype, memory_format)
    fresh._array[...] = x._array
    return fresh
