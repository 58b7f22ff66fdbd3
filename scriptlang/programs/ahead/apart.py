"""Whether what a straight graph writes shares memory with anything else that it is given.

A straight graph writes at its end, or where the last value is computed. What reads the same memory
by another argument would not see that in the program's order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

from ...ops.shared.elementwise import overlaps_itself
from ...ops.shared.layout import Place, place_of
from ...passes.ahead.values import NotStraight
from ...tensors import Tensor


def overlap(a: Place, b: Place) -> bool:
    return max(a[0], b[0]) < min(a[1], b[1])


def check_apart(tensors: Sequence[Tensor], written: Sequence[Tensor]) -> None:
    """Raise NotStraight if one of the written tensors shares memory with another tensor."""
    places = [(t, place_of(t)) for t in tensors]
    for w in written:
        own = place_of(w)
        if any(t is not w and overlap(own, place) for t, place in places):
            raise NotStraight("memory that is written belongs to two tensors")


class Places:
    """The memory of some tensors."""

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for first, end in sorted(map(place_of, tensors)):
            if self.ends and first <= self.ends[-1]:
                self.ends[-1] = max(end, self.ends[-1])
            else:
                self.starts.append(first)
                self.ends.append(end)

    def meets(self, place: Place) -> bool:
        first, end = place
        k = bisect_left(self.starts, end) - 1
        return first < end and k >= 0 and self.ends[k] > first


class Writes:
    """What a graph writes: some of its arguments, and of the tensors that objects hold.

    arguments: the indices of these arguments. held: all tensors of objects. written: those of them
    that the graph writes.
    """

    def __init__(
        self, arguments: Sequence[int], held: Sequence[Tensor], written: Sequence[Tensor]
    ) -> None:
        self.arguments = arguments
        self.written = Places(written)
        self.held = Places(held if arguments else ())

    def are_apart(self, leaves: Sequence[Any]) -> bool:
        """Whether the arguments of a call share no memory with what is written, which is written as
        a whole: its elements must not share memory either."""
        places = [(0, 0) if type(x) is float else place_of(x) for x in leaves]
        if any(map(self.written.meets, places)):
            return False
        for i in self.arguments:
            if self.held.meets(places[i]) or overlaps_itself(leaves[i]):
                return False
            if any(k != i and overlap(places[i], place) for k, place in enumerate(places)):
                return False
        return True
