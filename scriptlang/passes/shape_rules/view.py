"""Operators that return the same elements in another shape."""

from __future__ import annotations

from typing import Any

from ..shape_facts import Shape, Unknown
from ..sizes import Size, division, equal, is_at_least, mul, product
from . import Call, rule, wrap


def viewed(c: Call, shape: Shape, sizes: list[Size]) -> Shape:
    """The shape that `sizes` describe; one of them may be -1."""
    if -1 in sizes:
        i = sizes.index(-1)
        others = sizes[:i] + sizes[i + 1 :]  # none of these is -1
        rest = division(product(shape), product(others))
        return (*sizes[:i], c.fresh() if rest is None else rest, *sizes[i + 1 :])
    marks = [d for d, s in enumerate(sizes) if not is_at_least(s, 0)]
    if len(marks) == 1:  # it is -1 or the actual size: both have the same result
        i = marks[0]
        rest = division(product(shape), product(sizes[:i] + sizes[i + 1 :]))
        return (*sizes[:i], c.fresh() if rest is None else rest, *sizes[i + 1 :])
    return tuple(c.fresh() if d in marks else s for d, s in enumerate(sizes))


@rule("view reshape _unsafe_view _reshape_alias view_copy")
def view(c: Call) -> Any:
    sizes = c.sizes("size" if c.has("size") else "shape")
    if c["self"].shape is None:
        return tuple(s if is_at_least(s, 0) else c.fresh() for s in sizes)
    return viewed(c, c.shape("self"), sizes)


@rule("view_as reshape_as expand_as")
def as_other(c: Call) -> Any:
    return c.shape("other")


@rule("view.dtype", dtype=None)
def as_type(c: Call) -> Any:
    """The last size changes if the dtypes have different widths, so nothing is known."""
    return None


@rule("flatten.using_ints")
def flatten(c: Call) -> Any:
    start = c.known("start_dim")
    if c["self"].shape is None and start >= 0 and c["end_dim"] == -1:
        return tuple(c.fresh() for _ in range(start + 1))
    shape = c.shape("self")
    if not shape:
        return (1,)
    start, end = c.dim("start_dim", len(shape)), c.dim("end_dim", len(shape))
    return (*shape[:start], product(shape[start : end + 1]), *shape[end + 1 :])


@rule("ravel", ranks=1)
def ravel(c: Call) -> Any:
    return (product(c.shape("self")),)


@rule("unflatten.int")
def unflatten(c: Call) -> Any:
    shape = c.shape("self")
    d = c.dim("dim", len(shape))
    return (*shape[:d], *viewed(c, (shape[d],), c.sizes("sizes")), *shape[d + 1 :])


@rule("permute", ranks="first")
def permute(c: Call) -> Any:
    shape = c.shape("self")
    return tuple(shape[wrap(d, len(shape))] for d in c.known("dims"))


@rule("transpose.int swapaxes swapdims", ranks="first")
def transpose(c: Call) -> Any:
    shape = list(c.shape("self"))
    a, b = (c.dim(i, len(shape)) for i in (1, 2))
    if shape:
        shape[a], shape[b] = shape[b], shape[a]
    return tuple(shape)


@rule("t numpy_T matrix_H", ranks="first")
def turned(c: Call) -> Any:
    return c.shape("self")[::-1]


@rule("mT mH adjoint", ranks="first")
def turned_matrix(c: Call) -> Any:
    shape = c.shape("self")
    return (*shape[:-2], *shape[-2:][::-1])


@rule("movedim.int moveaxis.int", ranks="first")
def movedim(c: Call) -> Any:
    shape = list(c.shape("self"))
    source, target = c.dim("source", len(shape)), c.dim("destination", len(shape))
    if not shape:
        return ()
    shape.insert(target, shape.pop(source))
    return tuple(shape)


@rule("squeeze")
def squeeze(c: Call) -> Any:
    shape = c.shape("self")
    if c.has("dim") and c["dim"] == ():
        raise Unknown
    dims = c.dims("dim", len(shape)) if c.has("dim") else range(len(shape))
    kept = []
    for d, s in enumerate(shape):
        if d not in dims or equal(s, 1) is False:
            kept.append(s)
        elif s != 1:
            raise Unknown  # only removed if it is 1
    return tuple(kept)


@rule("unsqueeze")
def unsqueeze(c: Call) -> Any:
    shape = c.shape("self")
    d = c.dim("dim", len(shape) + 1)
    return (*shape[:d], 1, *shape[d:])


@rule("expand broadcast_to")
def expand(c: Call) -> Any:
    sizes = c.sizes("size")
    old = c["self"].shape
    if old is None:
        return tuple(s if is_at_least(s, 0) else c.fresh() for s in sizes)
    old = (-1,) * (len(sizes) - len(old)) + old
    return tuple(
        o if s == -1 else s if o == 1 or is_at_least(s, 0) else c.fresh()
        for o, s in zip(old, sizes)
    )


@rule("repeat tile")
def repeat(c: Call) -> Any:
    shape, times = c.shape("self"), c.sizes(1)
    n = max(len(shape), len(times))
    if c.schema.name == "aten::repeat" and len(times) < len(shape):
        raise Unknown
    shape = (1,) * (n - len(shape)) + shape
    times = [*[1] * (n - len(times)), *times]
    return tuple(map(mul, shape, times))


@rule("as_strided")
def as_strided(c: Call) -> Any:
    return tuple(c.sizes("size"))


@rule("pixel_shuffle")
def pixel_shuffle(c: Call) -> Any:
    *batch, channels, h, w = c.shape("self")
    r = c.known("upscale_factor")
    return *batch, exactly(channels, r * r), mul(h, r), mul(w, r)


@rule("pixel_unshuffle")
def pixel_unshuffle(c: Call) -> Any:
    *batch, channels, h, w = shape = c.shape("self")
    r = c.known("downscale_factor")
    if 0 in shape:  # the result is the input
        return shape
    if not all(isinstance(size, int) for size in shape):  # one of the sizes may be 0
        return tuple(c.fresh() for _ in shape)
    return *batch, mul(channels, r * r), exactly(h, r), exactly(w, r)


def exactly(size: Size, n: int) -> Size:
    found = division(size, n)
    if found is None:
        raise Unknown
    return found
