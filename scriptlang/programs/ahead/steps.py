"""Straight graphs of training steps: forward, backward and update in one.

`optim.training_step` gives its method `step` a `Steps`. As the result has no history, calls of it
are never recorded. Learning rates are inputs of the graph, so that schedules do not need new ones;
other options are part of it. Where there is no straight graph, the step records what it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...interpreter.gradients import STRAIGHT
from ...ir import Function, Graph
from ...objects import ScriptObject, walk
from ...ops.derivatives.state import count_write
from ...passes import inline, pipeline
from ...passes.ahead.joint import Joint
from ...tensors import Tensor
from .inside import Inside, Straights
from .kinds import Kinds
from .straight import Straight

CHANGING = frozenset(("lr",))
"""The numbers that may be others at each step."""

MOST_KINDS = 8
"""Graphs of steps take up to a second each. Loops over times are other graphs for each length."""


def read_slots(obj: ScriptObject) -> list[Any]:
    """The values of all attributes, read as a program reads them: tensors are then the same ones at
    each read."""
    return [obj.get(attribute.name) for attribute in obj.type.attributes]


class Trained:
    """What a training step differentiates by: what requires a gradient in its module."""

    tensors: list[Tensor]  # of the module, when a graph was made last
    changed: Sequence[Tensor] = ()  # those of them that steps change

    def arguments(self, values: Sequence[Any]) -> list[Any]:
        return []

    def watch(self, joint: Joint) -> None:
        module = joint.arguments[0].found
        self.tensors = [t for t in walk(module, slots_of=read_slots) if isinstance(t, Tensor)]
        self.changed = [t for t in self.tensors if t._requires_grad]
        joint.wanted = set(map(id, self.changed))
        joint.changing = CHANGING


class StepGraph(Straight):
    """The straight graph of a step, for the tensors that required a gradient then."""

    def __init__(self, tensors: Sequence[Tensor], *args: Any) -> None:
        super().__init__(*args)
        self.flags = [(t, t._requires_grad) for t in tensors]
        self.storages = {id(storage) for _, storage, *_ in self.memory}

    @property
    def looks_at_arguments(self) -> bool:
        return True

    def takes(self, leaves: Sequence[Any]) -> bool:
        """Whether no argument is memory of the module, which the step writes: as storages, since
        their addresses take longer to find."""
        if any(type(x) is not float and id(x._storage) in self.storages for x in leaves):
            return False
        looks = self.turned or self.writes is not None and self.writes.arguments
        return not looks or super().takes(leaves)


class StepInside(Inside):
    """The straight graphs of one `step` on one engine."""

    def __init__(self, function: Function, engine: str, instead: inline.Instead) -> None:
        super().__init__(function, engine)
        self.instead = instead
        self.sources = self.trained = Trained()
        self.kinds = Kinds(MOST_KINDS)

    def program_graph(self) -> Graph:
        graph = self.function.graph.copy()
        inline.run(graph, self.instead)
        pipeline.optimize(graph)
        return graph

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
        """The step also counts as a write to the parameters, as that of an optimizer does: what was
        computed from them before cannot go backward any more. So does one that is recorded."""
        made = super().call(args, kwargs)
        self.count_writes()
        return made

    def again(self, args: Sequence[Any], is_closed: bool) -> Any:
        made = super().again(args, is_closed)
        if made is not NotImplemented:
            self.count_writes()
        return made

    def count_writes(self) -> None:
        for t in self.trained.changed:
            count_write(t)

    def graph_of(self, joint: Joint, template: Any) -> StepGraph:
        return StepGraph(self.trained.tensors, joint, template, self.function.name, self.engine)


class Steps(Straights):
    """A StepInside for each engine that a training step runs on."""

    is_closed = True

    def __init__(self, function: Function, instead: inline.Instead) -> None:
        super().__init__(function)
        self.instead = instead

    def of(self, engine: str) -> Inside:
        return StepInside(self.function, engine, self.instead)


def let_steps_be_straight(step: Function, instead: inline.Instead) -> None:
    """Let the method `step` of a training program run as straight graphs where possible.

    instead: gives the function that is run for one that the step calls.
    """
    step.attributes[STRAIGHT] = Steps(step, instead)
