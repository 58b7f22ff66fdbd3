"""The derivative of one operator's results in the direction of tangents of its arguments.

What each input adds follows from the lines of the operator's rule (rules.py).  For inputs without
one, the gradient, which is linear in that of the result, is differentiated once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import MissingOperatorError
from ...tensors import Tensor
from .. import table
from ..calling import dispatch, functions
from ..calling.current import mode
from . import helpers
from .api import grad as gradients
from .rule_node import Reading
from .rules import Expression, Rule, size_of
from .state import needs, required
from .tangents import fitted

Tangents = dict[int, Any]
"""Argument -> its tangent; for a list of tensors the list of theirs, None for zero."""

Parts = list[Tensor | None]
"""What is added to the tangents of the results; those of a list stand one by one."""


class Call:
    """A call whose derivative is wanted.

    values: its arguments, as they were before it.  results: the tensors that it gave; for an
    operator that gives a list, those in the list.
    """

    __slots__ = ("results", "tangents", "values")

    def __init__(self, values: Sequence[Any], tangents: Tangents, results: Sequence[Any]) -> None:
        self.values, self.tangents, self.results = values, tangents, results

    def of(self, argument: int) -> Any:
        """The tangent of an argument, with zeros where there is none."""
        value, tangent = self.values[argument], self.tangents.get(argument)
        if isinstance(value, (list, tuple)):
            parts = tangent or [None] * len(value)
            return [v if v is None else or_zeros(v, t) for v, t in zip(value, parts)]
        return None if value is None else or_zeros(value, tangent)

    def first(self) -> Any:
        """The first of the results that may have a tangent."""
        return next(r for r in self.results if is_floating(r))


def or_zeros(value: Tensor, tangent: Tensor | None) -> Tensor:
    return functions.zeros_like(value) if tangent is None else tangent


def is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.kind in "fc"


class Forward:
    """The derivative of an operator with a rule.

    lines: for some inputs each, a function of the call that returns what they add.
    readings: the expressions of the gradients of all other inputs.
    names_before: whether an argument that is written has to be there as it was before.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule, self.op = rule, rule.operator
        self.readings = [Reading(e, rule) for e in rule.gradients]
        self.lines: list[tuple[list[int], Callable[[Call], Any]]] = []
        self.named: set[int] = set()
        schema = self.op.schema
        told = rule.forward
        if not told and self.op.facts.pointwise:
            told = [(e.inputs, "pointwise") for e in rule.gradients if len(e.inputs) == 1]
        for names, how in told:
            inputs = [schema.index(name) for name in names]
            self.lines.append((inputs, self.function(inputs, how)))
        covered = {i for inputs, _ in self.lines for i in inputs}
        self.readings = [r for r in self.readings if not covered.issuperset(r.inputs)]
        for reading in self.readings:
            self.note(reading)

    @property
    def kind(self) -> str:
        """How the derivative is found: by "rule" for all inputs, or "twice" back for some."""
        return "twice" if self.readings else "rule"

    def function(self, inputs: list[int], how: str | Expression) -> Callable[[Call], Any]:
        schema = self.op.schema
        if isinstance(how, Expression):
            reading = Reading(how, self.rule)
            self.note(reading)
            return lambda call: evaluate(reading, call)
        if how == "linear":
            if len(inputs) < len(self.rule.gradients):  # the other ones stay as they are
                self.named.update(range(len(schema.arguments)))
            return lambda call: applied(self.op, inputs, call)
        if how == "unknown":
            name = self.op.qualified_name.removeprefix("aten::")
            raise_missing = MissingOperatorError(
                f"Trying to use forward AD with {name} that does not support it because "
                "it has not been implemented yet: its derivative for "
                f"{', '.join(schema.arguments[i].name for i in inputs)} is not known."
            )

            def refuse(call: Call) -> Any:
                raise raise_missing

            return refuse
        reading = next(r for r in self.readings if r.inputs == inputs)
        self.note(reading)
        if how == "pointwise":
            return lambda call: pointwise(reading, inputs[0], call)
        dim, keepdim = schema.index("dim"), schema.index("keepdim")
        return lambda call: reduced(reading, inputs[0], call, dim, keepdim)

    def note(self, reading: Reading) -> None:
        self.named |= {n for kind, n, is_shape in reading.names if kind == "argument"}

    def of(self, call: Call) -> Parts:
        """The tangents of the results of a call; None for zero."""
        total: Parts = [None] * len(call.results)
        tangents = call.tangents
        for inputs, function in self.lines:
            if any(i in tangents for i in inputs):
                add(total, function(call))
        readings = [r for r in self.readings if any(i in tangents for i in r.inputs)]
        if readings:
            add(total, twice(readings, call))
        return total


def add(total: Parts, made: Any) -> None:
    parts = made if isinstance(made, (list, tuple)) else (made,)
    for k, part in enumerate(parts[: len(total)]):
        if part is not None:
            known = total[k]
            total[k] = part if known is None else functions.add(known, part)


