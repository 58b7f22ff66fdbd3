"""Traced numbers: ints and floats with a value of the graph, used while a trace is recorded.

In a traced function `x.size(0) * 2` is a TracedInt.  The multiplication computes an int and records
`aten::mul`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scriptlang.ir import Value

OPERATORS: dict[str, str] = {
    "add": "aten::add",
    "sub": "aten::sub",
    "mul": "aten::mul",
    "floordiv": "aten::floordiv",
    "mod": "aten::remainder",
    "truediv": "aten::div",
    "pow": "aten::pow",
}
"""Name of a Python operator -> the operator on numbers that is recorded."""


class _Traced:
    """Base class of traced numbers: the tracer that made them, and their value in the graph."""

    tracer: Any
    value: Value


class TracedInt(_Traced, int):
    """An int that came from the shape of a tensor."""

    def __new__(cls, number: int, tracer: Any, value: Value) -> Any:
        made = int.__new__(cls, number)
        made.tracer, made.value = tracer, value
        return made

    @property
    def plain(self) -> int:
        return int.__int__(self)

    def __index__(self) -> int:
        return self.plain

    def __int__(self) -> int:
        return self.plain


class TracedFloat(_Traced, float):
    """A float computed from traced ints."""

    def __new__(cls, number: float, tracer: Any, value: Value) -> Any:
        made = float.__new__(cls, number)
        made.tracer, made.value = tracer, value
        return made

    @property
    def plain(self) -> float:
        return float.__add__(self, 0.0)


def plain(value: Any) -> Any:
    """The value with all traced numbers in it, also in lists and tuples, made plain."""
    if isinstance(value, _Traced):
        return value.plain
    if type(value) in (list, tuple) and any(isinstance(v, (_Traced, list, tuple)) for v in value):
        return type(value)(map(plain, value))
    return value


def _operation(name: str, operator: str, reflected: bool) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, bool) or not isinstance(other, (int, float)):
            return NotImplemented
        base = float if isinstance(self, float) or isinstance(other, float) else int
        mine, others = plain(self), plain(other)
        if base is float:
            mine, others = float(mine), float(others)
        result = getattr(base, f"__{'r' if reflected else ''}{name}__")(mine, others)
        tracer = self.tracer
        if not tracer.is_recording or result is NotImplemented:
            return result
        left, right = (other, self) if reflected else (self, other)
        value = tracer.number_operator(operator, left, right)
        # In programs a power of ints is a float.
        if name == "pow" and isinstance(result, int):
            power = TracedFloat(float(result), tracer, value)
            value = tracer.number_operator("aten::Int", power)
        made = TracedFloat if isinstance(result, float) else TracedInt
        return made(result, tracer, value)

    return method


def _negate(self: Any) -> Any:
    result = -plain(self)
    if not self.tracer.is_recording:
        return result
    value = self.tracer.number_operator("aten::neg", self)
    return type(self)(result, self.tracer, value)


for _name, _operator in OPERATORS.items():
    for _cls in (TracedInt, TracedFloat):
        setattr(_cls, f"__{_name}__", _operation(_name, _operator, False))
        setattr(_cls, f"__r{_name}__", _operation(_name, _operator, True))
for _cls in (TracedInt, TracedFloat):
    _cls.__neg__ = _negate  # type: ignore[method-assign]
