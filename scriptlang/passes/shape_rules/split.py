"""Shapes of parts of a tensor: select, slice, chunk, split, ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..shape_facts import Shape, TensorFacts, Unknown, tensor_facts
from ..sizes import Size, add, equal, exact_quotient, floordiv, is_at_least, less, mul, sub
from . import Call, rule

LAST = (1 << 63) - 1
"""The end of a slice that has none."""


def replaced(shape: Shape, d: int, size: Size) -> Shape:
    return (*shape[:d], size, *shape[d + 1 :])


@rule("select.int select_copy.int")
def select(c: Call) -> Any:
    shape = c.shape("self")
    if not shape:
        raise Unknown
    d = c.dim("dim", len(shape))
    return shape[:d] + shape[d + 1 :]


@rule("slice.Tensor slice_copy.Tensor", ranks="first")
def slice_(c: Call) -> Any:
    shape = c.shape("self")
    if not shape:
        raise Unknown
    d = c.dim("dim", len(shape))
    start, end = (
        0 if c["start"] is None else c.size("start"),
        LAST if c["end"] is None else c.size("end"),
    )
    length = slice_length(shape[d], start, end)
    if length is not None:
        length = floordiv(add(length, sub(c.size("step"), 1)), c.size("step"))
    return replaced(shape, d, c.fresh() if length is None else length)


def slice_length(n: Size, start: Size, end: Size) -> Size | None:
    """The number of indices from start to end in a dimension of size n; None if it is unknown."""
    first, last = place(n, start), n if end == LAST else place(n, end)
    if first is None or last is None:
        return None
    if less(last, first) or equal(last, first):
        return 0
    return sub(last, first) if less(last, first) is False else None


def place(n: Size, i: Size) -> Size | None:
    """An index, possibly negative, as a position between 0 and n; None if it is unknown."""
    if isinstance(i, int) and i < 0:
        i = add(n, i)
        if less(i, 0):
            return 0
        return i if less(i, 0) is False else None
    if not is_at_least(i, 0):
        return None
    if less(n, i) is False:
        return i
    return n if less(n, i) or equal(n, i) else None


@rule("narrow", ranks="first")
def narrow(c: Call) -> Any:
    shape = c.shape("self")
    return replaced(shape, c.dim("dim", len(shape)), c.size("length"))


@rule("chunk unsafe_chunk", dtype=None)
def chunk(c: Call) -> Any:
    shape, n = c.shape("self"), c.known("chunks")
    d = c.dim("dim", len(shape))
    size = shape[d]
    if n < 1:
        raise Unknown
    if isinstance(size, int):
        return parts(c, d, chunk_sizes(size, n))
    part = exact_quotient(size, n)
    if part is None or not is_at_least(part, 1):
        raise Unknown
    return parts(c, d, [part] * n)


def chunk_sizes(size: int, n: int) -> list[int]:
    each = -(-size // n)
    if each == 0:
        return [0] * n
    return [min(each, size - at) for at in range(0, size, each)]


@rule("split.Tensor unsafe_split.Tensor", dtype=None)
def split(c: Call) -> Any:
    shape, each = c.shape("self"), c.size("split_size")
    d = c.dim("dim", len(shape))
    size = shape[d]
    if isinstance(size, int) and isinstance(each, int):
        if size == 0 or each < 1:
            return parts(c, d, [size])
        return parts(c, d, [min(each, size - at) for at in range(0, size, each)])
    n = exact_quotient(size, each)
    if not isinstance(n, int) or n < 1 or not is_at_least(each, 1) or n > MOST_PARTS:
        raise Unknown
    return parts(c, d, [each] * n)


MOST_PARTS = 4096


@rule("split.sizes split_with_sizes unsafe_split_with_sizes", dtype=None)
def split_with_sizes(c: Call) -> Any:
    return parts(c, c.dim("dim", len(c.shape("self"))), c.sizes(1))


@rule("unbind.int", dtype=None)
def unbind(c: Call) -> Any:
    shape = c.shape("self")
    d = c.dim("dim", len(shape))
    n = shape[d]
    if not isinstance(n, int) or n > MOST_PARTS:
        raise Unknown
    return (tensor_facts(shape[:d] + shape[d + 1 :], c.tensor("self").dtype),) * n


def parts(c: Call, d: int, sizes: Sequence[Size]) -> tuple[TensorFacts, ...]:
    """Parts of the tensor `self` along dimension d."""
    shape, dtype = c.shape("self"), c.tensor("self").dtype
    return tuple(tensor_facts(replaced(shape, d, s), dtype) for s in sizes)


@rule("diagonal")
def diagonal(c: Call) -> Any:
    shape = c.shape("self")
    a, b = c.dim("dim1", len(shape)), c.dim("dim2", len(shape))
    offset = c.known("offset")
    h, w = shape[a], shape[b]
    if not isinstance(h, int) or not isinstance(w, int):
        length = h if offset == 0 and h == w else c.fresh()
    else:
        length = max(min(h, w - offset) if offset >= 0 else min(h + offset, w), 0)
    return (*[s for d, s in enumerate(shape) if d not in (a, b)], length)


@rule("diag")
def diag(c: Call) -> Any:
    """A matrix with a tensor on its diagonal, or the diagonal of a matrix."""
    shape, offset = c.shape("self"), c.known("diagonal")
    if len(shape) == 1:
        return (add(shape[0], abs(offset)),) * 2
    h, w = shape
    if isinstance(h, int) and isinstance(w, int):
        return (max(min(h, w - offset) if offset >= 0 else min(h + offset, w), 0),)
    return (h if offset == 0 and h == w else c.fresh(),)


@rule("unfold")
def unfold(c: Call) -> Any:
    shape = c.shape("self")
    if not shape:
        raise Unknown
    d = c.dim("dimension", len(shape))
    size, step = c.size("size"), c.size("step")
    count = floordiv(sub(shape[d], size), step)
    return (*replaced(shape, d, c.fresh() if count is None else add(count, 1)), size)


@rule("repeat_interleave.self_int")
def repeat_interleave(c: Call) -> Any:
    shape, times = c.shape("self"), c.size("repeats")
    if c["dim"] is None:
        n: Size = 1
        for s in shape:
            n = mul(n, s)
        return (mul(n, times),)
    d = c.dim("dim", len(shape))
    return replaced(shape, d, mul(shape[d], times))
