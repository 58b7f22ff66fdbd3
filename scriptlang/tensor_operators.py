"""The operators of Python on tensors: `x + y`, `2 - x`, `x <<= 1`, `-x`, `x < y`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .lazy_numpy import is_scalar


def call(name: str, *args: Any) -> Any:
    """Call an operator by its name, such as `aten::add`."""
    return call_operator(name, args)


def _first_call(name: str, args: tuple[Any, ...]) -> Any:
    """The first call: operators import the module of tensors, which imports this one."""
    global call_operator
    from .ops.calling.functions import call

    call_operator = call
    return call(name, args)


call_operator: Callable[[str, tuple[Any, ...]], Any] = _first_call


def binary(tensor_class: type, name: str, reflected: bool = False) -> Callable[..., Any]:
    """The method for an operator with two operands."""
    qualified = f"aten::{name}"

    def method(self: Any, other: Any) -> Any:
        if type(other) is not tensor_class:
            if is_scalar(other):  # of which numpy's float64 is a float
                other = other.item()
            elif not isinstance(other, (tensor_class, int, float, complex)):
                return NotImplemented
        if reflected and name not in COMMUTE:
            return REFLECTED[name](self, other)
        return call_operator(qualified, (self, other))

    return method


def of(name: str) -> Callable[..., Any]:
    """The method that calls an operator of this name."""
    qualified = f"aten::{name}"
    return lambda *operands: call_operator(qualified, operands)


COMMUTE = {"add", "mul", "__and__", "__or__", "__xor__"}

REFLECTED: dict[str, Callable[[Any, Any], Any]] = {
    "sub": lambda x, other: call("aten::rsub", x, other),
    "div": lambda x, other: call("aten::mul", call("aten::reciprocal", x), other),
    "pow": lambda x, other: call("aten::pow", other, x),
    "floor_divide": lambda x, other: call("aten::floor_divide", full_like(x, other), x),
    "remainder": lambda x, other: call("aten::remainder", other, x),
    "__lshift__": lambda x, other: call("aten::bitwise_left_shift", other, x),
    "__rshift__": lambda x, other: call("aten::bitwise_right_shift", other, x),
    "matmul": lambda x, other: call("aten::matmul", other, x),
}
"""How to compute `number OP tensor`."""


def full_like(x: Any, value: Any) -> Any:
    if x.dtype.kind != "b":
        return call("aten::full_like", x, value)
    return call("aten::scalar_tensor", value)


BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "pow": "pow",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and": "__and__",
    "or": "__or__",
    "xor": "__xor__",
    "lshift": "__lshift__",
    "rshift": "__rshift__",
    "matmul": "matmul",
}
"""Operator of Python -> operator of the table."""

IN_PLACE = {
    **{name: BINARY[name] + "_" for name in "add sub mul truediv floordiv mod pow".split()},
    **{name: f"__i{name}__" for name in "and or xor lshift rshift".split()},
}

UNARY = {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}

OLD = {"div": "truediv", "rdiv": "rtruediv", "idiv": "itruediv", "long": "int", "nonzero": "bool"}
"""Names of Python 2 that torch.Tensor still has -> names of today."""


def define_operators(tensor_class: type) -> None:
    """Give the class Tensor its operators."""
    for python, name in BINARY.items():
        setattr(tensor_class, f"__{python}__", binary(tensor_class, name))
        setattr(tensor_class, f"__r{python}__", binary(tensor_class, name, reflected=True))
    for python, name in IN_PLACE.items():
        setattr(tensor_class, f"__i{python}__", of(name))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(tensor_class, f"__{name}__", binary(tensor_class, name))
    for python, name in UNARY.items():
        setattr(tensor_class, f"__{python}__", of(name))
    for old, python in OLD.items():
        setattr(tensor_class, f"__{old}__", getattr(tensor_class, f"__{python}__"))
