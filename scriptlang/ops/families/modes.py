"""Whether gradients are recorded: nothing here ever records one, but programs ask and set it."""

from __future__ import annotations

import threading

from ..table import declare, describe, primitive


class GradMode(threading.local):
    """The mode of one thread: on, until a program turns it off."""

    enabled = True


mode = GradMode()


declare("aten::is_grad_enabled() -> bool", lambda: mode.enabled, "primitive")


@primitive("aten::set_grad_enabled(bool val) -> ()", effect="ordered")
def set_grad_enabled(val):
    mode.enabled = val


describe("is_grad_enabled.", effect="repeatable")
