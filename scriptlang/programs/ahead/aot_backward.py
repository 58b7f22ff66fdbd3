"""AotBackward: programs whose calls are recorded as one node, with derivatives made ahead of time.

The forward graph returns the results of the program and the values that are kept. The backward
graph takes these and the gradients of the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...grad_mode import enable_grad
from ...interpreter.engine import engine as engine_named
from ...interpreter.gradients import give, has_tangent
from ...ops.calling import functions
from ...ops.calling.current import mode
from ...ops.derivatives.api import grad
from ...ops.derivatives.nodes import FREED, Node
from ...ops.derivatives.recorder import activate
from ...ops.derivatives.saved import keep, read
from ...ops.derivatives.state import Edge, edge_of, needs, set_node
from ...passes import pipeline
from ...passes.ahead import values as V
from ...passes.ahead.joint import Joint
from ...passes.ahead.values import NotStraight
from ...passes.shape_facts import TensorFacts
from ...tensors import Tensor
from ..calling import wrap
from ..module import ScriptModule
from .kinds import Kinds, Taped
from .leaves import apart_from, plain
from .report import AheadReport, report_of
from .straight import Ahead, Sources, Straight, Wrt, filler, may_hand_on, runnable, templated


class AotBackward(Ahead):
    """The callable that `aot_backward` returns."""

    def __init__(self, program: Any, wrt: Wrt, engine: str) -> None:
        super().__init__(program, () if wrt is None else wrt, engine)
        self.is_open = wrt is None
        self.by_sources: dict[Any, tuple[Sources, Kinds]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self.bound(args, kwargs)
        if not mode.enabled or mode.levels and has_tangent(values, None):
            return self.by_program(values)
        made, leaves = self.found(values)
        if isinstance(made, Taped):
            return self.by_program(values)
        return made.record(self, values, leaves)

    def by_program(self, values: list[Any]) -> Any:
        engine = engine_named(self.engine)
        if mode.enabled:
            for t in self.sources.tensors():
                give(t)
        return wrap(engine.run(self.function, values), engine)

    def found(self, values: list[Any]) -> tuple[Any, list[Any]]:
        if not self.is_open:
            return super().found(values)
        wrt = self.asked(values)
        known = self.by_sources.get(wrt)
        if known is None:
            known = self.by_sources[wrt] = Sources(self, wrt), Kinds()
        self.sources, self.kinds = known
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

    def straight(self, values: list[Any], facts: list[TensorFacts]) -> Parted:
        joint = self.joint(values, facts)
        if joint.any_written:
            raise NotStraight("arguments or buffers are written")
        template, outputs = templated(joint.result)
        active = [k for k, v in enumerate(outputs) if isinstance(v, V.Tensor) and v.active]
        parameters = [joint.places.get(id(t)) for t in self.sources.tensors()]
        present = [*self.sources.arguments(joint.arguments), *parameters]
        tangents = [joint.tangent(outputs[k]) for k in active]
        asked = [t for t in present if t is not None]
        grads = joint.gradients([outputs[k] for k in active], asked, tangents)
        found = iter(grads)
        each = [None if t is None else next(found) for t in present]
        joint.close(outputs, [g for g in grads if g is not None])
        return Parted(joint, template, self, active, len(tangents), each)


class Parted(Straight):
    """A forward and a backward graph.

    active: which results of the forward graph have a gradient. wanted: for each source, whether the
    backward graph returns its gradient.
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
        pipeline.optimize(self.graph)
        inputs = self.graph.inputs
        self.outputs = joint.outputs
        self.parts = joint.parted(inputs[len(inputs) - tangents :])
        name = owner.function.name
        self.forward = runnable(self.parts.forward, name, owner.engine)
        self.backward = runnable(self.parts.backward, f"{name}_backward", owner.engine)
        self.fill = filler(template)
        self.hands_on = may_hand_on(self.forward)

    def report(self) -> AheadReport:
        return report_of(self.graph, self.parts, self.joint.facts.facts)

    def record(self, owner: AotBackward, values: list[Any], leaves: list[Any]) -> Any:
        """The result of a call, with its history recorded."""
        given = [*map(plain, leaves), *self.aliases]
        results = self.forward(*given)
        if self.hands_on:
            results = apart_from(given, results)
        outputs, kept = list(results[: self.outputs]), results[self.outputs :]
        sources = [*owner.sources.arguments(values), *owner.sources.tensors()]
        if any(map(needs, sources)):
            activate()
            node = AheadNode(self, owner, sources, values, kept)
            node.like = [(list(outputs[k]._size), outputs[k].dtype) for k in self.active]
            for number, k in enumerate(self.active):
                if outputs[k].dtype.kind in "fc":
                    set_node(outputs[k], node, number)
        return self.fill(outputs)


class AheadNode(Node):
    """The autograd node of one call.

    like: the size and dtype of each differentiable result. saved: the kept values that the backward
    graph takes; None after they were released.
    """

    __slots__ = ("like", "owner", "parts", "saved", "sources", "values")

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
        self.like: list[tuple[list[int], Any]] = []
        self.saved: list[Any] | None = [keep(t, False) for t in kept]

    def name(self) -> str:
        return "AheadBackward0"

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        if self.saved is None:
            raise RuntimeError(FREED)
        if mode.enabled:
            return self.recorded(grads)
        kept = [read(t, self) for t in self.saved]
        given = [
            plain(functions.zeros(size, dtype=dtype.code) if g is None else g)
            for g, (size, dtype) in zip(grads, self.like)
        ]
        found = iter(self.parts.backward(*kept, *given))
        return [next(found) if is_there else None for is_there in self.parts.wanted]

    def recorded(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """The gradients, computed so that they are recorded themselves (create_graph)."""
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
