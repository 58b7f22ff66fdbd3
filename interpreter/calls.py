"""Calls from Python that come again and again: they go where the first one has found a way to.

A Caller's own `__call__` takes the way that `_enter_` was given: a native program that is run with
the arguments as they are.  It is taken as long as it is the function's `direct`, nothing traces,
and all arguments are what the function declares.  Every other call is `_call_`; a result with
objects in it goes to the user through `_wrapped_`.
"""

from __future__ import annotations

from typing import Any

from ..ir import Function
from ..ops import dispatch
from ..ops.generator import default_generator
from .native import load


class PlainCaller:
    """A Caller without the native engine: there is no way but `_call_`."""

    def __call__(self, *args, **kwargs):
        return self._call_(*args, **kwargs)

    def _enter_(self, way: Any, function: Function, first: Any = None) -> None:
        """Let calls run `function` by `way`, with `first` before the arguments."""


native, _ = load()
if native is None:
    Caller = PlainCaller
else:
    native.watch_calls(Function, dispatch.calls, default_generator)
    Caller = native.Caller
