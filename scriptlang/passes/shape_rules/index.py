"""Indexing by tensors of indices or masks."""

from __future__ import annotations

from typing import Any

from ...dtypes import bool as BOOL
from ...dtypes import int64, uint8
from ..shape_facts import Shape, TensorFacts, Unknown
from ..sizes import Size, mul
from . import Call, Several, broadcast, rule


@rule("gather")
def gather(c: Call) -> Any:
    return c.shape("index")


@rule("take")
def take(c: Call) -> Any:
    return c.shape("index")


@rule("index_select", ranks="first")
def index_select(c: Call) -> Any:
    shape, index = c.shape("self"), c.shape("index")
    if not shape:
        return ()
    d = c.dim("dim", len(shape))
    return (*shape[:d], index[0] if index else 1, *shape[d + 1 :])


@rule("take_along_dim")
def take_along_dim(c: Call) -> Any:
    if c["dim"] is None:
        n: Size = 1
        for s in c.shape("indices"):
            n = mul(n, s)
        return (n,)
    shape, index = list(c.shape("self")), list(c.shape("indices"))
    d = c.dim("dim", len(shape))
    size, shape[d], index[d] = index[d], 1, 1
    found = list(broadcast(c, tuple(shape), tuple(index)))
    found[d] = size
    return tuple(found)


@rule("masked_select", ranks=1)
def masked_select(c: Call) -> Any:
    return (c.fresh(),)


@rule("nonzero argwhere", dtype=int64, ranks=2)
def nonzero(c: Call) -> Any:
    return c.fresh(), c.tensor("self").rank


@rule("index.Tensor")
def index(c: Call) -> Any:
    """x[i, :, mask]: the indices broadcast. Their dimensions take the place of the first index if
    all indices are neighbours, else they come first."""
    shape, given = c.shape("self"), c["indices"]
    if not isinstance(given, tuple):
        raise Unknown
    places: list[tuple[int, Shape]] = []
    gone: set[int] = set()
    d = 0
    for fact in given:
        if fact is None:
            d += 1
            continue
        if not isinstance(fact, TensorFacts) or fact.shape is None or fact.dtype is None:
            raise Unknown
        is_mask = fact.dtype in (BOOL, uint8)
        if is_mask:
            places.append((d, (c.fresh(),)))
            gone.update(range(d, d + len(fact.shape)))
            d += len(fact.shape)
        else:
            places.append((d, fact.shape))
            gone.add(d)
            d += 1
    if not places or any(
        fact is not None and fact.shape == () and fact.dtype in (BOOL, uint8) for fact in given
    ):
        raise Unknown
    together = one_shape(c, [s for _, s in places])
    dims = sorted(gone)
    is_run = dims == list(range(dims[0], dims[0] + len(dims)))
    kept = [s for i, s in enumerate(shape) if i not in gone]
    at = dims[0] if is_run else 0
    return (*kept[:at], *together, *kept[at:])


def one_shape(c: Call, shapes: list[Shape]) -> Shape:
    return shapes[0] if len(shapes) == 1 else broadcast(c, *shapes)


@rule("where", dtype=None)
def places_where(c: Call) -> Any:
    """where(condition): the indices of True elements, one tensor for each dimension."""
    shape = c.shape("condition")
    n = c.fresh()
    return tuple(TensorFacts((n,), int64, 1) for _ in shape)


@rule("_unique2 unique_consecutive unique_dim", dtype=("first", int64, int64))
def unique(c: Call) -> Any:
    shape = c.shape("self")
    if c.has("dim") and c["dim"] is not None:
        d = c.dim("dim", len(shape))
        first = (*shape[:d], c.fresh(), *shape[d + 1 :])
        return Several((first, UNSURE, UNSURE))
    return Several(((c.fresh(),), UNSURE, UNSURE))


UNSURE = TensorFacts(None, int64, -1)
"""A tensor of which only the dtype is known; the rank -1 is replaced by a new symbol."""


@rule("nms", dtype=int64, ranks=1)
def nms(c: Call) -> Any:
    return (c.fresh(),)


@rule("bincount", dtype=None, ranks=1)
def bincount(c: Call) -> Any:
    dtype = int64 if c["weights"] is None else None
    return TensorFacts((c.fresh(),), dtype, 1)


@rule("roi_align", ranks=4)
def roi_align(c: Call) -> Any:
    return (
        c.shape("rois")[0],
        c.shape("input")[1],
        c.size("pooled_height"),
        c.size("pooled_width"),
    )
