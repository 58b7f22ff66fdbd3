"""Makes the calls of operators once some tensor requires a gradient.

Each operator has a Plan, made on its first call: it depends on the operator's schema, its rule and
which form it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..calling.current import calls, mode, recipes
from ..table import Operator
from . import inference
from .plans import Out, Writing, plan_of


class Recorder:
    """The `recorder` of `ops.calling.current.calls`."""

    def run(self, op: Operator, kernel: Callable[..., Any], values: list[Any]) -> Any:
        """Run an operator's kernel and record the call.  Raises what either of them raises."""
        if mode.is_quiet:
            return kernel(*values)
        plan = op.__dict__.get("recording")
        if plan is None:
            plan = op.__dict__["recording"] = plan_of(op)
        if mode.inference and mode.program is None:
            return inference.run(op, kernel, plan, values)
        if isinstance(plan, Writing):
            targets = plan.targets(values)
            if not isinstance(plan, Out):
                inference.check_writes(targets)
            if mode.mutations is not None:
                for tensor in targets:
                    mode.mutations.before_write(tensor)
        return plan.run(kernel, values)


def activate() -> None:
    """Start recording: a tensor requires a gradient."""
    if not recipes:
        from .recipes import use

        use()
    if calls.recorder is None or getattr(calls.recorder, "is_waiting", False):
        calls.recorder = Recorder()
