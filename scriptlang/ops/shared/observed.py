"""Records of profiled programs on the Python engine: when each operator ran, on what shapes.

The native engine makes the same records (cpp_loader/src/ops/observe.h): rows of numbers, each with
a place, nanoseconds, a thread, the number of tensors, and for each its dtype, dimensions and sizes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from threading import get_ident
from typing import Any

from ...tensors import Tensor

MOST_NUMBERS = 1 << 24
"""The maximum length of the notes; later ones are dropped."""


class Observed:
    """The notes of the process; `notes` is None while nothing is profiled."""

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
