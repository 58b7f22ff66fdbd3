"""Points-to analysis: locations, the constraints on pointers, and their solution.

A location is a piece of memory. A set of locations is an int with one bit for each, so that sets
are joined and compared quickly. Locations hold pointers in fields: "*" for the elements of lists
and dicts, and one field for each element of a tuple or attribute. The first locations are
`outside`: memory that existed before the graph ran or that code outside may see, one location per
kind. The constraints:

    copy(a, b)          a points to what b points to
    load(a, b, f)       a points to what field f of what b points to contains
    store(a, b, f)      field f of what a points to contains what b points to
    keep(a, b)          what a points to contains, somewhere, all that is inside what b points to
    inside(a, b)        a points to anything of its kinds that is reachable from b
    leak(b)             code outside gets access to what b points to

They are applied in order, and again whenever what they read has grown, until nothing grows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..ir import Value

EVERYTHING = ("tensor", "list", "dict", "tuple", "object", "other")
"""The kinds of memory; memory of kind "other" may be of any of them."""

MOST_KEPT = 4096
"""The most results of `reach` that are cached: each takes one bit per location."""

Locations = int
"""A set of locations: bit i stands for location i."""


def bits(locations: Locations) -> Iterator[int]:
    """The indices of the locations in a set."""
    while locations:
        low = locations & -locations
        yield low.bit_length() - 1
        locations ^= low


class PointsTo:
    """The constraints while they are collected, and their solution after `solve`.

    points: variable -> the locations it may point to. outside: all locations that code outside may
    see.
    """

    def __init__(self) -> None:
        self.points: dict[Hashable, Locations] = {}
        self.fields: list[dict[str, Locations] | None] = []
        self.by_kind: dict[str, Locations] = dict.fromkeys(EVERYTHING, 0)
        self.opaque: dict[str, Locations] = {kind: self.new(kind) for kind in EVERYTHING}
        self.outside = self.all_opaque = (1 << len(EVERYTHING)) - 1
        self._rules: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._readers: dict[Hashable, list[int]] = {}
        self._watchers: list[set[int]] = []
        self._reached: dict[Locations, Locations] = {}
        self._is_solved = False

    def new(self, kind: str) -> Locations:
        """A new location."""
        location = 1 << len(self.fields)
        self.by_kind[kind] |= location
        self.fields.append(None)
        return location

    def put(self, location: Locations, field: str, held: Locations) -> None:
        """Let a field of a new location contain `held`."""
        i = location.bit_length() - 1
        self.fields[i] = fields = self.fields[i] or {}
        fields[field] = held

    def outside_of(self, kinds: tuple[str, ...]) -> Locations:
        """The outside memory that a value of these kinds may point to."""
        found = 0
        for kind in kinds:
            found |= self.opaque[kind]
        return found

    # Constraints

    def copy(self, target: Hashable, source: Hashable) -> None:
        self._add(self._copy, target, source, (source,))

    def load(self, target: Hashable, source: Hashable, field: str, kinds: tuple[str, ...]) -> None:
        """kinds: those of the target; a value loaded from outside memory may be of any."""
        self._add(self._load, target, source, (source,), field, self.outside_of(kinds))

    def store(self, target: Hashable, source: Hashable, field: str) -> None:
        self._add(self._store, target, source, (target, source), field)

    def keep(self, target: Hashable, source: Hashable) -> None:
        self._add(self._keep, target, source, (target, source))

    def inside(self, target: Hashable, source: Hashable, kinds: tuple[str, ...]) -> None:
        self._add(self._inside, target, source, (source,), kinds)

    def leak(self, source: Hashable) -> None:
        self._add(self._leak_all, source, source, (source,))

    def _add(
        self,
        apply: Callable[..., None],
        target: Hashable,
        source: Hashable,
        reads: tuple[Any, ...],
        *more: Any,
    ) -> None:
        for variable in reads:
            self._readers.setdefault(variable, []).append(len(self._rules))
        self._rules.append((apply, (target, source, *more)))

    # Solving

    def solve(self) -> None:
        """Compute the least solution of the constraints."""
        rules = self._rules
        self._watchers = [set() for _ in self.fields]
        self._pending = deque(range(len(rules)))
        self._waiting = bytearray(b"\1") * len(rules)
        while self._pending:
            self._rule = i = self._pending.popleft()
            self._waiting[i] = 0
            apply, arguments = rules[i]
            apply(*arguments)
        del self._pending, self._waiting, self._watchers
        self._rules, self._readers = [], {}
        self._is_solved = True

    def _again(self, rules: Any) -> None:
        for i in rules:
            if not self._waiting[i]:
                self._waiting[i] = 1
                self._pending.append(i)

    def _grow(self, variable: Hashable, more: Locations) -> None:
        known = self.points.get(variable, 0)
        if known | more != known:
            self.points[variable] = known | more
            self._again(self._readers.get(variable, ()))

    def _grow_field(self, location: int, field: str, more: Locations) -> None:
        fields = self.fields[location]
        if fields is None:
            fields = self.fields[location] = {}
        known = fields.get(field, 0)
        if known | more != known:
            fields[field] = known | more
            self._again(self._watchers[location])

    def _copy(self, target: Hashable, source: Hashable) -> None:
        self._grow(target, self.points.get(source, 0))

    def _load(self, target: Hashable, source: Hashable, field: str, foreign: Locations) -> None:
        found = 0
        for i in bits(self.points.get(source, 0)):
            self._watchers[i].add(self._rule)
            fields = self.fields[i]
            if fields is not None:
                found |= fields.get(field, 0) | fields.get("*", 0)
                if field == "*":
                    for held in fields.values():
                        found |= held
            if self.outside >> i & 1:
                found |= foreign
        self._grow(target, found)

    def _inside(self, target: Hashable, source: Hashable, kinds: tuple[str, ...]) -> None:
        wanted = self.by_kind["other"]
        for kind in kinds:
            wanted |= self.by_kind[kind]
        self._grow(target, self._watched(self.points.get(source, 0)) & wanted)

    def _store(self, target: Hashable, source: Hashable, field: str) -> None:
        self._hold(target, field, self.points.get(source, 0))

    def _keep(self, target: Hashable, source: Hashable) -> None:
        held = self.points.get(source, 0)
        self._hold(target, "*", self._watched(held) & ~held)

    def _hold(self, target: Hashable, field: str, held: Locations) -> None:
        if held:
            for i in bits(self.points.get(target, 0)):
                self._grow_field(i, field, held)
                if self.outside >> i & 1:
                    self._leak(held)

    def _leak_all(self, source: Hashable, _: Value) -> None:
        self._leak(self.points.get(source, 0))

    def _leak(self, found: Locations) -> None:
        new = self.reach(found) & ~self.outside
        if new:
            self.outside |= new
            for i in bits(new):
                self._again(self._watchers[i])

    def _watched(self, found: Locations) -> Locations:
        """What is reachable; the current rule is applied again when that grows."""
        reached = self.reach(found)
        for i in bits(reached):
            self._watchers[i].add(self._rule)
        return reached

    # Questions

    def reach(self, found: Locations) -> Locations:
        """The locations and everything inside them."""
        known = self._reached.get(found)
        if known is not None:
            return known
        seen = self._reach(found)
        if self._is_solved and len(self._reached) < MOST_KEPT:
            self._reached[found] = seen
        return seen

    def _reach(self, found: Locations) -> Locations:
        seen = pending = found
        tensors = self.by_kind["tensor"]
        while pending:
            low = pending & -pending
            i = low.bit_length() - 1
            inner = self.all_opaque if low & self.outside and not low & tensors else 0
            fields = self.fields[i]
            if fields is not None:
                for held in fields.values():
                    inner |= held
            pending = (pending ^ low) | inner & ~seen
            seen |= inner
        return seen

    def contents(self, found: Locations) -> Locations:
        """What is directly inside the locations."""
        inner = self.all_opaque if found & self.outside else 0
        for i in bits(found):
            for held in (self.fields[i] or {}).values():
                inner |= held
        return inner

    def seen(self, found: Locations) -> Locations:
        """The locations; all outside ones of a kind become one, since they may be the same."""
        foreign = found & self.outside
        if not foreign:
            return found
        result = found ^ foreign
        for kind, members in self.by_kind.items():
            if foreign & members:
                result |= self.all_opaque if kind == "other" else self.opaque[kind]
        return result
