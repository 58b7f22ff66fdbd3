"""Kinds of arguments, for each of which a straight graph is made.

The first graph is made for exactly the sizes of the first call. A call with other sizes makes a
graph in which the sizes that differ are symbols, so that it can be reused for any such sizes. Sizes
0 and 1 never become symbols, since they broadcast. Sizes that changed in the same way are one
symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...dtypes import get_default_dtype
from ...objects import ScriptObject
from ...passes.shape_facts import TensorFacts, tensor_facts
from ...passes.sizes import Size, symbol
from ...tensors import Tensor

MOST_MADE = 32
"""The most kinds of arguments that graphs are made for; calls with others use the tape."""

Pattern = tuple[Any, ...]
"""A size for each dimension of all tensors; a pair (the sizes of two calls) stands for a symbol."""


class Taken:
    """Arguments, taken apart.

    kind: what a graph depends on other than sizes: dtypes, ranks, values that are not floats.
    sizes: the sizes of all tensors, one after the other. leaves: the tensors and floats.
    """

    __slots__ = ("kind", "leaves", "sizes")

    def __init__(self, values: Sequence[Any]) -> None:
        kind: list[Any] = []
        sizes: list[int] = []
        self.leaves: list[Any] = []
        for value in values:
            self.take(value, kind, sizes)
        self.kind, self.sizes = tuple(kind), tuple(sizes)

    def take(self, value: Any, kind: list[Any], sizes: list[int]) -> None:
        cls = type(value)
        if cls is Tensor or isinstance(value, Tensor):
            size = value._size
            kind.append(len(size))
            kind.append(value.dtype)
            sizes += size
            self.leaves.append(value)
        elif cls is float:
            kind.append(cls)
            self.leaves.append(value)
        elif cls is list or isinstance(value, tuple):
            kind.append((cls, len(value)))
            for part in value:
                self.take(part, kind, sizes)
        elif cls is dict:
            kind.append((cls, tuple(value)))
            for part in value.values():
                self.take(part, kind, sizes)
        elif isinstance(value, ScriptObject):
            kind.append(id(value))
        else:
            kind.append((cls, value))


class Taped:
    """Says that calls use the tape, and why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.default = get_default_dtype()

    def holds(self) -> bool:
        return get_default_dtype() is self.default


class Kinds:
    """The graphs that were made, by kinds of arguments; at most `most` of them."""

    def __init__(self, most: int = MOST_MADE) -> None:
        self.most = most
        self.exact: dict[Any, Any] = {}
        self.patterns: list[tuple[Any, Pattern, Any]] = []
        self.last: dict[Any, Pattern] = {}
        self.rigid: set[Any] = set()

    def find(self, taken: Taken) -> Any:
        """The graph for such arguments, or None."""
        made = self.exact.get((taken.kind, taken.sizes))
        if made is None:
            for kind, pattern, found in self.patterns:
                if kind == taken.kind and matches(pattern, taken.sizes):
                    made = found
                    break
        return made if made is not None and made.holds() else None

    def add(self, taken: Taken, make: Callable[[list[TensorFacts]], Any]) -> Any:
        """Make a graph for new arguments. make: takes the facts of the tensors, in order, and
        returns a Taped if it fails."""
        kind, sizes = taken.kind, taken.sizes
        if len(self.exact) + len(self.patterns) >= self.most:
            return Taped(f"it was called with more than {self.most} kinds of arguments")
        before = self.last.get(kind)
        pattern: Pattern = sizes if before is None else merged(before, sizes)
        self.last[kind] = pattern
        if pattern != sizes and kind not in self.rigid and matches(pattern, sizes):
            made = make(facts_of(taken, pattern))
            if not isinstance(made, Taped):
                self.patterns = [p for p in self.patterns if p[:2] != (kind, pattern)]
                self.patterns.insert(0, (kind, pattern, made))
                return made
            self.rigid.add(kind)
        made = self.exact[kind, sizes] = make(facts_of(taken, sizes))
        return made


def merged(before: Pattern, sizes: tuple[int, ...]) -> Pattern:
    """Equal sizes are kept, and the others become symbols."""
    return tuple(
        a if a == b else b if type(a) is int and (a < 2 or b < 2) else (a, b)
        for a, b in zip(before, sizes)
    )


def matches(pattern: Pattern, sizes: tuple[int, ...]) -> bool:
    known: dict[Any, int] = {}
    for p, n in zip(pattern, sizes):
        if type(p) is int:
            if p != n:
                return False
        elif n < 2 or known.setdefault(p, n) != n:
            return False
    return True


def greatest(part: Any) -> int:
    """The greatest of the sizes of calls that a symbol stands for."""
    return part if type(part) is int else max(map(greatest, part))


def facts_of(taken: Taken, pattern: Pattern) -> list[TensorFacts]:
    """The facts of the tensors among the arguments."""
    symbols: dict[Any, Size] = {}
    facts, at = [], 0
    for leaf in taken.leaves:
        if type(leaf) is float:
            continue
        shape: list[Size] = []
        for p in pattern[at : at + len(leaf._size)]:
            if type(p) is not int and p not in symbols:
                symbols[p] = symbol(f"s{len(symbols)}", 2, likely=greatest(p))
            shape.append(p if type(p) is int else symbols[p])
        at += len(leaf._size)
        facts.append(tensor_facts(shape, leaf.dtype))
    return facts
