"""Notes of profiled programs on the Python engine: which operator ran when, on what shapes.

The native engine makes the same notes (cpp_loader/src/ops/observe.h): rows of numbers, each a
place, nanoseconds, a thread, a count of tensors, and for each its dtype, dimensions and sizes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from threading import get_ident
from typing import Any

from ...tensors import Tensor

MOST_NUMBERS = 1 << 24
"""More notes than these numbers hold are dropped."""


class Observed:
    """Where notes go; None while nobody wants them."""

    def __init__(self) -> None:
        self.notes: list[int] | None = None

    def note(self, place: int, values: Sequence[Any]) -> None:
        notes, now = self.notes, time.perf_counter_ns()
        if notes is None or len(notes) > MOST_NUMBERS:
            return
        tensors = [v for v in flat(values) if isinstance(v, Tensor)]
        row = [place, now, get_ident(), len(tensors)]
        for t in tensors:
            row += [t.dtype.code, t.dim(), *t.shape]
        notes += row


def flat(values: Sequence[Any]) -> Iterator[Any]:
    for v in values:
        yield from v[:64] if isinstance(v, list) else (v,)


observed = Observed()
