"""Runs the straight graphs that a compiled archive has for a function, where they fit a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dtypes import float32, get_default_dtype
from ..ir import Function
from ..ops.calling.current import mode
from ..ops.derivatives.state import turned
from .arguments import bind
from .code import CODE, Code
from .engine import engine as engine_named

FLAG = "prim::requires_grad"


class Kept:
    """The straight graphs of a compiled archive for one function (`Code.straights`)."""

    def __init__(self, function: Function, code: Code) -> None:
        self.schema, self.pairs, self.is_closed = function.schema, code.straights, code.is_closed
        codes = [takes.attributes[CODE] for takes, _ in self.pairs]
        self.reads_flags = any(ref.name == FLAG for c in codes for ref in c.operators)

    def again(self, args: Sequence[Any]) -> Any:
        return NotImplemented

    def __call__(self, engine: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
        if get_default_dtype() is not float32:  # for which the graphs were made
            return NotImplemented
        run, values = engine_named(engine).run, bind(self.schema, args, kwargs)
        # Objects of the native engine do not know what was turned off or on.
        ask = engine_named("python").run if turned and self.reads_flags else run
        was = mode.turn(False)
        try:
            for takes, straight in self.pairs:
                if ask(takes, values):
                    return run(straight, values)
        finally:
            mode.turn(was)
        return NotImplemented
