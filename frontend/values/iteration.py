"""Sugared values of the iterables that `range`, `enumerate` and `zip` make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Value

from .sugared import Arg, StaticSequence, SugaredValue

if TYPE_CHECKING:
    from ...source import Span
    from .builder import Builder


class RangeValue(SugaredValue):
    """`range(stop)` or `range(start, stop, step)`."""

    kind = "a range"

    def __init__(self, b: Builder, args: Sequence[Arg], span: Span) -> None:
        if not 1 <= len(args) <= 3:
            bound = (
                f"at most 3 arguments, got {len(args)}" if args else "at least 1 arguments, got 0"
            )
            raise CompileError(f"range expected {bound}", span, "write range(start, stop, step)")
        values = []
        for i, a in enumerate(args):
            value = a.value.value(b, a.span)
            if value.type != T.INT:
                raise CompileError(
                    f"all inputs of range must be ints, found {value.type.annotation} in "
                    f"argument {i}",
                    a.span,
                    "convert it: int(x)",
                )
            values.append(value)
        self.simple_range = len(values) == 1
        self.stop = values[0] if self.simple_range else values[1]
        if not self.simple_range:
            self.start = values[0]
            self.step = values[2] if len(values) == 3 else b.constant(1, span)

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        return self

    def length(self, b: Builder, span: Span) -> Value | None:
        if self.simple_range:
            return self.stop
        return b.emit("aten::__range_length", [self.start, self.stop, self.step], span)

    def element(self, b: Builder, index: Value, span: Span) -> SugaredValue:
        if self.simple_range:
            return b.simple(index)
        return b.simple(b.emit("aten::__derive_index", [index, self.start, self.step], span))

    def get_item(self, b: Builder, index: Arg, span: Span) -> SugaredValue | None:
        return self.element(b, index.value.value(b, index.span), span)


class ZipValue(SugaredValue):
    """`zip(x, y)`: its elements are tuples; the shortest iterable determines their number."""

    kind = "a zip"

    def __init__(self, parts: Sequence[SugaredValue]) -> None:
        self.parts = list(parts)

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        return self

    def length(self, b: Builder, span: Span) -> Value | None:
        lengths = [n for n in (p.length(b, span) for p in self.parts) if n is not None]
        if not lengths:
            return None
        if len(lengths) == 1:
            return lengths[0]
        return b.emit("prim::min", [b.list(lengths, T.INT, span)], span)

    def element(self, b: Builder, index: Value, span: Span) -> SugaredValue:
        return TupleOf([p.element(b, index, span) for p in self.parts])

    def static_elements(self, b: Builder, span: Span) -> list[SugaredValue] | None:
        """The tuples, if the number of elements of one part is known; None if of no part.

        Raises CompileError if it is known of some parts only.
        """
        parts: list[Any] = [
            p if found is None else found
            for p, found in ((p, known_elements(b, p, span)) for p in self.parts)
        ]
        if not any(isinstance(p, list) for p in parts):
            return None
        if any(not isinstance(p, (list, CountValue)) for p in parts):
            self.fail(
                "mixes tuples or modules, whose number is known at compile time, with a "
                "value whose number is not",
                span,
                "make a list of the tuple first",
            )
        count = min(len(p) for p in parts if isinstance(p, list))
        rows: list[SugaredValue] = []
        for i in range(count):
            turn = None
            row = []
            for part in parts:
                if isinstance(part, list):
                    row.append(part[i])
                else:
                    turn = turn or b.constant(i, span)
                    row.append(part.element(b, turn, span))
            rows.append(TupleOf(row))
        return rows


class EnumerateValue(ZipValue):
    """`enumerate(x, start)`: a zip of a CountValue and the iterable."""

    kind = "an enumerate"


class CountValue(SugaredValue):
    """The numbers from `start` on (from 0, if it is None), without end: the first of each pair."""

    kind = "a count"

    def __init__(self, start: Value | None) -> None:
        self.start = start

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        return self

    def length(self, b: Builder, span: Span) -> Value | None:
        return None

    def element(self, b: Builder, index: Value, span: Span) -> SugaredValue:
        if self.start is None:
            return b.simple(index)
        return b.simple(b.emit("aten::add", [index, self.start], span))


class TupleOf(SugaredValue):
    """A tuple of sugared values; it becomes a value of the graph only if one is needed."""

    kind = "a tuple"

    def __init__(self, parts: Sequence[SugaredValue]) -> None:
        self.parts = list(parts)

    def value(self, b: Builder, span: Span) -> Value:
        return b.tuple([p.value(b, span) for p in self.parts], span)

    def unpack(self, b: Builder, span: Span, count: int | None = None) -> list[SugaredValue] | None:
        return self.parts

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        return b.simple(self.value(b, span)).attr(b, name, span)

    def get_item(self, b: Builder, index: Arg, span: Span) -> SugaredValue | None:
        value = index.value.value(b, index.span)
        if not value.is_constant or not -len(self.parts) <= value.constant < len(self.parts):
            self.fail("needs an index that is known and in range", index.span)
        return self.parts[value.constant]

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        return b.simple(self.value(b, span))


def known_elements(b: Builder, iterable: SugaredValue, span: Span) -> list[SugaredValue] | None:
    """The elements of an iterable if their number is known at compile time; else None."""
    if isinstance(iterable, StaticSequence):
        return iterable.elements
    if b.is_simple(iterable) and isinstance(iterable.type(b, span), T.TupleType):
        return iterable.unpack(b, span)
    return iterable.static_elements(b, span) if isinstance(iterable, ZipValue) else None
