"""Engines run compiled functions.  This module says which ones are available, and returns them.

    engine("auto").run(function, (x, 16000))

"python" defines what programs do, and is always available.  "native" is the C++ engine, available
if the package was built with it.  "auto" uses "native" for functions for which it has every
operator, else "python".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from .. import types as T
from ..errors import ScriptError
from ..ir import Function
from ..limits import Limits

__all__ = [
    "Engine",
    "available",
    "choose",
    "describe",
    "engine",
    "get_num_threads",
    "set_num_threads",
]

NAMES = ("python", "native", "auto")


class Engine(Protocol):
    """An engine runs functions.  It has no state of its own that a caller could see."""

    @property
    def name(self) -> str: ...

    def run(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> Any:
        """Call a function.  Arguments are checked against its schema and converted.

        Raises RunError for arguments that do not fit, and any exception that the program raises.
        """

    def direct(self, function: Function) -> Any:
        """The program that the fast path of calls (calls.py) may run without limits; None if every
        call has to use `run`.  It is valid as long as it is the function's `direct`."""

    def missing(self, function: Function, classes: Iterable[T.ClassType] = ()) -> Counter[str]:
        """The operators that the function may reach and the engine lacks, each with the number of
        instructions that call it.

        classes: the classes of the objects that may be behind interfaces.
        """

    def adopt(self, obj: Any) -> Any:
        """Prepare an object, such as a loaded module, for many runs on this engine; return it."""


class EngineUnavailable(ScriptError):
    """An engine was requested by name that is not available."""


@cache
def engine(name: str = "auto") -> Engine:
    """The engine of that name: "python", "native" or "auto".

    Raises ValueError for another name, and EngineUnavailable, with the reason, if "native" is not
    available.
    """
    if name not in NAMES:
        raise ValueError(f"there is no engine {name!r}; the engines are {', '.join(NAMES)}")
    if name == "python":
        from .python_engine import PythonEngine

        return PythonEngine()
    if name == "auto":
        from .auto import AutoEngine

        return AutoEngine()
    from . import native

    why = native.why_absent()
    if why:
        raise EngineUnavailable(
            f'the native engine is not there: {why}. engine="auto" and '
            'engine="python" work without it'
        )
    from .native_engine import NativeEngine

    return NativeEngine()


def available() -> list[str]:
    """The names of the engines that are available, without "auto"."""
    from . import native

    return ["python"] + ([] if native.why_absent() else ["native"])


def choose(name: str, obj: Any) -> Engine:
    """The engine of that name for an object.  "auto" chooses when a method is first called."""
    if name != "auto":
        return engine(name)
    from .auto import ObjectEngine

    return ObjectEngine(obj)


def describe() -> dict[str, str]:
    """One line per engine: whether it is available, and with which features."""
    from . import native

    return {"python": "yes, on numpy", "native": native.describe()}


def set_num_threads(n: int) -> None:
    from . import native

    native.set_num_threads(n)


def get_num_threads() -> int:
    from . import native

    return native.get_num_threads()
