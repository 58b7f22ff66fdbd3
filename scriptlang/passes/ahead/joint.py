"""One straight graph for a program and its derivatives, for given shapes and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import types as T
from ...ir import Graph, Value
from ...objects import ScriptObject
from ...tensors import Tensor as Constant
from ..shape_facts import TensorFacts
from ..shapes import propagate
from . import writes
from .backward import differentiate
from .evaluate import Evaluator
from .partition import Partition, give, partition
from .values import Module, NotStraight, Tensor, Unknown, mapped


class Joint(Evaluator):
    """The straight graph of a call.

    leaves: the tensors and floats among the arguments; they are the first inputs of the graph.
    lifted: (object, attribute, tensor) of the tensors that are read from objects; they are the
    inputs after the leaves. again: further attributes that hold a tensor of `lifted`.
    wanted: the ids of those tensors that gradients are wanted for.
    result: the result of the program. outputs: how many of the graph's results belong to it.
    """

    def __init__(self, program: Graph, arguments: Sequence[Any], facts: Sequence[Any]) -> None:
        """arguments: run-time values. facts: the facts of each tensor among them, in order."""
        super().__init__(Graph(program.name))
        self.lifted: list[tuple[ScriptObject, str, Constant]] = []
        self.again: list[tuple[ScriptObject, str, int]] = []
        self.places: dict[int, Tensor] = {}
        self.leaves: list[Any] = []
        self.wanted: set[int] = set()
        self.given = iter(facts)
        self.arguments = [
            self.argument(value, v.name) for value, v in zip(arguments, program.inputs, strict=True)
        ]
        self.program = program

    def argument(self, value: Any, name: str) -> Any:
        """An argument in the evaluator's representation."""
        if isinstance(value, ScriptObject):
            return Module(None, value)  # type: ignore[arg-type]  # no node ever takes it
        if isinstance(value, Constant):
            v = self.graph.block.add_parameter(T.TENSOR, name)
            made = self.tensor(v)
            self.facts.put(v, next(self.given))
            self.leaves.append(made)
            return made
        if type(value) is float:
            v = self.graph.block.add_parameter(T.FLOAT, name)
            self.facts.put(v, self.facts.get(v))
            made_float = Unknown(v)
            self.leaves.append(made_float)
            return made_float
        if isinstance(value, (list, tuple, dict)):
            return mapped(value, lambda part: self.argument(part, name))
        return value

    def attribute(self, owner: Any, name: str, type: T.Type) -> Any:
        """Make tensors of objects inputs of the graph; a tensor held in two places is one input."""
        found = owner.found.get(name) if isinstance(owner, Module) else None
        if isinstance(found, ScriptObject):
            return Module(None, found)  # type: ignore[arg-type]
        if not isinstance(found, Constant):
            return super().attribute(owner, name, type)
        known = self.places.get(id(found))
        if known is None:
            v = self.graph.block.add_parameter(T.TENSOR, name)
            known = self.places[id(found)] = self.tensor(v, found)
            known.active = id(found) in self.wanted
            self.lifted.append((owner.found, name, found))
        elif all((o, n) != (owner.found, name) for o, n, _ in self.lifted):
            at = next(i for i, (_, _, t) in enumerate(self.lifted) if t is found)
            if (owner.found, name, at) not in self.again:
                self.again.append((owner.found, name, at))
        return known

    def run_program(self) -> Any:
        """Build the graph of the program itself."""
        found = self.call(self.program, self.arguments)
        self.result = found[0] if len(found) == 1 else tuple(found)
        return self.result

    @property
    def any_written(self) -> bool:
        """Whether memory that others hold is written."""
        return any(t.writes for t, _ in self.outside)

    def tangent(self, output: Tensor) -> Tensor:
        """Add an input for the gradient of a result."""
        v = self.graph.block.add_parameter(T.TENSOR, "grad")
        made = self.tensor(v)
        self.facts.put(v, self.facts.get(self.value(output)))
        return made

    def gradients(
        self, outputs: Sequence[Tensor], sources: Sequence[Tensor], given: Sequence[Tensor | None]
    ) -> list[Tensor | None]:
        return differentiate(self, outputs, sources, given, creates=False)

    def own(self, result: Tensor | Unknown) -> Tensor | Unknown:
        """A result that the caller may write: constants of the graph and their views are cloned."""
        if not isinstance(result, Tensor):
            return result
        v = self.value(result)
        while v.node.schema is not None and any(v.node.schema.shared) and v.node.inputs:
            v = v.node.inputs[0]
        return self.run("aten::clone", result) if v.is_constant else result

    def parted(self, tangents: Sequence[Value]) -> Partition:
        """Split the graph, which has been closed and optimised, into its parts.

        tangents: the inputs that the backward part starts from.
        """
        returned = unpacked(self.graph)
        inputs = {v: self.facts.get(v) for v in self.graph.inputs}
        facts = {**propagate(self.graph, inputs), **self.facts.facts}
        first = self.outputs
        return partition(self.graph, returned[:first], tangents, returned[first:], facts)

    def close(self, results: Sequence[Tensor | Unknown], grads: Sequence[Tensor] = ()) -> None:
        """Let the graph return these values, in a tuple."""
        writes.finish(self)
        self.outputs = len(results)
        results = [self.own(r) for r in (*results, *grads)]
        give(self.graph, [self.value(r) if isinstance(r, Tensor) else r.value for r in results])


def unpacked(graph: Graph) -> list[Value]:
    """Return the elements of the tuple that a graph returns, and remove the tuple."""
    made = graph.outputs[0].node
    values = list(made.inputs)
    graph.block.end.remove_inputs()
    made.destroy()
    return values


def check_scalar(joint: Joint, output: Any) -> None:
    """Raise NotStraight unless an output is known to have one floating-point element."""
    if not isinstance(output, Tensor):
        raise NotStraight("what is differentiated is no tensor")
    fact: TensorFacts = joint.facts.tensor(joint.value(output))
    if fact.shape is None or any(n != 1 for n in fact.shape):
        raise NotStraight("what is differentiated is not known to be one number")
