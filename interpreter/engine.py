"""Engines run compiled functions.  Which ones are available, and how to get one.

    engine("auto").run(function, (x, 16000))

"python" is the definition of the language, always there.  "native" is the C++ engine, there when
the package was built with it.  "auto" takes native where it is there and has every operator.
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
    """What runs functions.  Engines have no state of their own that a caller could see."""

    @property
    def name(self) -> str: ...

    def run(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> Any:
        """Call a function; arguments are checked against its schema and converted.

        Raises RunError for arguments that do not fit, and what the program raises.
        """

    def direct(self, function: Function) -> Any:
        """What a Caller may run the function by, without limits, where there is a shorter way than
        `run`; else None.  It is the function's `direct` as long as it is right."""

    def missing(self, function: Function, classes: Iterable[T.ClassType] = ()) -> Counter[str]:
        """Operators the function may reach and the engine lacks, with how often code names them.

        classes: what objects behind interfaces may be of.
        """

    def adopt(self, obj: Any) -> Any:
        """Prepare an object (a loaded module) to be run by this engine often; returns it."""


class EngineUnavailable(ScriptError):
    """An engine that is not there was asked for by name."""


@cache
def engine(name: str = "auto") -> Engine:
    """The engine of that name.  Raises EngineUnavailable, saying why it is not there."""
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
    """Names of the engines that can be used here."""
    from . import native

    return ["python"] + ([] if native.why_absent() else ["native"])


def choose(name: str, obj: Any) -> Engine:
    """The engine for an object.  "auto" decides on the first run of each method."""
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
