"""Forward mode: gives the results of calls their tangents.

While a level is open (tangents.py), `calls.recorder` is a ForwardRecorder.  If an argument has a
tangent, it makes the call with the level hidden, so that levels outside of it and the tape see it,
and then computes the tangents of the results.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import MissingOperatorError
from ...tensors import Tensor
from .. import table
from ..calling import dispatch, functions
from ..calling.current import calls, mode
from . import plans
from .forward_rules import Call, Forward, Tangents, is_floating, tensors_in
from .forward_tape import differentiated, replaced
from .recorder import Recorder
from .rules import rule_of
from .state import alias
from .tangents import EVERY, OFF, Level, give, hidden, tangent_of, top_level, write


class ForwardRecorder(Recorder):
    """The `recorder` of `ops.calling.current.calls` while a level of forward mode is open."""

    follows_tangents = True

    def run(self, op: table.Operator, kernel: Callable[..., Any], values: list[Any]) -> Any:
        if mode.is_quiet:
            return kernel(*values)
        plan = op.__dict__.get("recording") or plans.plan_for(op)
        if not mode.levels:
            return plan.run(kernel, values)
        level = top_level(tensors_in(values))
        if level is None:
            return plan.run(kernel, values)
        if level.maps:
            return level.call(op, plan, kernel, values)
        if isinstance(plan, plans.Through):
            return plan.run(kernel, values)
        step = op.__dict__.get("forward")
        if step is None or step.plan is not plan:
            step = op.__dict__["forward"] = step_of(op, plan)
        return step.run(kernel, values, level)


everywhere: set[Level] = set()
"""The levels that are open in any thread: all threads have one recorder."""

opening = threading.Lock()
"""Protects it."""


def enter(level: Level | None = None) -> Level:
    """Open a level inside of those that are open."""
    if level is None:
        level = Level(len(mode.levels))
    mode.levels = (*mode.levels, level)
    with opening:
        everywhere.add(level)
        if not isinstance(calls.recorder, ForwardRecorder):
            calls.recorder = ForwardRecorder()
            if calls.trainable is not None:  # parameters may get tangents
                calls.trainable = calls.trainable.renewed()
    return level


def leave(level: Level) -> None:
    """Close the last level: its tangents are gone."""
    assert mode.levels[-1] is level
    mode.levels = mode.levels[:-1]
    for state in list(level.holders):
        if state.tangents is not None:
            state.tangents.pop(level, None)
    with opening:
        everywhere.discard(level)
        if not everywhere:
            calls.recorder = Recorder()


@contextmanager
def entered(level: Any = None) -> Iterator[Any]:
    """A level for the time of a block, in which forward mode is on."""
    level = enter(level)
    was = mode.below
    if was == OFF:
        mode.below = EVERY
    try:
        yield level
    finally:
        mode.below = was
        leave(level)


class Step:
    """How the calls of one operator give tangents; this class is for those that have none."""

    def __init__(self, op: table.Operator, plan: Any) -> None:
        self.op, self.plan = op, plan

    def run(self, kernel: Callable[..., Any], values: list[Any], level: Level) -> Any:
        with hidden(level):
            return self.plan.run(kernel, values)


class Inside(Step):
    """Operators whose body is followed, or what the rule has instead of it."""

    def run(self, kernel: Callable[..., Any], values: list[Any], level: Level) -> Any:
        return run_body(self.op, values)


def run_body(op: table.Operator, values: Sequence[Any]) -> Any:
    """Run the body of an operator, or what the rule of its derivative has instead of it."""
    rule = rule_of(op)
    if rule is None or rule.instead is None:
        body: Any = op.kernel
        return body(*values)
    index: Any = op.schema.index
    return rule.instead.function(*(values[index(n)] for n in rule.instead.names))


class Undefined(Step):
    """Operators without a derivative."""

    def run(self, kernel: Callable[..., Any], values: list[Any], level: Level) -> Any:
        result = super().run(kernel, values, level)
        if any(map(is_floating, flat(result))):
            raise MissingOperatorError(plans.missing_text(self.op))
        return result


class Out(Step):
    """out= forms, which have no derivative."""

    def run(self, kernel: Callable[..., Any], values: list[Any], level: Level) -> Any:
        name = self.op.name.partition("::")[2]
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an "
            "out= function"
        )


class Resizing(Step):
    """Operators that resize a tensor or replace its memory."""

    def run(self, kernel: Callable[..., Any], values: list[Any], level: Level) -> Any:
        if tangent_of(values[0], level) is not None:
            raise RuntimeError("cannot resize variables that has a forward grad")
        return super().run(kernel, values, level)


class ByRule(Step):
    """Operators with a rule that write no arguments."""

    def __init__(self, op: table.Operator, plan: Any) -> None:
        super().__init__(op, plan)
        self.forward = Forward(plan.rule)

    def tangents(self, values: Sequence[Any], level: Level) -> Tangents:
        """The tangents of the arguments."""
        found: Tangents = {}
        for i in self.plan.tensors:
            if values[i] is not None:
                tangent = tangent_of(values[i], level)
                if tangent is not None:
                    found[i] = tangent
        for i in self.plan.lists:
            made = [t if t is None else tangent_of(t, level) for t in values[i] or ()]
            if any(t is not None for t in made):
                found[i] = made
        return found

    def run(self, kernel: Callable[..., Any], values: list[Any], level: Level) -> Any:
        tangents = self.tangents(values, level)
        was, mode.below = mode.below, level.depth
        try:
            result = calls.recorder.run(self.op, kernel, values)
            results = flat(result)
            if any(map(is_floating, results)):
                made = self.forward.of(Call(values, tangents, results))
                given = self.plan.objects(values)
                others = tensors_in(list(tangents.values()))
                for r, tangent in zip(results, made):
                    if tangent is not None and is_floating(r) and id(r) not in given:
                        give(r, level, tangent, others)
            return result
        finally:
            mode.below = was


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


class Writing(ByRule):
    """Operators that write arguments."""

    def run(self, kernel: Callable[..., Any], values: list[Any], level: Level) -> Any:
        targets = self.plan.targets(values)
        tangents = self.tangents(values, level)
        was, mode.below = mode.below, level.depth
        try:
            before = list(values)
            for i in self.plan.written:
                if i in self.forward.named and isinstance(values[i], Tensor):
                    before[i] = functions.clone(values[i])
            result = calls.recorder.run(self.op, kernel, values)
            others = tensors_in(list(tangents.values()))
            made = self.forward.of(Call(before, tangents, targets))
            for target, tangent in zip(targets, made):
                if is_floating(target):
                    write(target, level, tangent, others)
            return result
        finally:
            mode.below = was


class ByBase(Step):
    """In-place forms of composites: the body of the base operator, whose result is copied."""

    def run(self, kernel: Callable[..., Any], values: list[Any], level: Level) -> Any:
        target = values[0]
        base = self.op.form.base
        made = dispatch.run(base, [functions.clone(target), *values[1:]])
        if made._size != target._size:
            return super().run(kernel, values, level)  # raises the error
        return functions.copy_(target, made)


class Become(ByRule):
    """In-place views such as `x.t_()`."""

    def run(self, kernel: Callable[..., Any], values: list[Any], level: Level) -> Any:
        tangents = self.tangents(values, level)
        target = values[0]
        was, mode.below = mode.below, level.depth
        try:
            before = [alias(target), *values[1:]]
            result = calls.recorder.run(self.op, kernel, values)
            [tangent] = self.forward.of(Call(before, tangents, [target]))
            if tangent is not None:
                if target._autograd is not None and target._autograd.tangents:
                    target._autograd.tangents.pop(level, None)
                give(target, level, tangent)
            return result
        finally:
            mode.below = was


class Twice(Step):
    """Operators of users: what goes back through them is differentiated."""

    def run(self, kernel: Callable[..., Any], values: list[Any], level: Level) -> Any:
        def call(made: dict[int, Tensor]) -> Any:
            return self.plan.run(kernel, [replaced(v, made) for v in values])

        return differentiated(call, tensors_in(values), level)


def step_of(op: table.Operator, plan: Any) -> Any:
    """How the calls of an operator give tangents."""
    if not isinstance(plan, plans.Plan):
        return Twice(op, plan)
    if isinstance(plan, plans.Out):
        return Out(op, plan)
    if isinstance(plan, plans.Resizing):
        return Resizing(op, plan)
    rule = plan.rule
    form = op.form
    if rule is not None and rule.is_none:
        return Writing(op, plan) if isinstance(plan, plans.Writing) else Step(op, plan)
    base = form.base if form is not None else op
    if isinstance(plan, plans.Instead) or base.is_composite and follows_body(rule):
        if isinstance(plan, plans.InPlace):
            return ByBase(op, plan)
        if not isinstance(plan, plans.Writing):
            return Inside(op, plan)
    if rule is None:
        return Undefined(op, plan)
    if rule.instead is not None:
        return ByBase(op, plan) if isinstance(plan, plans.InPlace) else Inside(op, plan)
    if isinstance(plan, plans.Become):
        return Become(op, plan)
    if isinstance(plan, plans.Writing) and not isinstance(plan, plans.Beside):
        return Writing(op, plan)
    return ByRule(op, plan)


def follows_body(rule: Any) -> bool:
    """Whether tangents of a composite go through its body."""
    return rule is None or not rule.forward and not rule.operator.facts.pointwise


def way(op: table.Operator) -> str:
    """How tangents go through an operator: by its "rule", through its "body", by going back
    "twice" for some inputs; "none": its results have none; "" if it has no derivative."""
    rule = rule_of(op)
    base = op.form.base if op.form is not None else op
    if rule is None:
        return "body" if base.is_composite else ""
    if rule.is_none:
        return "none"
    if rule.instead is not None or base.is_composite and follows_body(rule):
        return "body"
    return Forward(rule).kind
