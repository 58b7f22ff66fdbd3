"""Runs the straight graphs that a compiled archive has for a function, where they fit a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ir import Function
from ..ops.calling.current import mode
from ..ops.derivatives.state import turned
from .arguments import bind
from .code import Code
from .engine import engine as engine_named


class Kept:
    """The straight graphs of a compiled archive for one function (`Code.straights`)."""

    def __init__(self, function: Function, code: Code) -> None:
        self.schema, self.pairs, self.is_closed = function.schema, code.straights, code.is_closed
        self.checked: list[bool] = []

    def again(self, args: Sequence[Any]) -> Any:
        return NotImplemented

    def __call__(self, engine: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
        run, values = engine_named(engine).run, bind(self.schema, args, kwargs)
        # Only the Python engine reads flags that have been turned off or on.
        flags = [t._requires_grad for t in list(turned.values())]
        ask = run if flags == self.checked else engine_named("python").run
        was = mode.turn(False)
        try:
            for takes, straight in self.pairs:
                if ask(takes, values):
                    self.checked = flags
                    return run(straight, values)
        finally:
            mode.turn(was)
        return NotImplemented
