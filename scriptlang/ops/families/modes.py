"""Whether what a thread computes is recorded for derivatives (ops/derivatives)."""

from __future__ import annotations

import threading

from ..table import declare, describe, primitive


class GradMode(threading.local):
    """The mode of one thread.

    enabled: whether operators are recorded; on, until a program turns it off.
    is_quiet: whether a kernel runs, whose own calls are no concern of derivatives.
    """

    enabled = True
    is_quiet = False


mode = GradMode()


declare("aten::is_grad_enabled() -> bool", lambda: mode.enabled, "primitive")


@primitive("aten::set_grad_enabled(bool val) -> ()", effect="ordered")
def set_grad_enabled(val):
    mode.enabled = val


describe("is_grad_enabled.", effect="repeatable")
