"""`aot_backward`: programs whose calls are one node of the graph of derivatives.

The forward graph gives what the program gives, and what is kept; the backward graph takes this and
the gradients of the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..building import alone
from ..grad_mode import enable_grad
from ..interpreter.engine import engine as engine_named
from ..ir import Graph, Value
from ..ops.calling import functions
from ..ops.calling.current import mode
from ..ops.derivatives.api import grad
from ..ops.derivatives.nodes import FREED, Node
from ..ops.derivatives.recorder import activate
from ..ops.derivatives.saved import keep, read
from ..ops.derivatives.state import Edge, edge_of, needs, set_node
from ..passes import pipeline
from ..passes.ahead import values as V
from ..passes.ahead.joint import Joint
from ..passes.ahead.partition import Partition, partition
from ..passes.ahead.values import NotStraight
from ..passes.shapes import propagate
from ..tensors import Tensor
from .ahead import Ahead, Slot, Sources, Straight, Taped, Wrt, compiled, filler, plain, runnable
from .module import ScriptModule, wrap


@alone
def aot_backward(program: Any, wrt: Wrt = None, *, engine: str = "auto") -> AotBackward:
    """A program whose calls are recorded as one step, with derivatives made ahead of time.

    It is called as the program is, and its results go backward as others do.  program, wrt: as
    `value_and_grad` has them, but that any results are taken, and by default all arguments and
    parameters that require a gradient when a call comes.  What a call keeps for going backward is
    chosen for the fewest bytes; the rest is computed again.  Second derivatives of such a step run
    the program again and record it.
    """
    return AotBackward(compiled(program, engine), wrt, engine)


class AotBackward(Ahead):
    """What `aot_backward` gives."""

    def __init__(self, program: Any, wrt: Wrt, engine: str) -> None:
        super().__init__(program, () if wrt is None else wrt, engine)
        self.is_open = wrt is None
        self.by_sources: dict[Any, tuple[Sources, dict[Any, Any]]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self.bound(args, kwargs)
        if not mode.enabled:
            return self.by_program(values)
        made, leaves = self.found(values)
        if isinstance(made, Taped):
            return self.by_program(values)
        return made.record(self, values, leaves)

    def by_program(self, values: list[Any]) -> Any:
        engine = engine_named(self.engine)
        return wrap(engine.run(self.function, values), engine)

    def found(self, values: list[Any]) -> tuple[Any, list[Any]]:
        if not self.is_open:
            return super().found(values)
        wrt = self.asked(values)
        known = self.by_sources.get(wrt)
        if known is None:
            known = self.by_sources[wrt] = Sources(self, wrt), {}
        self.sources, self.made = known
        return super().found(values)

    def asked(self, values: list[Any]) -> tuple[int | str, ...]:
        """The arguments and parameters that require a gradient."""
        first = len(self.first)
        places = [
            i
            for i, value in enumerate(values[first:])
            if any(isinstance(t, Tensor) and needs(t) for t in V.parts(value))
        ]
        if not isinstance(self.owner, ScriptModule):
            return tuple(places)
        named = self.owner._named_tensors("parameter", "", True)
        return (*places, *(n for n, t in named if t._requires_grad))

    def straight(self, values: list[Any]) -> Parted:
        joint = self.joint(values)
        if joint.any_written:
            raise NotStraight("arguments or buffers are written")
        outputs: list[Any] = []

        def slot(part: Any) -> Any:
            if not isinstance(part, (V.Tensor, V.Unknown)):
                return part
            outputs.append(part)
            return Slot(len(outputs) - 1)

        template = V.mapped(joint.result, slot)
        active = [k for k, v in enumerate(outputs) if isinstance(v, V.Tensor) and v.active]
        parameters = [joint.places.get(id(t)) for t in self.sources.tensors()]
        present = [*self.sources.arguments(joint.arguments), *parameters]
        tangents = [joint.tangent(outputs[k]) for k in active]
        asked = [t for t in present if t is not None]
        grads = joint.gradients([outputs[k] for k in active], asked, tangents)
        found = iter(grads)
        each = [None if t is None else next(found) for t in present]
        joint.close([*outputs, *(g for g in grads if g is not None)])
        return Parted(joint, template, self, active, len(tangents), each)


class Parted(Straight):
    """A forward and a backward graph.

    active: which of what the forward graph gives has a gradient.  wanted: for each source whether
    the backward graph gives its gradient.
    """

    def __init__(
        self,
        joint: Joint,
        template: Any,
        owner: AotBackward,
        active: list[int],
        tangents: int,
        grads: Sequence[Any],
    ) -> None:
        self.joint, self.template, self.active = joint, template, active
        self.graph = joint.graph
        self.take_over()
        self.wanted = [g is not None for g in grads]
        facts_of = [joint.facts.tensor(v) for v in joint.graph.inputs[-tangents:] if tangents]
        self.tangents = [(f.shape, f.dtype) for f in facts_of]
        pipeline.optimize(self.graph)
        returned = unpacked(self.graph)
        outputs = len(returned) - sum(self.wanted)
        inputs = self.graph.inputs
        given = {v: joint.facts.get(v) for v in inputs}
        facts = {**propagate(self.graph, given), **joint.facts.facts}
        self.parts: Partition = partition(
            self.graph,
            returned[:outputs],
            inputs[len(inputs) - tangents :],
            returned[outputs:],
            facts,
        )
        name = owner.function.name
        self.forward = runnable(self.parts.forward, name, owner.engine)
        self.backward = runnable(self.parts.backward, f"{name}_backward", owner.engine)
        self.outputs = outputs
        self.fill = filler(template)

    def record(self, owner: AotBackward, values: list[Any], leaves: list[Any]) -> Any:
        """The result of a call, with its history."""
        results = self.forward(*map(plain, leaves), *self.aliases)
        outputs, kept = list(results[: self.outputs]), results[self.outputs :]
        sources = [*owner.sources.arguments(values), *owner.sources.tensors()]
        if any(map(needs, sources)):
            activate()
            node = AheadNode(self, owner, sources, values, kept)
            for number, k in enumerate(self.active):
                set_node(outputs[k], node, number)
        return self.fill(outputs)


def unpacked(graph: Graph) -> list[Value]:
    """What is in the tuple that a graph returns, which goes."""
    made = graph.outputs[0].node
    values = list(made.inputs)
    graph.block.end.remove_inputs()
    made.destroy()
    return values


class AheadNode(Node):
    """One call.  saved: what the backward graph takes; None once it was given back."""

    __slots__ = ("owner", "parts", "saved", "sources", "values")

    def __init__(
        self,
        parts: Parted,
        owner: AotBackward,
        sources: list[Tensor],
        values: list[Any],
        kept: Sequence[Any],
    ) -> None:
        edges: list[Edge | None] = [edge_of(t) for t in sources]
        super().__init__(edges, len(parts.active))
        self.parts, self.owner, self.sources, self.values = parts, owner, sources, values
        self.saved: list[Any] | None = [keep(t, False) for t in kept]

    def name(self) -> str:
        return "AheadBackward0"

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        if self.saved is None:
            raise RuntimeError(FREED)
        if mode.enabled:
            return self.recorded(grads)
        kept = [read(t, self) for t in self.saved]
        shapes = self.parts.tangents
        given = [
            plain(functions.zeros(list(size), dtype=dtype.code) if g is None else g)
            for g, (size, dtype) in zip(grads, shapes)
        ]
        found = iter(self.parts.backward(*kept, *given))
        return [next(found) if is_there else None for is_there in self.parts.wanted]

    def recorded(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """The same, as a computation that is recorded."""
        with enable_grad():
            engine = engine_named(self.owner.engine)
            result = engine.run(self.owner.function, self.values)
            outputs = [t for t in V.parts(result) if isinstance(t, Tensor) and needs(t)]
            there = [(y, g) for y, g in zip(outputs, grads) if g is not None]
            return grad(
                [y for y, _ in there],
                self.sources,
                [g for _, g in there],
                create_graph=True,
                allow_unused=True,
            )

    def release(self) -> None:
        self.saved = None
        self.values = []
