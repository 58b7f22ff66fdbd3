"""`with no_grad():` and similar: whether computations of a thread are recorded for derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

from .ops.calling.current import mode

__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "no_grad", "set_grad_enabled"]


def is_grad_enabled() -> bool:
    """Whether computations on tensors that require a gradient are recorded."""
    return mode.enabled


F = TypeVar("F", bound=Callable[..., Any])


class _Mode:
    """A context, and a decorator of functions, in which `value` says whether to record."""

    value = False

    def __enter__(self) -> None:
        self.previous = mode.turn(self.value)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        mode.turn(self.previous)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            previous = mode.turn(self.value)
            try:
                return function(*args, **kwargs)
            finally:
                mode.turn(previous)

        return run  # type: ignore[return-value]  # it is called as the function is


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


class inference_mode(_Mode):
    """A context in which nothing is recorded; `inference_mode(False)` changes nothing."""

    def __init__(self, mode: bool = True) -> None:
        self.value = not mode and is_grad_enabled()


class set_grad_enabled(_Mode):
    """Set the mode at once; used as a context, the old mode is restored at the end."""

    def __init__(self, mode_: bool) -> None:
        self.value = bool(mode_)
        self.before = mode.turn(self.value)

    def __call__(self, function: F) -> F:
        mode.turn(self.before)  # a decorator only affects the function
        return super().__call__(function)

    def __enter__(self) -> None:
        mode.turn(self.value)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        mode.turn(self.before)
