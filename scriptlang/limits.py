"""Limits on what a running program may use.

Memory is counted while it is held (`interpreter/meter.py`). An operator that could allocate much at
once calls `reserve` first. numpy arrays are counted by numpy's allocator (`allocations.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .errors import LimitError
from .records import record


@record(frozen=True)
class Limits:
    """How much a program may use; None is no limit. Exceeding one raises LimitError.

    For each call: instructions: bytecode instructions. seconds: wall time. memory: bytes of tensors
    that are allocated. depth: nested calls. result_values: values in the result, including those
    inside others; each object counts once.

    For reading an archive and compiling its contents, over the whole life of the archive:
    source_bytes: text of its code. syntax_nodes: tokens of the code. graph_nodes: nodes of its
    functions, with calls inlined. type_nodes: parts of its types. compile_seconds: time. The
    defaults are ten times what large ordinary models need.
    """

    instructions: int | None = None
    seconds: float | None = None
    memory: int | None = None
    depth: int = 1000
    result_values: int | None = 10_000_000
    source_bytes: int | None = 16 << 20
    syntax_nodes: int | None = 1_000_000
    graph_nodes: int | None = 4_000_000
    type_nodes: int | None = 1_000_000
    compile_seconds: float | None = 3600


SMALL = 1 << 16
"""Allocations up to this many bytes need not be reserved."""

_deadline: ContextVar[tuple[float, float] | None] = ContextVar("deadline", default=None)

_asked: ContextVar[Callable[[int], None] | None] = ContextVar("asked", default=None)


@contextmanager
def asking(ask: Callable[[int], None]) -> Iterator[None]:
    """A context in which `reserve` calls `ask`, which may raise LimitError."""
    token = _asked.set(ask)
    try:
        yield
    finally:
        _asked.reset(token)


@contextmanager
def until(seconds: float) -> Iterator[None]:
    """A context in which `check_time` raises LimitError after this many seconds."""
    token = _deadline.set((time.monotonic() + seconds, seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def deadline() -> float | None:
    """The end of the run's time, in the terms of `time.monotonic`; None if there is no limit."""
    limit = _deadline.get()
    return limit and limit[0]


def check_time() -> None:
    """Raise LimitError if the run's time is over.
    Kernels call it in long loops, or it is checked when they allocate arrays."""
    limit = _deadline.get()
    if limit is not None and time.monotonic() > limit[0]:
        raise LimitError(f"the program ran for {limit[1]} s, the longest that its limits allow")


def reserve(size: int) -> None:
    """Raise LimitError if the run may not allocate `size` more bytes, before it allocates them."""
    if size > SMALL:
        ask = _asked.get()
        if ask is not None:
            ask(size)


def joined(separator: str, parts: Iterable[str]) -> str:
    """`separator.join(parts)`, for parts that together may be larger than what they come from."""
    taken, size = [], 0
    for part in parts:
        size += len(part) + len(separator)
        reserve(size)
        taken.append(part)
    return separator.join(taken)
