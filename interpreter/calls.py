"""The fast path of repeated calls from Python.

The first call of a function is `_call_`, which may register a native program with `_enter_`.  Later
calls of `Caller.__call__` run that program with the arguments as they are, as long as it is the
function's `direct`, nothing is being traced, and all arguments have the declared types.  All other
calls are `_call_`.  Results that contain objects are wrapped for the user by `_wrapped_`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir import Function
from ..ops.calling import current
from ..ops.shared.generator import default_generator
from .native import load


class PlainCaller:
    """A Caller without the native engine: every call is `_call_`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_(*args, **kwargs)

    _call_: Callable[..., Any]
    """What a subclass does."""

    def _enter_(self, program: Any, function: Function, first: Any = None) -> None:
        """Let calls run `function` by `program`, with `first` before the arguments."""


native, _ = load()
Caller: Any = PlainCaller
if native is not None:
    native.watch_calls(Function, current.calls, default_generator)
    Caller = native.Caller
