"""Opens a batch: while it is open, calls of operators are for all of its examples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ... import tensors
from ...tensors import Tensor
from ..calling.current import calls, mode, tracing
from ..derivatives.forward import entered
from ..derivatives.recorder import activate
from ..derivatives.tangents import NotMapped, carry_batches, refuse_batches
from .calls import call
from .level import BatchLevel


class OpenBatch(BatchLevel):
    """A batch whose calls are made by rules."""

    def call(self, op: Any, plan: Any, kernel: Any, values: list[Any]) -> Any:
        return call(op, plan, kernel, values, self)


@contextmanager
def batch_of(size: int) -> Iterator[BatchLevel]:
    """A level for a batch. Raises NotMapped where a function must run for each example."""
    if tracing() is not None or calls.observer is not None:
        raise NotMapped
    activate()
    was = tensors.look_hook, tensors.detach_hook
    with entered(OpenBatch(len(mode.levels), size)) as level:
        tensors.look_hook, tensors.detach_hook = look, carry_batches
        try:
            yield level
        finally:
            tensors.look_hook, tensors.detach_hook = was


def look(what: str, tensor: Tensor) -> None:
    """Raise NotMapped if Python reads elements that differ between examples."""
    if not mode.is_quiet and what not in ("its length in Python", "its elements"):
        refuse_batches((tensor,))
