"""Shapes of tensors that are made from several others: cat, stack, ..."""

from __future__ import annotations

from typing import Any

from ..shape_facts import Fact, TensorFacts, Unknown
from ..sizes import total
from . import Call, meet, rule, wrap


def listed(fact: Fact) -> list[TensorFacts]:
    """The tensors in a list. Raises Unknown if one of them has an unknown rank."""
    if (
        not isinstance(fact, tuple)
        or not fact
        or any(not isinstance(f, TensorFacts) or f.shape is None for f in fact)
    ):
        raise Unknown
    return list(fact)


@rule("cat concat concatenate", dtype="kernel")
def cat(c: Call) -> Any:
    found = listed(c["tensors"])
    shapes = [f.shape for f in found if f.shape is not None]
    if len(set(map(len, shapes))) > 1:  # cat ignores tensors of shape [0]
        shapes = [shape for shape in shapes if shape != (0,)]
        if len(set(map(len, shapes))) > 1:
            raise Unknown
    rank = len(shapes[0])
    if rank == 0:
        raise Unknown
    d = wrap(c.known("dim"), rank)
    return tuple(
        total(sizes) if i == d else meet(list(sizes)) for i, sizes in enumerate(zip(*shapes))
    )


@rule("stack", dtype="kernel")
def stack(c: Call) -> Any:
    found = listed(c["tensors"])
    sizes = [meet(list(s)) for s in zip(*(f.shape for f in found))]
    d = wrap(c.known("dim"), len(sizes) + 1)
    return (*sizes[:d], len(found), *sizes[d:])


@rule("broadcast_tensors", dtype=None)
def broadcast_tensors(c: Call) -> Any:
    from . import broadcast

    found = listed(c["tensors"])
    shape = broadcast(c, *[f.shape for f in found if f.shape is not None])
    return tuple(TensorFacts(shape, f.dtype, len(shape)) for f in found)


@rule("meshgrid.indexing", dtype=None)
def meshgrid(c: Call) -> Any:
    found = listed(c["tensors"])
    sizes = [f.shape[0] if f.shape else 1 for f in found]
    if c.known("indexing") == "xy" and len(sizes) > 1:
        sizes[0], sizes[1] = sizes[1], sizes[0]
    return tuple(TensorFacts(tuple(sizes), f.dtype, len(sizes)) for f in found)


@rule("meshgrid", dtype=None)
def meshgrid_by_rows(c: Call) -> Any:
    found = listed(c["tensors"])
    sizes = tuple(f.shape[0] if f.shape else 1 for f in found)
    return tuple(TensorFacts(sizes, f.dtype, len(sizes)) for f in found)
