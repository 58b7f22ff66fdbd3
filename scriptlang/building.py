"""Building many objects at once, without the cyclic collector walking over all of them each time.

    @uncollected
    def optimize(graph): ...

A graph is one large cycle (values know nodes, nodes know values) that lives while it is built, so
what the collector looks for is not there; it was half of the time of compiling a large model.
"""

from __future__ import annotations

import functools
import gc
from typing import Callable, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def uncollected(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which runs with the collector off unless it was off already."""
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if not gc.isenabled():
            return function(*args, **kwargs)
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            let_age()
            gc.enable()

    return run


def let_age() -> None:
    """Count every object as old: what was built stays, so the next collection need not look at it.

    Otherwise that one, meant for a handful of young objects, would walk over all of them.
    """
    if gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()
