"""Limits for `__setstate__` and `__getstate__` of objects, which run on loading and saving."""

from __future__ import annotations

from ..limits import Limits
from ..records import replace

RESTORE_LIMITS = Limits(instructions=10_000_000, seconds=10, memory=4 << 30, depth=100)
"""The limits that apply if the caller sets none."""


def restore_limits(limits: Limits | None) -> Limits:
    """The caller's limits, completed from RESTORE_LIMITS."""
    if limits is None:
        return RESTORE_LIMITS
    missing = {
        name: getattr(RESTORE_LIMITS, name)
        for name in ("instructions", "seconds", "memory")
        if getattr(limits, name) is None
    }
    return replace(limits, **missing)
