"""Differentiates the steps that an evaluator has recorded, by the rules of the operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import types as T
from ...ir import Value
from ...ops import table
from ...ops.calling import functions
from ...ops.derivatives.plans import missing_text
from ...ops.derivatives.rule_node import names_of_shapes
from ...ops.derivatives.rules import SIZE, Expression
from .values import NotStraight, Tensor, Unknown, tensors_in

if TYPE_CHECKING:
    from .evaluate import Entry, Evaluator


def differentiate(
    e: Evaluator,
    outputs: Sequence[Tensor],
    sources: Sequence[Tensor],
    given: Sequence[Tensor | None],
    creates: bool,
) -> list[Tensor | None]:
    """The gradients of outputs with respect to sources; None for a source that was not used.

    given: the gradients of the outputs; None stands for 1 and needs an output with one element.
    creates: whether the backward computation is itself recorded for derivatives (create_graph).
    """
    outer = e.records, e.is_backward, e.at
    e.records, e.is_backward = creates, True
    last = e.graph.block.end.prev
    try:
        found = Backward(e, [e.value(t) for t in sources]).run(outputs, given)
        made, node = {e.value(g) for g in given if g is not None}, last.next
        while node is not e.graph.block.end:
            made.update(node.outputs)
            node = node.next
        # Who asks for a gradient may write it: it must be no memory of an argument or of the
        # forward part, as y is the gradient of x in x * y.
        return [
            g if g is None or root_of(e.value(g)) in made else e.run("aten::clone", g)
            for g in found
        ]
    finally:
        e.records, e.is_backward, e.at = outer


def root_of(v: Value) -> Value:
    """The value that a value is a view of, as far as is known."""
    while not v.is_parameter and (schema := v.node.schema) is not None and v.node.inputs:
        if not any(schema.shared) and not table.facts_of(schema).may_share:
            break
        v = v.node.inputs[0]
    return v


class Backward:
    """grads: the accumulated gradient of each value. reached: values that depend on a source."""

    def __init__(self, e: Evaluator, sources: list[Value]) -> None:
        self.e, self.sources = e, sources
        self.grads: dict[Value, Tensor] = {}
        self.entries = list(e.entries)
        self.reached = {v for source in sources for v in self.all_of(source)}
        for entry in self.entries:
            if any(self.is_wanted(t) for t in tensors_in(entry.arguments)):
                self.reached.update(v for v in flat(entry.results) if v is not None)

    def all_of(self, source: Value) -> tuple[Value, ...]:
        """The values of a source: it had others before it was written where nothing is recorded."""
        return source, *self.e.earlier.get(source, ())

    def is_wanted(self, tensor: Tensor) -> bool:
        return tensor.active and tensor.value in self.reached

    def run(self, outputs: Sequence[Tensor], given: Sequence[Tensor | None]) -> list[Tensor | None]:
        for output, grad in zip(outputs, given, strict=True):
            value = self.e.value(output)
            if value in self.reached:
                self.add(value, self.seed(output) if grad is None else grad)
        for entry in reversed(self.entries):
            results = [v for v in flat(entry.results) if v is not None]
            if any(v in self.grads for v in results):
                self.step(entry)
        for source in self.sources:
            for v in self.all_of(source)[1:]:
                if v in self.grads:
                    self.add(source, self.grads[v])
        return [self.grads.get(v) for v in self.sources]

    def seed(self, output: Tensor) -> Tensor:
        e = self.e
        shape = e.facts.shape(e.value(output))
        if shape is None or any(n != 1 for n in shape):
            self.check_single(output)
        fact = e.facts.tensor(e.value(output))
        if fact.is_exact and fact.dtype is not None:
            made = e.known(functions.ones(list(fact.shape or ()), dtype=fact.dtype.code), T.TENSOR)
        else:
            made = e.run("aten::ones_like", output)
        e.seeds.append(e.value(made))
        return made

    def check_single(self, output: Tensor) -> None:
        """Insert a check that raises at run time if an output does not have exactly one element."""
        e = self.e
        number = e.run("aten::numel", output)
        if not isinstance(number, Unknown):
            raise NotStraight("what is differentiated is not one number")
        raise_if(e, e.run("aten::ne.int", number, 1), NOT_SINGLE)

    def add(self, value: Value, grad: Tensor) -> None:
        known = self.grads.get(value)
        self.grads[value] = (
            grad if known is None else self.e.run("aten::add.Tensor", known, grad, 1)
        )

    def step(self, entry: Entry) -> None:
        """Compute the gradients of a step's inputs."""
        arguments = entry.arguments
        if not any(self.is_wanted(t) for t in tensors_in(arguments)):
            return
        if entry.rule is None:
            raise NotStraight(missing_text(entry.operator))
        self.e.at = entry.node
        schema = entry.operator.schema
        for expression in entry.rule.gradients:
            inputs: list[Any] = [schema.index(name) for name in expression.inputs]
            needs = [any(map(self.is_wanted, tensors_in(arguments[i]))) for i in inputs]
            if not any(needs):
                continue
            self.check_unwritten(entry, expression)
            names = [self.named(name, entry, expression, needs) for name in expression.names]
            result = self.e.function(expression.compiled(), names)
            parts = result if len(inputs) > 1 else (result,)
            for i, part, need in zip(inputs, parts, needs, strict=True):
                if need and part is not None:
                    self.put(arguments[i], part)

    def check_unwritten(self, entry: Entry, expression: Expression) -> None:
        """Raise NotStraight if something that a rule needs has been written since.
        The program then runs with the tape, which raises the error that users expect."""
        rule = expression.rule
        if not any(root.writes != then for root, then in entry.memory.values()):
            return
        shapes = names_of_shapes(expression.text, rule.namespace)
        for name in expression.names:
            if name in shapes:
                continue
            at = entry.operator.schema.index(name)
            if at is not None:
                values = [t.value for t in tensors_in(entry.arguments[at])]
            elif name in rule.results:
                values = [v for v in flat([entry.results[rule.results.index(name)]]) if v]
            else:
                continue
            for v in values:
                root, then = entry.memory.get(v, (None, 0))
                if root is not None and root.writes != then:
                    raise NotStraight("what a derivative needs was written")

    def named(self, name: str, entry: Entry, expression: Expression, needs: list[bool]) -> Any:
        """The value of a name in an expression."""
        rule, e = expression.rule, self.e
        schema = entry.operator.schema
        if name in rule.grads:
            value = entry.results[rule.grads.index(name)]
            return [self.found(v) for v in value] if isinstance(value, list) else self.found(value)
        at = schema.index(name)
        if at is not None:
            return entry.arguments[at]
        if name in rule.results:
            return self.result(entry, rule.results.index(name))
        if name == "needs":
            return needs
        of = name.removesuffix(SIZE)
        at = schema.index(of)
        if at is not None:
            return size_of(e, entry.arguments[at])
        return size_of(e, self.result(entry, rule.results.index(of)))

    def result(self, entry: Entry, k: int) -> Any:
        """A result as it was computed; derivatives go through it too."""
        value = entry.results[k]
        if isinstance(value, list):
            return [Tensor(v, True) for v in value]
        if value is None:
            raise NotStraight(f"the rule of {entry.operator.qualified_name} asks for a number")
        dtype = self.e.facts.dtype(value)
        return Tensor(value, dtype is None or dtype.kind in "fc")

    def found(self, value: Value | None) -> Tensor | None:
        return None if value is None else self.grads.get(value)

    def put(self, argument: Any, grad: Any) -> None:
        """Add what an expression computed to the gradients of an argument."""
        if isinstance(argument, list):
            for t, part in zip(argument, grad, strict=True):
                if t is not None and part is not None:
                    self.put(t, part)
        elif not isinstance(grad, Tensor):
            raise NotStraight("whether there is a gradient is not known")
        elif self.is_wanted(argument):
            self.add(argument.value, self.fitted(grad, argument))

    def fitted(self, grad: Tensor, argument: Tensor) -> Tensor:
        """A gradient converted to the shape and dtype of its argument (as helpers.fitted does)."""
        e = self.e
        have, want = e.facts.tensor(e.value(grad)), e.facts.tensor(argument.value)
        if have.shape is None or have.shape != want.shape:
            size = e.run("aten::size", argument)
            grad = e.run("aten::sum_to_size", grad, size)
        if have.dtype is not None and have.dtype is want.dtype:
            return grad
        if want.dtype is not None and have.dtype is not None:
            if have.dtype.kind == "c" != want.dtype.kind:
                grad = e.run("aten::real", grad)
            return e.run("aten::to.dtype", grad, want.dtype.code)
        return e.run("aten::type_as", grad, argument)


def raise_if(e: Evaluator, condition: Unknown, text: str) -> None:
    """Insert a RuntimeError for runs in which a condition holds."""
    node = e.insert("prim::If", [condition.value], [])
    with e.graph.at(node.add_block()):
        error = e.constant("builtins.RuntimeError", T.STR)
        e.insert("prim::RaiseException", [e.constant(text, T.STR), error], [])
    node.add_block()


NOT_SINGLE = "grad can be implicitly created only for scalar outputs"


def flat(results: list[Any]) -> list[Value | None]:
    return [v for r in results for v in (r if isinstance(r, list) else [r])]


def size_of(e: Evaluator, value: Any) -> Any:
    """The value of a name such as `self_size` (see rules.size_of)."""
    if isinstance(value, (list, tuple)):
        return [size_of(e, v) for v in value]
    return [] if value is None else e.run("aten::size", value)
