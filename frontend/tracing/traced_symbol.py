"""The node of a torch.SymInt or SymFloat that comes from a shape in a traced program.

Arithmetic on it is recorded.  Comparisons and other operations are computed, but not recorded.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from scriptlang.ir import Value

RECORDED: dict[str, tuple[str, Callable[..., Any]]] = {
    "add": ("aten::add", operator.add),
    "sub": ("aten::sub", operator.sub),
    "mul": ("aten::mul", operator.mul),
    "mod": ("aten::remainder", operator.mod),
    "floordiv": ("aten::floordiv", operator.floordiv),
    "int_floordiv": ("aten::floordiv", operator.floordiv),
    "truediv": ("aten::div", operator.truediv),
    "int_truediv": ("aten::div", operator.truediv),
    "float_truediv": ("aten::div", operator.truediv),
    "neg": ("aten::neg", operator.neg),
    "sym_float": ("aten::Float", float),
    "float_pow": ("aten::pow", operator.pow),
}
"""Method that torch calls on a node -> the operator to record, and its Python function."""

COMPUTED: dict[str, Callable[..., Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "sym_max": max,
    "sym_min": min,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
    "and_": operator.and_,
    "or_": operator.or_,
    "sym_and": lambda a, b: a and b,
    "sym_or": lambda a, b: a or b,
    "sym_not": operator.not_,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "pos": operator.pos,
    "abs": abs,
    "sym_sqrt": math.sqrt,
    "is_integer": lambda a: float(a).is_integer(),
    "sym_int": int,
}
"""Method that torch calls on a node -> its Python function.  These are not recorded."""


class Symbol:
    """A number with its value in the graph, which is None for a constant."""

    nested_int = constant = hint = None

    def __init__(self, number: Any, tracer: Any, value: Value | None = None) -> None:
        self.number, self.tracer, self.value = number, tracer, value

    def is_int(self) -> bool:
        return type(self.number) is int

    def is_float(self) -> bool:
        return type(self.number) is float

    def is_bool(self) -> bool:
        return type(self.number) is bool

    def is_nested_int(self) -> bool:
        return False

    is_constant = is_symbolic = is_nested_int

    def has_hint(self) -> bool:
        return True

    def maybe_as_int(self) -> None:
        return None

    maybe_as_float = maybe_as_bool = constant_int = constant_bool = singleton_int = maybe_as_int

    def guard_int(self, file: str, line: int) -> int:
        """The plain int; torch calls this for an operator that does not take symbolic ints.

        The tracer notes the symbol, to recognize it among the arguments of the operator.
        """
        if self.value is not None and self.tracer.is_recording:
            self.tracer.taken_as_int.append(self)
        return int(self.number)

    def guard_float(self, file: str, line: int) -> float:
        return float(self.number)

    def guard_bool(self, file: str, line: int) -> bool:
        return bool(self.number)

    guard_size_oblivious = guard_or_false = guard_or_true = guard_bool
    expect_true = expect_size = statically_known_true = guard_bool

    def int_(self) -> int:
        return int(self.number)

    def bool_(self) -> bool:
        return bool(self.number)

    def float_(self) -> float:
        return float(self.number)

    def wrap_int(self, number: int) -> Symbol:
        return Symbol(number, self.tracer)

    wrap_float = wrap_bool = wrap_int

    def clone(self) -> Symbol:
        return self

    def str(self) -> str:
        return repr(self.number)

    __str__ = _graph_repr = str

    def __getattr__(self, name: builtins.str) -> Any:
        if name in COMPUTED:
            return lambda *others: Symbol(
                COMPUTED[name](self.number, *(o.number for o in others)), self.tracer
            )
        raise AttributeError(name)


def _recorded(name: str) -> Callable[..., Symbol]:
    kind, compute = RECORDED[name]

    def method(self: Symbol, *others: Symbol) -> Symbol:
        number = compute(self.number, *(o.number for o in others))
        tracer = self.tracer
        if not tracer.is_recording or all(s.value is None for s in (self, *others)):
            return Symbol(number, tracer)
        return Symbol(number, tracer, tracer.number_operator(kind, self, *others))

    method.__name__ = name
    return method


def _power(self: Symbol, other: Symbol) -> Symbol:
    """Record a power of ints, which is a float in programs and so is converted back."""
    number, tracer = self.number**other.number, self.tracer
    if not tracer.is_recording or self.value is None or not isinstance(number, int):
        return Symbol(number, tracer)
    power = Symbol(float(number), tracer, tracer.number_operator("aten::pow", self, other))
    return Symbol(number, tracer, tracer.number_operator("aten::Int", power))


for _name in RECORDED:
    setattr(Symbol, _name, _recorded(_name))
Symbol.pow = Symbol.pow_by_natural = _power
