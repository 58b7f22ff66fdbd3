"""Straight graphs for optimised programs that compute gradients themselves, such as forces.

`optimize` gives such functions a `Straights`, which engines ask before they record anything
(`interpreter/gradients.py`). If nothing else in a call requires a gradient, the straight graph for
its kind of arguments runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...interpreter.arguments import bind
from ...interpreter.gradients import STRAIGHT, has_gradient
from ...ir import Function
from ...passes.ahead.joint import Joint
from ...passes.ahead.values import NotFollowed
from ...passes.shape_facts import TensorFacts
from .kinds import Kinds, Taped
from .straight import Ahead, Straight, templated


class Inside(Ahead):
    """The straight graphs of one function on one engine."""

    def __init__(self, function: Function, engine: str) -> None:
        self.function, self.schema, self.budget = function, function.schema, function.budget
        self.engine, self.first = engine, ()
        self.sources: Any = None
        self.kinds = Kinds()
        self.last = self.quick = None

    def joint(self, values: list[Any], facts: list[TensorFacts]) -> Joint:
        """The graph of the program, which follows the parameters that it asks for gradients by."""
        while True:
            try:
                return super().joint(values, facts)
            except NotFollowed as found:
                if self.sources is not None and not isinstance(self.sources, Followed):
                    raise
                self.sources = Followed(self.sources, found.tensors)

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
        """The result of a call; NotImplemented if the call has to be recorded."""
        quick = self.quick
        if quick is not None and len(args) == quick.arity and not kwargs:
            result = quick.call(*args)
            if result is not NotImplemented:
                return result
        values = bind(self.schema, args, kwargs)
        made, leaves = self.found(values)
        if isinstance(made, Taped):
            return NotImplemented
        self.remember(args, values, made)
        return self.run(made, leaves)

    def again(self, args: Sequence[Any], is_closed: bool) -> Any:
        """The result of a call like the last one, as users see it; else NotImplemented."""
        quick = self.quick
        if quick is None or len(args) != quick.arity or not quick.is_plain:
            return NotImplemented
        if not is_closed and any(map(has_gradient, args)):
            return NotImplemented
        return quick.call(*args)

    def run(self, made: Straight, leaves: list[Any]) -> Any:
        return made.run(leaves) if made.takes(leaves) else NotImplemented

    def straight(self, values: list[Any], facts: list[TensorFacts]) -> Straight:
        joint = self.joint(values, facts)
        template, outputs = templated(joint.result)
        joint.close(outputs)
        return self.graph_of(joint, template)

    def graph_of(self, joint: Joint, template: Any) -> Straight:
        made = Straight(joint, template, self.function.name, self.engine)
        made.flags = [(t, True) for _, _, t in joint.lifted if id(t) in joint.wanted]
        return made


class Followed:
    """The parameters that a program asks for gradients by, by their ids."""

    def __init__(self, before: Followed | None, tensors: set[int]) -> None:
        self.tensors: set[int] = tensors if before is None else before.tensors | tensors

    def arguments(self, values: Sequence[Any]) -> list[Any]:
        return []

    def watch(self, joint: Joint) -> None:
        joint.wanted = set(self.tensors)


class Straights:
    """An Inside for each engine that one function runs on.

    is_closed: whether its results have no history, whoever wants gradients of what it is given.
    """

    is_closed = False

    def __init__(self, function: Function) -> None:
        self.function = function
        self.by_engine: dict[str, Inside] = {}
        self.latest: Inside | None = None  # that ran last

    def of(self, engine: str) -> Inside:
        return Inside(self.function, engine)

    def __call__(self, engine: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
        inside = self.by_engine.get(engine)
        if inside is None:
            inside = self.by_engine[engine] = self.of(engine)
        self.latest = inside
        return inside.call(args, kwargs)

    def again(self, args: Sequence[Any]) -> Any:
        """The result of a call like the last one on the engine that it ran on, as users see it;
        NotImplemented if it is not like that."""
        inside = self.latest
        return NotImplemented if inside is None else inside.again(args, self.is_closed)


def let_be_straight(functions: Iterable[Function]) -> None:
    """Let functions that ask for gradients run as straight graphs if possible."""
    for function in functions:
        if any(node.kind == "aten::grad" for node in function.graph.walk()):
            function.attributes[STRAIGHT] = Straights(function)