def evaluate(reading: Reading, call: Call, grads: Any = None) -> Any:
    """The value of an expression; grads: what stands for the gradients of the results."""
    values = []
    for kind, number, _ in reading.names:
        if kind == "tangent":
            values.append(call.of(number))
        elif kind == "argument":
            values.append(call.values[number])
        elif kind == "size":
            values.append(size_of(call.values[number]))
        elif kind == "grad":
            values.append(grads[number])
        elif kind == "needs":
            values.append([i in call.tangents for i in reading.inputs])
        else:
            listed = reading.gives_list
            result = list(call.results) if listed else call.results[number]
            values.append(size_of(result) if kind == "size of result" else result)
    return reading.expression.function(*values)


def applied(op: table.Operator, inputs: list[int], call: Call) -> Any:
    """A linear operator on the tangents of inputs."""
    given = list(call.values)
    for i in inputs:
        given[i] = call.of(i)
    for i, _ in op.schema.written:
        given[i] = functions.clone(given[i])
    return dispatch.run(op, given)


def pointwise(reading: Reading, argument: int, call: Call) -> Tensor | None:
    """The derivative of an operator whose elements each depend on one element of the argument.

    With real numbers that is what its gradient would be if the tangent were the gradient of the
    result.
    """
    x, y = call.values[argument], call.first()
    if x.dtype.kind != "c" and y.dtype.kind != "c":
        return evaluate(reading, call, [fitted(call.tangents[argument], y)])
    return by_slopes(reading, argument, call)


def by_slopes(reading: Reading, argument: int, call: Call) -> Tensor | None:
    """The tangent times the slopes, which are the gradients of the sum of the result.

    With complex numbers the gradients of both parts of the result are asked for: x -> y with the
    real derivative [[a, b], [c, d]] has the gradients a + bi of Re y and c + di of Im y.
    """
    x, y, tangent = call.values[argument], call.first(), call.tangents[argument]
    parts = []
    for unit in (1, 1j) if y.dtype.kind == "c" else (1,):
        slope = evaluate(reading, call, [functions.full_like(y, unit)])
        if slope is None:
            return None
        if x.dtype.kind == "c":
            parts.append(functions.real(functions.conj(slope) * tangent))
        else:
            slope = functions.real(slope) if slope.dtype.kind == "c" else slope
            parts.append(slope * tangent)
    return parts[0] if len(parts) == 1 else functions.complex(*parts)


def reduced(
    reading: Reading, argument: int, call: Call, dim: int | None, keepdim: int | None
) -> Tensor | None:
    """The derivative of an operator that makes one number of those along some dimensions.

    dim, keepdim: the arguments with these names, if there are any.
    """
    made = by_slopes(reading, argument, call)
    if made is None:
        return None
    along = None if dim is None else call.values[dim]
    dims = helpers.listed(list(made._size), [along] if isinstance(along, int) else along)
    if dims:
        made = functions.sum(made, dims, keepdim is not None and call.values[keepdim])
    y = call.first()
    return made if made._size == y._size else functions.reshape(made, list(y._size))


def twice(readings: list[Reading], call: Call) -> Parts:
    """Differentiate gradients, which are linear in those of the results, by these: that is the
    derivative forward."""
    was = mode.turn(True)
    try:
        weights = [
            required(functions.ones_like(r)) if is_floating(r) else None for r in call.results
        ]
        outputs: list[Tensor] = []
        given: list[Tensor] = []
        for reading in readings:
            made = evaluate(reading, call, [weights] if reading.gives_list else weights)
            parts = made if len(reading.inputs) > 1 else (made,)
            for argument, part in zip(reading.inputs, parts):
                collect(call, argument, part, outputs, given)
        wanted = [w for w in weights if w is not None]
        if not outputs:
            return [None] * len(weights)
        records = was and any(map(needs, (*tensors_in(call.values), *given)))
        found = iter(gradients(outputs, wanted, given, create_graph=records, allow_unused=True))
        return [None if w is None else next(found) for w in weights]
    finally:
        mode.turn(was)


def collect(
    call: Call, argument: int, made: Any, outputs: list[Tensor], given: list[Tensor]
) -> None:
    """Add a gradient of an argument to the outputs, if it depends on those of the results."""
    tangents = call.tangents.get(argument)
    if tangents is None or made is None:
        return
    values = call.values[argument]
    if isinstance(values, Tensor):
        values, tangents, made = [values], [tangents], [made]
    for value, tangent, part in zip(values, tangents, made):
        if tangent is not None and part is not None and needs(part):
            size = list(value._size)
            outputs.append(helpers.fitted(part, size, value.dtype.code, value.dtype.kind == "c"))
            given.append(tangent)


def tensors_in(values: Sequence[Any]) -> list[Tensor]:
    found = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [v for v in value if isinstance(v, Tensor)]
    return found
