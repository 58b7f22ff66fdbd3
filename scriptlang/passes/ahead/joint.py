"""One straight graph for a program and its derivatives, for given shapes and dtypes."""

from __future__ import annotations

import builtins
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
from .values import Module, NotStraight, Tensor, Unknown, mapped, parts


class Joint(Evaluator):
    """The straight graph of a call.

    leaves: the tensors and floats among the arguments; they are the first inputs of the graph.
    lifted: (object, attribute, value) of the tensors that are read from objects, and of floats
    whose attributes are `changing`; they are the inputs after the leaves. Of a tensor in a
    container, it is (container, index or key, tensor). again: further places that hold a tensor of
    `lifted`. containers: attributes whose containers hold tensors. objects: (object, attribute,
    object in it) of those that are read. wanted: the ids of those tensors
    that gradients are wanted for.
    result: the result of the program. outputs: how many of the graph's results belong to it.
    """

    def __init__(self, program: Graph, arguments: Sequence[Any], facts: Sequence[Any]) -> None:
        """arguments: run-time values. facts: the facts of each tensor among them, in order."""
        super().__init__(Graph(program.name))
        self.lifted: list[tuple[Any, Any, Any]] = []
        self.changing: frozenset[str] = frozenset()
        self.again: list[tuple[Any, Any, int]] = []
        self.containers: list[tuple[ScriptObject, str, Any]] = []
        self.objects: list[tuple[ScriptObject, str, ScriptObject]] = []
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
            key = id(owner.found), name
            if key not in self.attributes:
                self.objects.append((owner.found, name, found))
                self.attributes[key] = Module(None, found)  # type: ignore[arg-type]
            return self.attributes[key]
        if isinstance(found, Constant):
            return self.held(owner.found, name, found)
        if name in self.changing and builtins.type(found) is float:
            return self.number(owner.found, name, found)
        if has_tensors(found):
            key = id(owner.found), name
            if key not in self.attributes:
                self.containers.append((owner.found, name, found))
                self.attributes[key] = self.lasts(self.parts(found))
            return self.attributes[key]
        return super().attribute(owner, name, type)

    def parts(self, container: Any) -> Any:
        """A container of an object, such as the list of the weights of recurrent layers."""
        if isinstance(container, dict):
            return {key: self.part(container, key, part) for key, part in container.items()}
        made = [self.part(container, i, part) for i, part in enumerate(container)]
        return made if isinstance(container, list) else tuple(made)

    def part(self, container: Any, key: Any, part: Any) -> Any:
        if isinstance(part, Constant):
            return self.held(container, key, part)
        return self.parts(part) if has_tensors(part) else part

    def held(self, owner: Any, name: Any, found: Constant) -> Tensor:
        """The input for a tensor of an object, or of a container in one."""
        known = self.places.get(id(found))
        if known is None:
            v = self.graph.block.add_parameter(T.TENSOR, name if isinstance(name, str) else "")
            known = self.places[id(found)] = self.tensor(v, found)
            known.active = id(found) in self.wanted
            self.lifted.append((owner, name, found))
        elif all(o is not owner or n != name for o, n, _ in self.lifted):
            at = next(i for i, (_, _, t) in enumerate(self.lifted) if t is found)
            if all(o is not owner or n != name for o, n, _ in self.again):
                self.again.append((owner, name, at))
        return known

    def left_out(self, tensors: Sequence[Tensor]) -> set[int]:
        ids = set(map(id, tensors))
        held = [t for _, _, t in self.lifted if id(self.places.get(id(t))) in ids]
        return {id(t) for t in held if t._requires_grad} - self.wanted

    def number(self, owner: ScriptObject, name: str, found: float) -> Unknown:
        """An attribute that may have another value at the next call: an input of the graph."""
        key = id(owner), name
        if key not in self.attributes:
            v = self.graph.block.add_parameter(T.FLOAT, name)
            self.facts.put(v, self.facts.get(v))
            self.attributes[key] = Unknown(v)
            self.lifted.append((owner, name, found))
        made: Unknown = self.attributes[key]
        return made

    def written_tensors(self) -> list[Constant]:
        """The tensors of objects that the program writes."""
        written = {id(t) for t, _ in self.outside if t.writes}
        return [held for _, _, held in self.lifted if id(self.places.get(id(held))) in written]

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


def has_tensors(value: Any) -> bool:
    """Whether a value is a container with a tensor in it."""
    return isinstance(value, (list, tuple, dict)) and any(
        isinstance(part, Constant) for part in parts(value)
    )


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
