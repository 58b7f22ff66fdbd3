"""The fast path of repeated calls from Python.

The first call of a function goes to `_call_`, which may register a native program by `_enter_`.
Later calls of `Caller.__call__` run that program with the arguments as they are, as long as it is
the function's `direct`, nothing is traced or recorded, and all arguments have the declared types.
All other calls go to `_call_`.  `_wrapped_` wraps results that contain script objects for the user.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir import Function
from ..ops.calling import current
from ..ops.shared.generator import default_generator
from .native import load


class PlainCaller:
    """The Caller without the native engine: every call goes to `_call_`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_(*args, **kwargs)

    _call_: Callable[..., Any]
    """Makes the call; subclasses implement it."""

    def _enter_(
        self, program: Any, function: Function, first: Any = None, is_recorded: bool = False
    ) -> None:
        """Register `program`, which runs `function`, for later calls.  `first` is passed before
        the arguments.  is_recorded: gradients of `first` may be wanted, so that calls become
        `_call_` but where nothing is recorded (`no_grad`).  Without the native engine this does
        nothing."""


native, _ = load()
Caller: Any = PlainCaller
if native is not None:
    native.watch_calls(Function, current.calls, default_generator)
    Caller = native.Caller
