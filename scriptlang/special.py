"""Special functions, under the names of torch.special: `special.X` is the operator `special_X`."""

from __future__ import annotations

from typing import Any

from .ops.calling import functions


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        try:
            return getattr(functions, f"special_{name}")
        except AttributeError:
            pass
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
