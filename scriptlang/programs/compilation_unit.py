"""CompilationUnit: functions compiled from a text, as attributes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .module import ScriptFunction


class Names(dict[Any, Any]):
    """The names that a text may use: its own functions, then those of its surroundings."""

    def __init__(
        self, own: dict[str, Any], rcb: Callable[[str], Any] | None, frame: FrameType
    ) -> None:
        super().__init__({} if rcb else {**frame.f_globals, **frame.f_locals})
        self.update(own)
        self.rcb = rcb

    def __copy__(self) -> Names:
        made = Names.__new__(Names)
        made.update(self)
        made.rcb = self.rcb
        return made

    def get(self, name: str, default: Any = None) -> Any:
        if name in self or self.rcb is None:
            return super().get(name, default)
        found = self.rcb(name)
        return default if found is None else found


class CompilationUnit:
    """The functions of a text, as attributes: `CompilationUnit("def f(x): return x").f`.
    They can call each other."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        self._functions: dict[str, ScriptFunction[..., Any]] = {}
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(
        self, lang: str, rcb: Callable[[str], Any] | None = None, _frames_up: int = 0
    ) -> None:
        """Compile more functions; they can use those defined before, and the caller's names.

        rcb: a function that returns the value of a name; it replaces the caller's names. Raises
        CompileError.
        """
        from ..frontend.python.script import compile_text

        names = Names(self._functions, rcb, sys._getframe(_frames_up + 1))
        for name, function in compile_text(lang, names).items():
            self._functions[name] = ScriptFunction(function)

    def find_function(self, name: str) -> ScriptFunction[..., Any] | None:
        """The function of that name, or None."""
        return self._functions.get(name.removeprefix("__torch__."))

    def get_functions(self) -> list[ScriptFunction[..., Any]]:
        """All functions, in the order in which they were defined."""
        return list(self._functions.values())

    def __getattr__(self, name: str) -> ScriptFunction[..., Any]:
        found = self.__dict__.get("_functions", {}).get(name)
        if found is None:
            raise AttributeError(f"'CompilationUnit' has no attribute {name!r}")
        return found
