"""Operators whose result has the shape of one argument."""

from __future__ import annotations

from typing import Any

from ...dtypes import int32, int64
from ..shape_facts import TensorFacts, Unknown
from . import Call, Several, rule, shared_rule, typed


@shared_rule(dtype=None, ranks="first")
def like_first(c: Call) -> Any:
    """The shape of the first tensor, and its dtype unless `dtype` is given (as in softmax)."""
    if not c.tensors:
        return None
    fact = c.tensors[0]
    if c.has("dtype") and c["dtype"] is not None:
        return TensorFacts(fact.shape, typed(c), fact.rank)
    return TensorFacts(
        fact.shape, fact.dtype, fact.rank, fact.value if c.schema.name in KEEP_VALUES else None
    )


KEEP_VALUES = {f"aten::{name}" for name in ("detach", "clone", "contiguous", "cpu", "alias")}


@rule("cumsum cumprod", dtype="kernel", ranks="first")
def running(c: Call) -> Any:
    return c.shape("self")


@rule(
    """to.dtype to.dtype_layout to.prim_dtype _to_copy
zeros_like ones_like empty_like full_like rand_like randn_like randint_like""",
    dtype=None,
    ranks="first",
)
def converted(c: Call) -> Any:
    """The shape of the first tensor, and its dtype unless `dtype` is given."""
    if not c.tensors:
        return None
    fact = c.tensors[0]
    dtype = fact.dtype if c["dtype"] is None else typed(c)
    is_value = c.schema.name == "aten::to" and dtype is int64
    return TensorFacts(fact.shape, dtype, fact.rank, fact.value if is_value else None)


@rule("to.other type_as", dtype=None, ranks="first")
def as_other(c: Call) -> Any:
    fact, other = c["self"], c["other"]
    return TensorFacts(fact.shape, other.dtype, fact.rank)


@rule("argsort", dtype=int64, ranks="first")
def order(c: Call) -> Any:
    return c.shape("self")


@rule("sort cummax cummin", dtype=("first", int64), ranks="first")
def with_indices(c: Call) -> Any:
    return Several((c.shape("self"), c.shape("self")))


@rule("searchsorted.Tensor bucketize.Tensor", dtype=None, ranks=None)
def found_places(c: Call) -> Any:
    values = c["self"]
    dtype = {True: int32, False: int64}.get(c["out_int32"])
    return TensorFacts(values.shape, dtype, values.rank)


@rule("one_hot", dtype=int64)
def one_hot(c: Call) -> Any:
    classes = c["num_classes"]
    size = classes if type(classes) is int and classes >= 0 else c.fresh()
    return *c.shape("self"), size


@rule("_fused_adam _fused_adamw", dtype=None)
def updated(c: Call) -> Any:
    """Lists of tensors like those in the lists before."""
    lists = [c.facts[i] for i in range(len(c.schema.returns))]
    if not all(isinstance(fact, tuple) for fact in lists):
        raise Unknown
    return Several(tuple(TensorFacts(f.shape, f.dtype, f.rank) for f in fact) for fact in lists)
