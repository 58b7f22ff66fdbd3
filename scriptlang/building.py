"""What is built on first use is built once, by one thread, while the others wait; and without the
cyclic collector walking over all of it each time.

    @uncollected
    @alone
    def optimize(graph): ...

Types, graphs and code hang together, so one lock is for all of it.  The thread that has it may come
back: bodies need each other.  Nothing that is built waits for another thread.  What a build that
failed leaves behind is nobody's: its caller keeps results only when they are whole.

A graph is one large cycle (values know nodes, nodes know values) that lives while it is built, so
what the collector looks for is not there; it was half of the time of compiling a large model.
"""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")

lock = threading.RLock()
"""Held by the thread that builds."""


def alone(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which one thread runs at a time."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with lock:
            return function(*args, **kwargs)

    return run


def kept(attributes: dict[Any, R], key: Any, make: Callable[[], R]) -> R:
    """The entry of a dict, made once; None counts as none."""
    found = attributes.get(key)
    if found is None:
        with lock:
            found = attributes.get(key)
            if found is None:
                found = attributes[key] = make()
    return found


class made_once(Generic[R]):
    """A property that is computed when it is first asked for: `cached_property` with the lock that
    all building shares, so that two of its kind never wait for each other."""

    def __init__(self, make: Callable[[Any], R]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> made_once[R]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> R: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        with lock:
            known = instance.__dict__
            if self.name not in known:
                known[self.name] = self.make(instance)
            return known[self.name]


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
    if _built >= STARTING:
        return
    if gc.get_freeze_count():  # somebody keeps objects out of collections; counting takes long
        _built = STARTING
        return
    _built += 1
    gc.freeze()
    gc.unfreeze()
