"""CompilationUnit: functions compiled from a text, as attributes."""

from __future__ import annotations

from .module import ScriptFunction


class CompilationUnit:
    """`CompilationUnit("def f(x): return x + 1").f`: the functions of a text, which see each other."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0):
        self._functions: dict[str, ScriptFunction] = {}
        if lang is not None:
            self.define(lang)

    def define(self, lang: str, rcb=None, _frames_up: int = 0) -> None:
        """Compile more functions; they see those defined before.  Raises CompileError."""
        from .frontend.script import compile_text

        for name, function in compile_text(lang, dict(self._functions)).items():
            self._functions[name] = ScriptFunction(function)

    def find_function(self, name: str) -> ScriptFunction | None:
        return self._functions.get(name.removeprefix("__torch__."))

    def get_functions(self) -> list[ScriptFunction]:
        return list(self._functions.values())

    def __getattr__(self, name: str) -> ScriptFunction:
        found = self.__dict__.get("_functions", {}).get(name)
        if found is None:
            raise AttributeError(f"'CompilationUnit' has no attribute {name!r}")
        return found
