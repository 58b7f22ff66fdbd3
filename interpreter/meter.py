"""Counts the bytes of the tensors that a run keeps alive."""

from __future__ import annotations

import weakref
from typing import Any

from ..errors import LimitError
from ..tensors import Tensor


class MemoryMeter:
    """Adds up storages as operators return them, and takes them off as they are freed.

    Tensors that were there before the run count once the program makes a view of them.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self.alive = 0
        self.seen: weakref.WeakSet = weakref.WeakSet()

    def look(self, stack: list[Any]) -> None:
        """Count the results of an operator, which are on top of the stack."""
        if stack:
            self.value(stack[-1])

    def value(self, value: Any) -> None:
        if isinstance(value, Tensor):
            self.storage(value.storage)
        elif isinstance(value, (list, tuple)):
            for v in value:
                self.value(v)

    def storage(self, storage: Any) -> None:
        if storage in self.seen:
            return
        self.seen.add(storage)
        size = storage.nbytes
        self.alive += size
        weakref.finalize(storage, self.free, size)
        if self.alive > self.limit:
            raise LimitError(f"the program holds {self.alive:,} bytes of tensors; its limits allow "
                             f"{self.limit:,}")

    def free(self, size: int) -> None:
        self.alive -= size
