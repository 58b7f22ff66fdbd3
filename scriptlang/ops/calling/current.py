"""What calls of operators and of programs look at, and leave: tracer, recorder, what ran last."""

from __future__ import annotations

from threading import get_ident, local
from typing import Any


class Calls:
    """What a call looks at and leaves, of operators and of programs.

    tracer: while some thread traces, an object whose `call(operator, args)` runs and records; else
    None.  `tracing` gives it to that thread alone.
    recorder: what remembers operators for derivatives (ops/derivatives), once a tensor of this
    process requires a gradient; else None.  Its `run(operator, kernel, arguments)` makes a call.
    trainable: what knows the programs whose parameters Python has been given, once there are any
    that require a gradient; else None.
    last: the `ir.Function` that was called last, if any was.
    observer: while programs are profiled or watched, an object whose `run` makes their calls; else
    None.  `observe` sets it.
    """

    __slots__ = ("last", "observer", "recorder", "thread", "tracer", "trainable")

    def __init__(self) -> None:
        self.tracer: Any = None
        self.thread = 0
        self.recorder: Any = None
        self.trainable: Any = None
        self.last: Any = None
        self.observer: Any = None

    def trace(self, tracer: Any) -> None:
        """Let a tracer make the calls of this thread; None: end that."""
        if tracer is None and self.observer is not None:
            self.observe(self.observer)
        else:
            self.thread, self.tracer = get_ident(), tracer

    def observe(self, observer: Any) -> None:
        """Let an observer make all calls of programs; None: end that.

        The tracer of no thread keeps calls off their short way, which asks for no observer."""
        self.observer = observer
        self.thread, self.tracer = 0, observer


calls = Calls()


def tracing() -> Any:
    """The tracer of this thread, or None."""
    tracer = calls.tracer
    return tracer if tracer is not None and calls.thread == get_ident() else None


class GradMode(local):
    """The mode of one thread.

    enabled: whether operators are recorded; on, until a program turns it off.
    is_quiet: whether a kernel runs, whose own calls are no concern of derivatives.
    program: the run of a program that makes the calls, if any, whose `place()` gives what tells
    where it is, when it is called.
    """

    enabled = True
    is_quiet = False
    program: Any = None


mode = GradMode()
