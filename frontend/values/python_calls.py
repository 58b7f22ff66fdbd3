"""Python functions that programs call: a constant of the graph, and the node that calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scriptlang import types as T

KIND = "prim::IgnoredPythonOp"
"""Kind of the node that calls a Python function; its first input is the `PythonCall`."""


class PythonCall:
    """A Python function as a constant of a program.

    It takes run-time values, and returns a run-time value of the type `result`.  `see` converts a
    run-time value to the object that the function gets; `take` converts its result to a run-time
    value of a type.  The public API sets both, because it defines the objects that users see.
    """

    see: Callable[[Any, Callable[..., Any]], Any] = staticmethod(lambda value, fn: value)
    take: Callable[[Any, T.Type], Any] = staticmethod(lambda value, type: value)

    def __init__(self, fn: Callable[..., Any], result: T.Type) -> None:
        self.fn, self.result = fn, result
        self.__name__ = getattr(fn, "__name__", "function")

    def __call__(self, *args: Any) -> Any:
        given = self.fn(*[PythonCall.see(a, self.fn) for a in args])
        return PythonCall.take(given, self.result)

    def __repr__(self) -> str:
        return f"<Python function {self.__name__}>"
