"""State that calls of operators and programs read and set: tracer, recorder, last function."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident, local
from typing import Any
from weakref import WeakValueDictionary

from ... import dtypes


class Calls:
    """State that calls of operators and programs read and set.

    tracer: while some thread traces, an object whose `call(operator, args)` runs and records; else
    None, or what keeps calls off the fast path (`end_trace`).  `tracing` returns it on that thread
    only.
    recorder: records operators for derivatives (ops/derivatives), once a tensor of this process
    requires a gradient; else None.  Its `run(operator, kernel, arguments)` makes a call.
    trainable: knows the programs whose parameters have been handed to Python, once some of them
    require a gradient; else None.
    last: the `ir.Function` that was called last, if any.
    observer: while programs are profiled or watched, an object whose `run` makes their calls; else
    None.  `observe` sets it.
    eager: once the native engine is loaded, its table of calls of operators (kernels.py); else
    None.
    """

    __slots__ = ("eager", "last", "observer", "recorder", "thread", "tracer", "trainable")

    def __init__(self) -> None:
        self.tracer: Any = None
        self.thread = 0
        self.recorder: Any = None
        self.trainable: Any = None
        self.last: Any = None
        self.observer: Any = None
        self.eager: Any = None

    def trace(self, tracer: Any) -> None:
        """Let a tracer make the calls of this thread; None ends tracing."""
        if tracer is None:
            self.end_trace()
        else:
            self.thread, self.tracer = get_ident(), tracer

    def observe(self, observer: Any) -> None:
        """Let an observer make all calls of programs; None ends that."""
        self.observer = observer
        self.end_trace()

    def end_trace(self) -> None:
        """Set the tracer for the time in which no thread traces.

        Calls with a tracer set do not take the fast path, which looks neither for an observer nor
        for the default dtype. So where they have to be looked for, there is a tracer of thread 0,
        which is no thread.
        """
        is_usual = dtypes.get_default_dtype() is dtypes.float32
        self.thread, self.tracer = 0, self.observer  # which may be empty, and so false
        if self.tracer is None and not is_usual:
            self.tracer = self

    def take_default(self) -> None:
        """Note that the default dtype was set."""
        if not self.thread:
            self.end_trace()


calls = Calls()
dtypes.on_default.append(calls.take_default)


def tracing() -> Any:
    """The tracer of this thread, or None."""
    tracer = calls.tracer
    return tracer if tracer is not None and calls.thread == get_ident() else None


class GradMode(local):
    """The autograd mode, which is thread-local.

    enabled: whether operators are recorded; on until a program turns it off; set by `turn`, which
    also tells the native engine, once that is loaded. is_quiet: whether a kernel is running: its
    own calls of operators are not recorded. program: the run of a program that makes the calls,
    if any; its `place()` returns a function that tells the source position at that time. levels:
    those of forward mode that are open, the outermost first (derivatives/tangents.py). below: so
    many of them may be seen.
    hooks: pairs (pack, unpack) of users for what nodes save, of which the last one counts;
    refusal: why there may be none, or None. walk: the backward pass that is running. anomaly:
    None, or whether to look for NaN, while calls note where they were made
    (autograd.detect_anomaly). mutations: copies what is saved before it is written
    (derivatives/mutation.py), or None. inference: whether what is made can never be part of a
    graph (inference_mode). numpy_only: whether calls run numpy's kernels alone (kernels.py).
    is_bare: whether the rule of a derivative makes them, which is not recorded: nothing is noted.
    transforms: so many transforms of scriptlang.func run the caller, which
    may not do there what PyTorch refuses.
    """

    enabled = True
    is_quiet = False
    program: Any = None
    levels: tuple[Any, ...] = ()
    below = 1 << 30  # tangents.EVERY
    hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = ()
    refusal: str | None = None
    walk: Any = None
    anomaly: bool | None = None
    mutations: Any = None
    inference = False
    numpy_only = False
    is_bare = False
    transforms = 0

    def turn(self, on: bool) -> bool:
        """Set whether operators are recorded; return whether they were before."""
        was, self.enabled = self.enabled, on
        if engine:
            engine[0].set_grad_enabled(on)
        return was

    def enter(self, program: Any) -> Any:
        """Set the run of a program that makes the calls; return the one before."""
        was, self.program = self.program, program
        self.tell()
        return was

    def infer(self, on: bool) -> None:
        """Set whether the thread is in inference mode."""
        self.inference = on
        self.tell()

    def save_by(self, hooks: tuple[Any, ...]) -> None:
        """Set the pairs of functions of users for what nodes save."""
        self.hooks = hooks
        self.tell()

    def look_for(self, anomaly: bool | None) -> None:
        """Set whether anomalies are looked for."""
        self.anomaly = anomaly
        self.tell()

    def tell(self) -> None:
        """Tell the native engine what calls of operators by this thread are for."""
        if engine:
            is_off = self.program is not None or self.numpy_only
            is_followed = bool(self.hooks) or self.anomaly is not None
            engine[0].set_eager_mode(is_off, self.inference, self.is_bare, is_followed)


engine: list[Any] = []
"""The native engine's extension module, once it is loaded."""

recipes: list[Callable[[Any], Any]] = []
"""The function that says how calls of an Operator are recorded, once something is: by the native
engine's Recipe, or by the body that calls recorded operators."""

marks: list[Callable[[Any], Any]] = []
"""The function that makes a tensor one of inference mode, once that was entered."""

shown: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""By their ids, the tensors that stand for one in an object of the native engine: Python got them
from it, or it has taken them over."""


handed: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""By their ids, the tensors of programs that Python got while they required no gradient."""


def note_moved(tensor: Any) -> None:
    """Note that a tensor has got other memory or another shape."""
    if shown.get(id(tensor)) is tensor:
        if engine:
            engine[0].follow(tensor)


mode = GradMode()
