"""The engine "auto": native where that has every operator, else python; chosen on the first run
of each function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import logs
from .. import types as T
from ..building import kept
from ..errors import CompileError, GraphError
from ..ir import Function
from ..limits import Limits
from ..objects import ScriptObject
from . import native
from .engine import Engine, available, engine

CHOICE = "auto_engine"
"""Attribute of a Function that holds the engine chosen for it."""


class AutoEngine:
    """Chooses for each function on its own."""

    name = "auto"

    def run(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> Any:
        return self.chosen(function).run(function, args, kwargs, limits)

    def direct(self, function: Function) -> Any:
        return self.chosen(function).direct(function)

    def missing(self, function: Function, classes: Iterable[T.ClassType] = ()) -> Counter[str]:
        return self.chosen(function).missing(function, classes)

    def adopt(self, obj: Any) -> Any:
        return obj

    def chosen(self, function: Function) -> Engine:
        return kept(function.attributes, CHOICE, lambda: fitting([function]))


class ObjectEngine(AutoEngine):
    """Chooses for each method of an object when it is first called, so that what is never called
    is never compiled.  The state is one: where the engines differ, each sees what the other wrote.
    """

    def __init__(self, obj: ScriptObject) -> None:
        self.obj = obj
        self.choices: dict[Function, Engine] = {}

    @property
    def name(self) -> str:  # type: ignore[override]  # it depends on what is run
        """The engine of `forward`, or of the first method where there is none."""
        methods = self.obj.type.methods
        functions = [methods["forward"]] if "forward" in methods else list(methods.values())[:1]
        return self._fitting(*functions).name

    def chosen(self, function: Function) -> Engine:
        return kept(self.choices, function, lambda: self._fitting(function))

    def _fitting(self, *functions: Function) -> Engine:
        if functions and all(f.ready() is not None for f in functions):
            return engine("native")
        from .reach import classes_in, is_for_python

        return (
            engine("python")
            if is_for_python(self.obj)
            else fitting(functions, classes_in(self.obj))
        )


def fitting(functions: Iterable[Function], classes: Iterable[T.ClassType] = ()) -> Engine:
    """The native engine where it is there and lacks nothing of the functions, or lacks what they
    may do without; else Python's."""
    if "native" not in available():
        native.warn_if_lost()
        return engine("python")
    functions = tuple(functions)
    lacking = set(missing_from(engine("native"), functions, classes))
    if not lacking:
        if "engines" in logs.topics:
            logs.say("engines", f"{', '.join(f.name for f in functions)}: native")
        return engine("native")
    from .native_program import PYTHON_CALL
    from .trial import trial_of

    trial = trial_of(functions) if PYTHON_CALL not in lacking else None
    if "engines" in logs.topics:
        names = ", ".join(f.name for f in functions)
        how = "native as long as it does not reach it" if trial else "python"
        logs.say("engines", f"{names}: {how}; the native engine lacks {', '.join(sorted(lacking))}")
    return trial or engine("python")


def missing_from(
    which: Engine, functions: Iterable[Function], classes: Iterable[T.ClassType]
) -> Iterator[str]:
    """What an engine lacks, function by function; one that does not compile lacks nothing."""
    for function in functions:
        try:
            yield from which.missing(function, classes)
        except (CompileError, GraphError):
            continue  # it is reported when it is called
