"""Makes the calls of operators once something requires a gradient.

Each operator has a Plan, made when it is first called: how its calls are recorded follows from its
schema, its rule and what it is a form of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..calling.current import calls, mode
from ..table import Operator
from .plans import plan_of


class Recorder:
    """The `recorder` of `ops.calling.current.calls`."""

    def run(self, op: Operator, kernel: Callable[..., Any], values: list[Any]) -> Any:
        """The result of a kernel of an operator.  Raises what the kernel and the tape raise."""
        if mode.is_quiet:
            return kernel(*values)
        plan = op.__dict__.get("recording")
        if plan is None:
            plan = op.__dict__["recording"] = plan_of(op)
        return plan.run(kernel, values)


def activate() -> None:
    """Record from now on: something requires a gradient."""
    if calls.recorder is None:
        calls.recorder = Recorder()
