"""Operators that compute each element of the result from the elements at the same position."""

from __future__ import annotations

from typing import Any

from ..shape_facts import Fact, TensorFacts, Unknown, is_size
from ..sizes import add, floordiv, mul, sub
from . import Call, broadcast, rule, shared_rule

ARITHMETIC = {
    "add.Tensor": add,
    "sub.Tensor": sub,
    "mul.Tensor": mul,
    "add.Scalar": add,
    "sub.Scalar": sub,
    "mul.Scalar": mul,
    "floor_divide": floordiv,
    "floor_divide.Scalar": floordiv,
}
"""Operators that also compute with sizes stored in tensors."""


@shared_rule(dtype="kernel", ranks="meet")
def pointwise(c: Call) -> Any:
    if any(f.shape is None for f in c.tensors):
        raise Unknown
    return broadcast(c, *[f.shape for f in c.tensors if f.shape is not None])


def number(fact: Fact) -> Any:
    """The size that an operand is, or that it contains; None if it is neither."""
    fact = fact.value if isinstance(fact, TensorFacts) else fact
    return fact if is_size(fact) else None


@rule(" ".join(ARITHMETIC), dtype="kernel", ranks="meet")
def arithmetic(c: Call) -> Any:
    shape = pointwise(c)
    name = c.schema.qualified_name.partition("::")[2]
    a, b = number(c["self"]), number(c["other"])
    alpha = c["alpha"] if c.has("alpha") else 1
    if shape or a is None or b is None or alpha != 1:
        return shape
    return TensorFacts((), None, 0, ARITHMETIC[name](a, b))


@rule("div.Tensor_mode div.Scalar_mode", dtype="kernel", ranks="meet")
def division(c: Call) -> Any:
    shape = pointwise(c)
    a, b = number(c["self"]), number(c["other"])
    if shape or a is None or b is None or c["rounding_mode"] != "floor":
        return shape
    return TensorFacts((), None, 0, floordiv(a, b))


@shared_rule(dtype="kernel")
def loss(c: Call) -> Any:
    """A loss for each element without reduction, else one number."""
    if c.known("reduction") != 0:
        return ()
    return broadcast(c, c.shape(0), c.shape(1))
