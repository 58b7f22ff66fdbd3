"""The engine "auto": per function, native where it can run it, else python."""

from __future__ import annotations

from collections import Counter
from typing import Any, Mapping, Sequence

from ..ir import Function
from ..limits import Limits
from .engine import Engine, available, engine

CHOICE = "auto_engine"
"""Attribute of a Function that holds the engine chosen for it."""


class AutoEngine:
    """Chooses on the first run of a function, and keeps to it."""

    name = "auto"

    def run(self, function: Function, args: Sequence[Any],
            kwargs: Mapping[str, Any] | None = None, limits: Limits | None = None) -> Any:
        return self.chosen(function).run(function, args, kwargs, limits)

    def missing(self, function: Function) -> Counter[str]:
        return self.chosen(function).missing(function)

    def adopt(self, obj: Any) -> Any:
        return obj

    def chosen(self, function: Function) -> Engine:
        choice = function.attributes.get(CHOICE)
        if choice is None:
            choice = engine("python")
            if "native" in available() and not engine("native").missing(function):
                choice = engine("native")
            function.attributes[CHOICE] = choice
        return choice
