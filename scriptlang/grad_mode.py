"""`with no_grad():` and similar: whether computations of a thread are recorded for derivatives."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator
from threading import get_ident, local
from typing import Any, TypeVar, overload

from .ops.calling.current import calls, mode

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def is_grad_enabled() -> bool:
    """Whether computations on tensors that require a gradient are recorded."""
    return mode.enabled


def is_inference_mode_enabled() -> bool:
    """Whether what is computed here can never be part of a graph."""
    return mode.inference


F = TypeVar("F", bound=Callable[..., Any])


class _Mode:
    """A context, and a decorator of functions, in which `value` says whether to record."""

    value = False

    def __enter__(self) -> None:
        self.previous = mode.turn(self.value)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        mode.turn(self.previous)

    def again(self) -> _Mode:
        """A context of the same kind, for one call of a decorated function."""
        made = object.__new__(type(self))
        made.value = self.value
        return made

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                2,
            )
        if inspect.isgeneratorfunction(function):
            return generator_in(self, function)  # type: ignore[return-value]  # called alike

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self.again():
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]  # it is called as the function is


def generator_in(context: _Mode, function: Callable[..., Any]) -> Callable[..., Any]:
    """A generator function that runs in a mode, while what asks for its values runs in its own."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        step, given = generator.send, None
        try:
            while True:
                with context.again():
                    value = step(given)
                try:
                    step, given = generator.send, (yield value)
                except GeneratorExit:
                    with context.again():
                        generator.close()
                    raise
                except BaseException as error:
                    step, given = generator.throw, error
        except StopIteration as end:
            return end.value

    return run


class no_grad(_Mode):
    """A context in which nothing is recorded; also usable as `@no_grad` or `@no_grad()`."""

    @overload
    def __new__(cls, function: None = None) -> no_grad: ...

    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        return made if function is None else made(function)


class enable_grad(no_grad):
    """A context in which computations are recorded."""

    value = True


class Waiting:
    """The recorder from when inference mode is entered to when an operator is called.

    So running a loaded program in inference mode loads no operators. inside: the threads that have
    entered that with it.
    """

    is_waiting = True

    def __init__(self) -> None:
        self.inside: set[int] = set()

    def run(self, op: Any, kernel: Any, values: list[Any]) -> Any:
        from .ops.derivatives.recorder import activate

        activate()
        return calls.recorder.run(op, kernel, values)


class inference_mode(_Mode):
    """A context in which nothing is recorded, and what is made can never be part of a graph.

    Tensors that operators make in it (`is_inference`) cannot be saved for backward, nor written
    outside of it; views of other tensors stay what those are. `inference_mode(False)` leaves it.
    """

    @overload
    def __new__(cls, mode: bool = True) -> inference_mode: ...

    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.value = False
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.value = not mode

    def __enter__(self) -> None:
        super().__enter__()
        self.was = mode.inference
        mode.infer(not self.value)
        if not mode.inference:
            return
        recorder = calls.recorder
        if recorder is None:
            recorder = calls.recorder = Waiting()
        if isinstance(recorder, Waiting):
            recorder.inside.add(get_ident())

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        mode.infer(self.was)
        recorder = calls.recorder
        if isinstance(recorder, Waiting) and not mode.inference:
            recorder.inside.discard(get_ident())
            if not recorder.inside:
                calls.recorder = None
        super().__exit__(exc_type, exc_value, traceback)


class set_grad_enabled(_Mode):
    """Set the mode at once; used as a context, the old mode is restored at the end."""

    def __init__(self, mode_: bool) -> None:
        self.value = bool(mode_)
        self.before = mode.turn(self.value)

    def again(self) -> _Mode:
        made = no_grad()
        made.value = self.value
        return made

    def __call__(self, function: F) -> F:
        mode.turn(self.before)  # a decorator only affects the function
        return super().__call__(function)

    def __enter__(self) -> None:
        mode.turn(self.value)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        mode.turn(self.before)


class set_multithreading_enabled:
    """A context, also a call, that allows threads to a backward pass, or does not.

    It changes nothing but what `is_multithreading_enabled` says: a pass runs in the thread that
    asks for it, as no other device has threads of its own.
    """

    def __init__(self, mode: bool) -> None:
        self.previous, threads.allowed = threads.allowed, mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        threads.allowed = self.previous


class Threads(local):
    """What the thread has said."""

    allowed = True


threads = Threads()


def is_multithreading_enabled() -> bool:
    """Whether a backward pass may use threads, as `set_multithreading_enabled` says."""
    return threads.allowed
