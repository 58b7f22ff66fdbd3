"""Shapes of tensors that are made from sizes and numbers: zeros, full, arange, ..."""

from __future__ import annotations

from typing import Any

from ...dtypes import DType, float32, get_default_dtype, int64
from ...dtypes import bool as BOOL
from ..shape_facts import Fact, TensorFacts, Unknown, is_known, is_size, tensor_facts
from ..sizes import add, floordiv, is_at_least, sub
from . import Call, rule, typed


def default_type() -> DType | None:
    """The default dtype of floating-point tensors, if it has not been changed; else None."""
    return float32 if get_default_dtype() is float32 else None


def type_or(c: Call, default: DType | None) -> DType | None:
    return default if c["dtype"] is None else typed(c)


def type_of_number(fact: Fact) -> DType | None:
    if isinstance(fact, bool):
        return BOOL
    if is_size(fact):
        return int64
    return default_type() if isinstance(fact, float) else None


def sized(c: Call, dtype: DType | None, key: str = "size") -> TensorFacts:
    """A tensor with the sizes in an argument.
    Negative sizes make the operator fail, so none are checked."""
    try:
        sizes = c.sizes(key)
    except Unknown:
        return TensorFacts(None, dtype, -1)
    return tensor_facts(sizes, dtype)


@rule("zeros ones empty rand randn", dtype=None)
def from_sizes(c: Call) -> Any:
    return sized(c, type_or(c, default_type()))


@rule("full", dtype=None)
def full(c: Call) -> Any:
    return sized(c, type_or(c, type_of_number(c["fill_value"])))


@rule("new_zeros new_ones new_empty new_full", dtype=None)
def new(c: Call) -> Any:
    return sized(c, type_or(c, c["self"].dtype))


@rule("randint randint.low randperm", dtype=None)
def random_integers(c: Call) -> Any:
    return sized(c, type_or(c, int64), "size" if c.has("size") else "n")


@rule("arange arange.start arange.start_step", dtype=None)
def arange(c: Call) -> Any:
    start = c["start"] if c.has("start") else 0
    end, step = c["end"], c["step"] if c.has("step") else 1
    numbers = [type_of_number(v) for v in (start, end, step)]
    dtype = (
        int64
        if all(t is int64 for t in numbers)
        else default_type()
        if all(isinstance(v, (int, float)) for v in (start, end, step))
        else None
    )
    dtype = type_or(c, dtype)
    if not all(map(is_size, (start, end, step))) or step == 0:
        return tensor_facts((c.fresh(),), dtype)
    count = floordiv(add(sub(end, start), sub(step, 1)), step) if is_at_least(step, 1) else None
    if count is None or not is_at_least(count, 0):
        count = c.fresh()
    return tensor_facts((count,), dtype)


@rule("linspace logspace", dtype=None)
def linspace(c: Call) -> Any:
    return tensor_facts((c.size("steps"),), type_or(c, None))


@rule("eye", dtype=None)
def eye(c: Call) -> Any:
    n = c.size("n")
    return tensor_facts((n, c.size("m") if c.has("m") else n), type_or(c, default_type()))


@rule("scalar_tensor", dtype=None)
def scalar_tensor(c: Call) -> Any:
    return tensor_facts((), type_or(c, default_type()))


@rule("tensor.float tensor.int tensor.bool tensor.complex", dtype=None)
def of_number(c: Call) -> Any:
    fact = c[0]
    dtype = {"float": default_type(), "int": int64, "bool": BOOL}.get(c.schema.overload)
    dtype = type_or(c, dtype)
    return TensorFacts((), dtype, 0, fact if is_size(fact) and dtype is int64 else None)


@rule("tensor as_tensor.list", dtype=None)
def of_list(c: Call) -> Any:
    """A tensor made from nested lists of numbers."""
    shape, at = [], c[0]
    while isinstance(at, tuple):
        shape.append(len(at))
        if len(at) == 0:
            raise Unknown
        at = at[0]
    if not is_known(at) and not is_size(at):
        raise Unknown
    return tensor_facts(shape, type_or(c, type_of_number(at) if same_kind(c[0]) else None))


def same_kind(fact: Fact) -> bool:
    """Whether all numbers in a nested list have the same type, which then determines the dtype."""
    pending, kinds = [fact], set()
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            pending += part
        else:
            kinds.add(type_of_number(part))
    return len(kinds) == 1 and None not in kinds
