"""The autograd mode of a thread: whether operators are recorded for derivatives."""

from __future__ import annotations

from ..calling.current import mode
from ..table import declare, describe, primitive

declare("aten::is_grad_enabled() -> bool", lambda: mode.enabled, "primitive")


@primitive("aten::set_grad_enabled(bool val) -> ()", effect="ordered")
def set_grad_enabled(val):
    mode.turn(val)


describe("is_grad_enabled.", effect="repeatable")
