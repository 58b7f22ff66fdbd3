"""Limits on what a running program may use.

Memory is counted as it is held (`interpreter/meter.py`); an operator that could make much at once
asks first, with `reserve`.  Arrays of numpy ask by themselves (`allocations.py`).
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
    """How much a program may use; None is no limit.  Going over one raises LimitError, naming it.

    Of one call: instructions: bytecode instructions.  seconds: wall time.  memory: bytes of tensors
    that it allocates.  depth: calls inside calls.  result_values: what it gives back, counting what
    is inside them, each object once.

    Of reading an archive and compiling what is in it, over the archive's whole life:
    source_bytes: text of its code.  syntax_nodes: words and signs of that.  graph_nodes: nodes of
    its functions, with those that they call put in.  type_nodes: parts of its types.
    compile_seconds: time.  Their defaults are ten times what large honest models need.
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
"""Bytes that nobody has to ask for."""

_deadline: ContextVar[tuple[float, float] | None] = ContextVar("deadline", default=None)

_asked: ContextVar[Callable[[int], None] | None] = ContextVar("asked", default=None)


@contextmanager
def asking(ask: Callable[[int], None]) -> Iterator[None]:
    """Have `reserve` call `ask`, which raises LimitError where there is too little left."""
    token = _asked.set(ask)
    try:
        yield
    finally:
        _asked.reset(token)


@contextmanager
def until(seconds: float) -> Iterator[None]:
    """Have `check_time` raise LimitError once so many seconds are over."""
    token = _deadline.set((time.monotonic() + seconds, seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def deadline() -> float | None:
    """When the run is over, as `time.monotonic` has it."""
    limit = _deadline.get()
    return limit and limit[0]


def check_time() -> None:
    """LimitError where the run is over its time.  Loops of kernels look by themselves, or through
    the arrays that they make."""
    limit = _deadline.get()
    if limit is not None and time.monotonic() > limit[0]:
        raise LimitError(f"the program ran for {limit[1]} s, the longest that its limits allow")


def reserve(size: int) -> None:
    """Ask for memory before making something of `size` bytes: LimitError where the run may not."""
    if size > SMALL:
        ask = _asked.get()
        if ask is not None:
            ask(size)


def joined(separator: str, parts: Iterable[str]) -> str:
    """`separator.join(parts)`, where the parts together may be larger than what they come from."""
    taken, size = [], 0
    for part in parts:
        size += len(part) + len(separator)
        reserve(size)
        taken.append(part)
    return separator.join(taken)
