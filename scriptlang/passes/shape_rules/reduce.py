"""Reductions over the dimensions in `dim`, or over all."""

from __future__ import annotations

from typing import Any

from ...dtypes import int64
from ..shape_facts import Shape
from . import Call, Several, rule, shared_rule


def reduced(c: Call, key: str = "self") -> Shape:
    shape = c.shape(key)
    if not c.has("dim"):
        return ()
    gone = set(c.dims("dim", len(shape)))
    keep = c.known("keepdim") if c.has("keepdim") else False
    return tuple(1 if d in gone else s for d, s in enumerate(shape) if keep or d not in gone)


@shared_rule(dtype="kernel")
def reduction(c: Call) -> Any:
    return reduced(c)


@rule("max min median nanmedian", dtype="kernel")
def extreme(c: Call) -> Any:
    """min and max return one tensor without `dim`, and values and indices with it."""
    if not c.has("dim"):
        c.tensor("self")
        return ()
    shape = reduced(c)
    return Several((shape, shape))


@rule("max.dim min.dim median.dim nanmedian.dim mode kthvalue", dtype=("first", int64))
def extreme_along(c: Call) -> Any:
    shape = reduced(c)
    return Several((shape, shape))


@rule("std_mean var_mean aminmax", dtype="kernel")
def pair(c: Call) -> Any:
    shape = reduced(c)
    return Several((shape, shape))


@rule("topk", dtype=("first", int64))
def topk(c: Call) -> Any:
    shape = list(c.shape("self"))
    if not shape:
        return Several(((), ()))
    shape[c.dim("dim", len(shape))] = c.size("k")
    return Several((tuple(shape), tuple(shape)))
