"""Limits for reading an archive and compiling its functions: a Budget, from which use is spent.

    with budgets.use(function.budget, "compiling f"):
        budgets.spend("graph_nodes", 12)            # LimitError if that is too much
        budgets.look()                              # LimitError if it takes too long

An archive has one budget for its whole life, so that many small functions are limited like one
large one. Code that the host itself compiles has none; `spend` and `look` then do nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .errors import LimitError
from .limits import Limits

WHAT = {
    "source_bytes": "bytes of source",
    "syntax_nodes": "words and signs of source",
    "graph_nodes": "nodes of graphs, with the functions that are called put in,",
    "type_nodes": "parts of types",
    "compile_seconds": "seconds of compiling",
}
"""How errors describe the fields of Limits that a Budget counts."""


class Budget:
    """How much of its limits one archive has used."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.used: dict[str, float] = dict.fromkeys(WHAT, 0)
        self.until = float("inf")
        self.where: list[str] = []
        self.types: set[Any] = set()

    def spend(self, what: str, amount: float, where: str | None = None) -> None:
        """Count an amount. Raises LimitError if the archive then exceeds its limit."""
        self.allow(what, amount, where)
        self.used[what] += amount

    def allow(self, what: str, amount: float, where: str | None = None) -> None:
        """Raise LimitError unless that amount may still be used; nothing is counted."""
        used, allowed = self.used[what] + amount, getattr(self.limits, what)
        if allowed is not None and used > allowed:
            raise exceeded(what, used, allowed, where or "".join(self.where[-1:]))

    def add_type(self, mark: Any, size: int) -> None:
        """Count a type with this many parts, unless an equal one was counted before."""
        if mark not in self.types:
            self.types.add(mark)
            self.spend("type_nodes", size)

    def look(self) -> None:
        """Raise LimitError if compiling has taken too long."""
        if time.monotonic() > self.until:
            allowed = self.limits.compile_seconds or 0
            raise exceeded("compile_seconds", allowed, allowed, "".join(self.where[-1:]))


def exceeded(what: str, used: float, allowed: float, where: str) -> LimitError:
    place = f"{where}: " if where else ""
    count = f"over {allowed:,}" if what == "compile_seconds" else f"{used:,}"
    return LimitError(
        f"{place}the archive needs {count} {WHAT[what]} and its limits allow "
        f"{allowed:,}; for a file you trust, load it with "
        f"limits=Limits({what}=...), on the command line --limit {what}=..."
    )


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def use(budget: Budget | None, where: str) -> Iterator[None]:
    """A context that spends from a budget, including time; errors mention `where`.

    If the budget is None, the one in use stays in use.
    """
    if budget is None:
        yield
        return
    token = _current.set(budget)
    is_outermost, start = not budget.where, time.monotonic()
    if is_outermost and budget.limits.compile_seconds is not None:
        budget.until = start + budget.limits.compile_seconds - budget.used["compile_seconds"]
    budget.where.append(where)
    try:
        yield
    finally:
        budget.where.pop()
        if is_outermost:
            budget.used["compile_seconds"] += time.monotonic() - start
            budget.until = float("inf")
        _current.reset(token)


def of(cls: Any) -> Budget | None:
    """The budget of the archive that a class comes from, or None."""
    for function in cls.methods.values():
        if getattr(function, "budget", None) is not None:
            return function.budget
    return None


def current() -> Budget | None:
    """The budget in use, or None."""
    return _current.get()


def spend(what: str, amount: float) -> None:
    """Count an amount for the budget in use, if any."""
    budget = _current.get()
    if budget is not None:
        budget.spend(what, amount)


def look() -> None:
    """Raise LimitError if the archive that is being compiled has taken too long."""
    budget = _current.get()
    if budget is not None:
        budget.look()
