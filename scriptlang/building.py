"""Decorators for building things on first use: in one thread, without garbage collection.

    @uncollected
    @alone
    def optimize(graph): ...

Types, graphs and code depend on each other, so all building shares one lock. It is reentrant, since
bodies need each other, and a thread that holds it never waits for another thread. A build that
fails leaves nothing behind that others see: its caller stores results only when they are complete.

A graph is one large reference cycle (values know nodes, nodes know values) that stays alive while
it is built, so the collector finds nothing to free there; it took half of the time of compiling a
large model.
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
    """A function that only one thread runs at a time."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with lock:
            return function(*args, **kwargs)

    return run


def kept(attributes: dict[Any, R], key: Any, make: Callable[[], R]) -> R:
    """The entry of a dict, made once by `make`; an entry that is None counts as missing."""
    found = attributes.get(key)
    if found is None:
        with lock:
            found = attributes.get(key)
            if found is None:
                found = attributes[key] = make()
    return found


class made_once(Generic[R]):
    """A property that is computed once, when it is first read. It is `cached_property` with the
    lock that all building shares, so that two of them cannot deadlock."""

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
    """A function that runs with the garbage collector off."""

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
"""So many builds belong to the start of a process, when time matters most."""

_built = 0


def let_age() -> None:
    """Let all objects count as old, so that the next collection, of young ones, skips them.

    This stops after STARTING builds: a full collection only runs after enough objects have aged in
    the normal way, so otherwise programs that are built and dropped all the time would never be
    freed.
    """
    global _built
    if _built >= STARTING:
        return
    if gc.get_freeze_count():  # someone uses gc.freeze, and counting is slow
        _built = STARTING
        return
    _built += 1
    gc.freeze()
    gc.unfreeze()
