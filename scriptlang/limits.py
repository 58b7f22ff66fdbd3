"""Limits on what a running program may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How much one call of a program may use; None is no limit.

    instructions: bytecode instructions.  seconds: wall time.  memory: bytes of tensors that it allocates.
    depth: calls inside calls.  Going over one raises LimitError, which names it.
    """

    instructions: int | None = None
    seconds: float | None = None
    memory: int | None = None
    depth: int = 1000
