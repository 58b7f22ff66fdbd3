"""Straight graphs of training steps: forward, backward and update in one.

`optim.training_step` gives its method `step` a `Steps`. As the result has no history, calls of it
are never recorded. Learning rates are inputs of the graph, so that schedules do not need new ones;
other options are part of it. Where there is no straight graph, the step records what it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...interpreter.gradients import STRAIGHT
from ...ir import Function
from ...passes.ahead.joint import Joint
from ...tensors import Tensor
from ..module import ScriptModule
from .inside import Inside, Straights
from .straight import Straight

CHANGING = frozenset(("lr",))
"""The numbers that may be others at each step."""


class Trained:
    """What a training step differentiates by: its own parameters, as `Sources` tells it."""

    def __init__(self, module: ScriptModule) -> None:
        self.module = module

    def tensors(self) -> list[Tensor]:
        return [t for _, t in self.module._named_tensors("parameter", "", True)]

    def arguments(self, values: Sequence[Any]) -> list[Any]:
        return []

    def watch(self, joint: Joint) -> None:
        joint.wanted = {id(t) for t in self.tensors() if t._requires_grad}
        joint.changing = CHANGING


class StepGraph(Straight):
    """The straight graph of a step, for the parameters that required a gradient then."""

    def __init__(self, trained: Trained, *args: Any) -> None:
        super().__init__(*args)
        self.flags = [(t, t._requires_grad) for t in trained.tensors()]
        self.storages = {id(storage) for _, storage, _ in self.memory}

    def holds(self) -> bool:
        return all(t._requires_grad is flag for t, flag in self.flags) and super().holds()


class StepInside(Inside):
    """The straight graphs of one `step` on one engine."""

    def __init__(self, function: Function, engine: str, module: ScriptModule) -> None:
        super().__init__(function, engine)
        self.sources = self.trained = Trained(module)

    def run(self, made: Any, leaves: list[Any]) -> Any:
        """NotImplemented for arguments that are memory of the module, which the step writes."""
        if any(type(x) is not float and id(x._storage) in made.storages for x in leaves):
            return NotImplemented
        return made.run(leaves)

    def graph_of(self, joint: Joint, template: Any) -> StepGraph:
        return StepGraph(self.trained, joint, template, self.function.name, self.engine)


class Steps(Straights):
    """A StepInside for each engine that a training step runs on."""

    is_closed = True

    def __init__(self, function: Function, module: ScriptModule) -> None:
        super().__init__(function)
        self.module = module

    def of(self, engine: str) -> Inside:
        return StepInside(self.function, engine, self.module)


def let_steps_be_straight(module: ScriptModule) -> None:
    """Let the method `step` of a training program run as straight graphs where possible."""
    function = module._type.methods["step"]
    function.attributes[STRAIGHT] = Steps(function, module)
