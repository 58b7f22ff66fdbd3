"""Counts the bytes that a run of the Python engine keeps alive.

Tensors are counted when they are made and when they are freed.  Strings and containers are counted
by a census of all values that the run holds, whenever enough of them may have been made since the
last one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ..allocations import leave
from ..errors import LimitError
from ..objects import ScriptObject
from ..tensors import Tensor

SLOT = 8
"""Bytes of one element of a container."""

STEP = 256
"""Bytes that every operator is assumed to make, whatever it returns."""

STORAGE = 768
"""Bytes of the Python objects that belong to the storage of a tensor, those of its counting
included."""

HEADER = 256
"""Bytes of a tensor without its storage, counted in a census for tensors in lists."""

LEAVES = (int, float, complex, Tensor)
"""Types of elements that contain nothing to count.  A census does not look into lists of them."""

SMALL = 1 << 20
"""The least number of bytes that are made between two censuses."""


class MemoryMeter:
    """Adds up storages as operators return them, and subtracts them when they are freed.

    roots: returns the values that the run holds, for a census.  Tensors that existed before the run
    count once an operator returns a view of them.

    alive: bytes of the storages counted now.  made: bytes of strings and containers that may have
    been made since the last census.  census_at: the value of `made` that leads to the next one.
    lengths: how many elements of a container are in `made`, by the id of the container.
    """

    def __init__(self, limit: int, roots: Callable[[], Iterable[Any]]) -> None:
        self.limit, self.roots = limit, roots
        self.alive = 0
        self.seen: weakref.WeakSet[Any] = weakref.WeakSet()
        self.made = 0
        self.census_at = max(limit // 4, SMALL)
        self.lengths: dict[int, int] = {}

    def look(self, stack: list[Any]) -> None:
        """Count the results of an operator, which are on top of the stack."""
        self.made += STEP
        if stack:
            self.value(stack[-1])
        if self.made > self.census_at:
            self.census()
        leave(max(self.limit - self.alive, 0))

    def value(self, value: Any) -> None:
        if isinstance(value, Tensor):
            self.storage(value._storage)
        elif isinstance(value, str):
            self.made += len(value)
        elif isinstance(value, (list, tuple)):
            known = self.lengths.get(id(value), 0)
            if len(value) > known:
                self.lengths[id(value)] = len(value)
                self.made += SLOT * (len(value) - known)
                if isinstance(value[-1], Tensor):
                    self.tensors(value[known:])

    def tensors(self, values: Iterable[Any]) -> None:
        for v in values:
            if isinstance(v, Tensor):
                self.storage(v._storage)

    def storage(self, storage: Any) -> None:
        if storage in self.seen:
            return
        self.seen.add(storage)
        size = storage.nbytes + STORAGE
        self.alive += size
        weakref.finalize(storage, self.free, size)
        if self.alive > self.limit:
            self.refuse(self.alive, "tensors")

    def hold(self, thing: Any, size: int) -> None:
        """Count `size` bytes until `thing` is freed.  Raises LimitError if that is too much."""
        self.alive += size
        weakref.finalize(thing, self.free, size)
        if self.alive > self.limit:
            self.refuse(self.alive, "steps recorded for derivatives, and tensors")

    def free(self, size: int) -> None:
        self.alive -= size

    def census(self) -> None:
        """Add up the strings and containers that the run holds, each once.

        Raises LimitError if they exceed the limit together with the storages.
        """
        self.made, self.lengths = 0, {}
        held, seen, pending = 0, {}, list(self.roots())
        tensors: set[int] = set()
        while pending:
            value = pending.pop()
            if not isinstance(value, (str, list, tuple, dict, ScriptObject)) or id(value) in seen:
                continue
            seen[id(value)] = value  # keeps it alive, so that no other object gets its id
            if isinstance(value, str):
                held += len(value)
                continue
            parts = (
                value.slots
                if isinstance(value, ScriptObject)
                else [*value, *value.values()]
                if isinstance(value, dict)
                else value
            )
            held += SLOT * len(parts)
            if isinstance(value, list) and value and isinstance(value[-1], Tensor):
                tensors.update(map(id, value))
            if held > self.limit:
                break
            if not isinstance(value, list) or value and not isinstance(value[-1], LEAVES):
                pending += parts
        held += HEADER * len(tensors)
        if held + self.alive > self.limit:
            self.refuse(held + self.alive, "strings, containers and tensors")
        self.census_at = max((self.limit - held) // 4, SMALL, held // 2)

    def allow(self, size: int) -> None:
        """Raise LimitError if `size` more bytes would exceed the limit."""
        if self.alive + size > self.limit:
            raise LimitError(
                f"the program asks for {size:,} bytes and holds {self.alive:,}; its "
                f"limits allow {self.limit:,}"
            )

    def refuse(self, size: int, what: str) -> NoReturn:
        raise LimitError(
            f"the program holds {size:,} bytes of {what}; its limits allow {self.limit:,}"
        )
