"""The dtypes of results: found by running the operator's own kernel on one-element tensors.

The dtype of a result depends on dtypes, on which tensors have dimensions, and on the classes of
numbers, but never on sizes or elements. If one of these is unknown, all possibilities are tried,
and the answer counts if it is the same for all.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...ops import table
from ...tensors import Tensor
from ..shape_facts import Fact, TensorFacts, is_known, is_size

if TYPE_CHECKING:
    from ...ops.table import Operator
    from ...schema import Schema

TRIED = (
    dtypes.float32,
    dtypes.float64,
    dtypes.float16,
    dtypes.int64,
    dtypes.int32,
    dtypes.uint8,
    dtypes.bool,
    dtypes.complex64,
    dtypes.complex128,
)
"""The dtypes that are tried for an unknown one; they represent all others."""

MOST_TRIES = 81


def kernel_types(schema: Schema, facts: list[Fact], count: int) -> tuple[DType | None, ...]:
    """The dtypes of an operator's results; None for those that are unknown."""
    nothing = (None,) * count
    try:
        described = tuple(described_as(f) for f in facts)
    except TypeError:
        return nothing
    return _kernel_types(schema.name, schema.overload, described, count) or nothing


def described_as(fact: Fact) -> tuple[Any, ...]:
    """The properties of an argument that dtypes may depend on.
    Raises TypeError if they are unknown."""
    if isinstance(fact, TensorFacts):
        rank = fact.rank if isinstance(fact.rank, int) else None
        return "tensor", fact.dtype, rank
    if isinstance(fact, tuple):
        return "list", tuple(map(described_as, fact))
    if not is_known(fact) and not is_size(fact):
        raise TypeError
    if is_size(fact) and not isinstance(fact, int):
        return "value", int, 1
    return "value", type(fact), fact


@lru_cache(maxsize=4096)
def _kernel_types(
    name: str, overload: str, described: tuple[Any, ...], count: int
) -> tuple[Any, ...] | None:
    operator = table.find(name, overload)
    if operator is None or operator.kernel is None:
        return None
    total = math.prod(map(count_of, described))
    if total > MOST_TRIES:
        return None
    choices = [choices_of(d) for d in described]
    found: set[tuple[Any, ...]] = set()
    for values in itertools.product(*choices):
        types = result_types(operator, [make(v) for v in values], count)
        if types is None and total == 1:
            return None
        if types is not None:  # combinations that the kernel rejects do not count
            found.add(types)
    if not found:
        return None
    choices_of_each = [{types[i] for types in found} for i in range(count)]
    return tuple(each.pop() if len(each) == 1 else None for each in choices_of_each)


def count_of(described: tuple[Any, ...]) -> int:
    """The number of possibilities that are tried for an argument."""
    if described[0] == "list":
        return math.prod(map(count_of, described[1]))
    if described[0] == "value":
        return 1
    return (1 if described[1] else len(TRIED)) * (1 if described[2] is not None else 2)


def choices_of(described: tuple[Any, ...]) -> list[Any]:
    if described[0] == "list":
        return [("list", parts) for parts in itertools.product(*map(choices_of, described[1]))]
    if described[0] == "value":
        return [described]
    _, dtype, rank = described
    return [
        ("tensor", t, r)
        for t in ((dtype,) if dtype else TRIED)
        for r in ((rank,) if rank is not None else (0, 1))
    ]


def make(chosen: tuple[Any, ...]) -> Any:
    kind, *rest = chosen
    if kind == "list":
        return [make(part) for part in rest[0]]
    if kind == "value":
        return list(rest[1]) if isinstance(rest[1], tuple) else rest[1]
    dtype, rank = rest
    return Tensor._wrap(np.ones((1,) * rank, dtype.numpy))


def result_types(operator: Operator, values: list[Any], count: int) -> tuple[Any, ...] | None:
    assert operator.kernel is not None
    try:
        with np.errstate(all="ignore"):
            result = operator.kernel(*values)
    except Exception:
        return None
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != count or not all(isinstance(r, Tensor) for r in results):
        return None
    return tuple(r.dtype for r in results)
