"""Expands one number to all dimensions: `_pair(3)` is (3, 3)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any, Callable, List


def _ntuple(n: int, name: str) -> Callable[[Any], tuple]:
    def parse(x: Any) -> Any:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = parse.__qualname__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Any, n: int) -> tuple:
    """Each element n times, from the last to the first, as `F.pad` expects it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: List[int], defaults: List[int]) -> List[int]:
    """The sizes, with None replaced by the matching size at the end of `defaults`."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [v if v is not None else d for v, d in zip(out_size, defaults[-len(out_size) :])]
