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


STARTING = 16
"""How many buildings belong to the start of a process, whose time is what matters most then."""

_built = 0


def let_age() -> None:
    """While a process starts, count every object as old: what was built stays, so that the next
    collection, meant for a handful of young objects, need not walk over all of them.

    Later ones are collected as ever: collections of the old count what came to them by growing
    old, so that programs built and dropped without end would never be found.
    """
    global _built
    if _built < STARTING and gc.get_freeze_count() == 0:
        _built += 1
        gc.freeze()
        gc.unfreeze()
