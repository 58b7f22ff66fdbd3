"""Eager calls: `aten::name` on Python values.

The first overload, in the table's order, whose arguments accept the values is called.  If a tracer
is active, it makes the call, so that it can record it.  Calls of a kind that has occurred before
are the native engine's: it finds their kernel itself (kernels.py).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from ...errors import MissingOperatorError
from ...tensors import Tensor
from .. import table
from .binding import bind, describe, is_followed
from .current import calls, mode, tracing
from .kernels import kernel_of, lacks, learn

NONE: dict[str, Any] = {}


def call(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any] = NONE, method: bool = False
) -> Any:
    """Call the first overload of `aten::name` whose arguments accept the values.

    method: the first value is bound to the argument `self`, wherever the schema has it.
    Raises TypeError, with one line per candidate, if none fits; AttributeError if there is no such
    operator.
    """
    eager = calls.eager
    made = NotImplemented if eager is None else eager(name, args, kwargs, method)
    if made is not NotImplemented and made is not ...:
        return made
    key = name, method, *map(kind_of, args), *kwargs, *map(kind_of, kwargs.values())
    chosen = _choices.get(key)
    if chosen is not None:
        values = bind(chosen.schema, args, kwargs, method)
        if isinstance(values, list):
            if made is ...:
                learn(chosen, name, args, kwargs, method)
            return run(chosen, values)
    candidates = table.overloads(name)
    if not candidates:
        raise AttributeError(f"there is no operator {name}")
    found = None
    for op in candidates:
        values = bind(op.schema, args, kwargs, method)
        if isinstance(values, list):
            if not became_numbers((*args, *kwargs.values()), values):
                found = op, values
                break
            found = found or (op, values)  # an overload that takes the tensor itself is preferred
    if found is None:
        raise NoOverload(refusal(name, candidates, args, kwargs, method))
    _choices[key] = found[0]
    if made is ...:
        learn(found[0], name, args, kwargs, method)
    return run(*found)


def became_numbers(given: Sequence[Any], values: list[Any]) -> bool:
    """Whether a tensor among the given values was converted when it was bound."""
    return any(isinstance(x, Tensor) and all(x is not v for v in values) for x in given)


_choices: dict[tuple[Any, ...], table.Operator] = {}
"""Cache: kinds of values -> the overload that an earlier call chose."""


def choose_again(name: str) -> None:
    """Forget what was chosen: an operator of this name was declared."""
    _choices.clear()
    if calls.eager is not None:
        calls.eager.forget()


table.LISTENERS.append(choose_again)


def kind_of(value: Any) -> tuple[Any, ...] | type:
    """The properties of a value that the choice of an overload can depend on."""
    if isinstance(value, Tensor):
        return Tensor if value._size else (Tensor, value.dtype.kind, is_followed(value))
    if isinstance(value, (list, tuple)):
        return type(value), frozenset(map(kind_of, value))
    return type(value)


def run(op: table.Operator, values: list[Any]) -> Any:
    """Run one overload on all its arguments, through the tracer if there is one."""
    tracer = None if calls.tracer is None else tracing()
    if tracer is not None:
        if op.kernel is None:
            raise MissingOperatorError(lacks(op))
        result = tracer.call(op, values)
    elif calls.recorder is not None and not mode.is_bare:
        result = calls.recorder.run(op, kernel_of(op), values)
    else:
        result = kernel_of(op)(*values)
    if type(result) is tuple and len(op.schema.returns) == len(result):
        return named_results(op)(result)
    return result


def named_results(op: table.Operator) -> Any:
    """The constructor of an operator's named result tuple (`x.max(0).values`)."""
    make = _result_types.get(op.qualified_name)
    if make is None:
        names = [r.name for r in op.schema.returns]
        cls: Any = namedtuple(op.name.partition("::")[2], names) if all(names) else None
        make = tuple if cls is None else cls._make
        _result_types[op.qualified_name] = make
    return make


_result_types: dict[str, Any] = {}


class NoOverload(TypeError):
    """No overload of an operator takes the arguments of a call."""


def refusal(name: str, candidates: Any, args: Any, kwargs: Any, method: Any = False) -> str:
    given = ", ".join([*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())])
    lines = [f"{name.partition('::')[2]}({given}) fits no overload of {name}:"]
    for op in candidates:
        why = bind(op.schema, args, kwargs, method)
        if isinstance(why, str) and "out" not in op.overload:
            lines.append(f"  {op.schema}: {why}")
    return "\n".join(lines)
