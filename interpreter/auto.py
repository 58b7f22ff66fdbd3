"""The engine "auto": it uses the native engine for functions for which that has every operator, and
the Python engine for others.  It chooses when a function is first called."""

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
from ..ops.shared.generator import Generator
from . import native
from .engine import Engine, available, engine

CHOICE = "auto_engine"
"""Attribute of a Function that holds the engines chosen for it, by the classes behind arguments."""

BY_NAME = "calls_by_name"
"""Attribute of a Function: "yes" if it may call methods by name, else "no"."""

NONE: frozenset[T.ClassType] = frozenset()


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
        for value in (*args, *(kwargs or {}).values()):
            if isinstance(value, Generator):  # which Python cannot hand to the native engine
                return engine("python").run(function, args, kwargs, limits)
        return self.chosen(function, args, kwargs).run(function, args, kwargs, limits)

    def direct(self, function: Function) -> Any:
        return self.chosen(function).direct(function)

    def missing(self, function: Function, classes: Iterable[T.ClassType] = ()) -> Counter[str]:
        return self.chosen(function).missing(function, classes)

    def adopt(self, obj: Any) -> Any:
        return obj

    def chosen(
        self, function: Function, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Engine:
        """The engine for a call.  If the function calls methods by name, it depends on the classes
        of the objects that are passed."""
        choices = kept(function.attributes, CHOICE, dict)
        classes = classes_for(function, args, kwargs)
        return kept(choices, classes, lambda: fitting([function], classes))


class ObjectEngine(AutoEngine):
    """Chooses for each method of an object when it is first called, so that methods that are never
    called are never compiled.  If methods run on different engines, these share the object's state.
    """

    def __init__(self, obj: ScriptObject) -> None:
        self.obj = obj
        self.choices: dict[Any, Engine] = {}

    @property
    def name(self) -> str:  # type: ignore[override]  # it depends on what is run
        """The name of the engine of `forward`, or of the first method if there is no `forward`."""
        methods = self.obj.type.methods
        functions = [methods["forward"]] if "forward" in methods else list(methods.values())[:1]
        return self._fitting(*functions).name

    def chosen(
        self, function: Function, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Engine:
        key = function, classes_for(function, args, kwargs)
        return kept(self.choices, key, lambda: self._fitting(function, classes=key[1]))

    def _fitting(self, *functions: Function, classes: frozenset[T.ClassType] = NONE) -> Engine:
        if functions and all(f.ready() is not None for f in functions):
            return engine("native")
        from .reach import classes_in, is_for_python

        return (
            engine("python")
            if is_for_python(self.obj)
            else fitting(functions, classes or classes_in(self.obj))
        )


def classes_for(
    function: Function, args: Sequence[Any], kwargs: Mapping[str, Any] | None
) -> frozenset[T.ClassType]:
    """The classes behind the arguments of a call, if its function calls methods by name, else
    none."""
    if not args and not kwargs or function.attributes.get(BY_NAME) == "no":
        return NONE
    if function.ready() is not None:
        return NONE
    from .prepare import fused_code, running_code
    from .reach import calls_by_name, classes_behind, reachable

    # The code that will most likely run: nothing is compiled twice.
    code_of = fused_code if "native" in available() else running_code

    def find() -> str:
        try:
            codes = reachable(function, code_of=code_of).values()
            return "yes" if any(map(calls_by_name, codes)) else "no"
        except (CompileError, GraphError):
            return "no"  # the error is raised when the function is called

    if kept(function.attributes, BY_NAME, find) == "no":
        return NONE
    from .arguments import bind

    return classes_behind(function, bind(function.schema, args, kwargs))


def fitting(functions: Iterable[Function], classes: Iterable[T.ClassType] = ()) -> Engine:
    """The engine on which "auto" runs these functions.

    It is the native engine if that is available and has all their operators, and a Trial if they
    may well run without those that it lacks; else the Python engine.
    """
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
    """The operators of the functions that an engine lacks.  Functions that do not compile are left
    out."""
    for function in functions:
        try:
            yield from which.missing(function, classes)
        except (CompileError, GraphError):
            continue  # the error is raised when the function is called
