"""Writes debug records.  debug_info.py describes what is in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import types as T
from ..source import Source, Span
from .debug_info import STRING_TABLE
from .pickling import Pickler
from .unparse import Text, is_known

SOURCE = T.TupleType((T.ListType(T.INT), T.INT, T.INT))
MARK = T.TupleType((T.INT, T.TupleType((SOURCE, T.INT, T.INT)), T.INT))


class DebugWriter:
    """Makes one debug record from the marks of a text.

    strings: the string table.  nothing: stands for the source of code of unknown origin.  tags:
    a number for each place.
    """

    def __init__(self) -> None:
        self.strings: dict[str, int] = {}
        self.sources: dict[Source, tuple[tuple[Any, ...], Callable[[int], int]]] = {}
        self.nothing: tuple[list[Any], int, int] = ([], self.index(""), 0)
        self.tags: dict[Any, int] = {}

    def index(self, text: str) -> int:
        """The index of a string in the table, to which it is added if it is new."""
        return self.strings.setdefault(text, len(self.strings))

    def dump(self, text: Text) -> bytes:
        """The record of a text, as a pickle."""
        marks = [self.mark(0, None)] if not text.marks or text.marks[0][0] else []
        marks += [self.mark(offset, span) for offset, span in text.marks]
        pickler = Pickler(no_storage)
        pickler.shared = {id(described): described for described, _ in self.sources.values()}
        pickler.shared[id(self.nothing)] = self.nothing
        strings = tuple(self.strings)
        return pickler.dump(
            (STRING_TABLE, strings, tuple(marks)),
            T.TupleType((T.STR, T.ListType(T.STR), T.ListType(MARK))),
        )

    def mark(self, offset: int, span: Span | None) -> tuple[Any, ...]:
        if span is None or not is_known(span) or span.end <= 0:
            place: tuple[Any, ...] = (self.nothing, 0, 0)
        else:
            described, to_bytes = self.source(span.source)
            place = (described, to_bytes(span.start), to_bytes(span.end))
        key = (id(place[0]), *place[1:])
        return (offset, place, self.tags.setdefault(key, len(self.tags)))

    def source(self, source: Source) -> tuple[tuple[Any, ...], Callable[[int], int]]:
        """The description of a source in the record, and a function from offsets in the source to
        those of bytes in the description."""
        known = self.sources.get(source)
        if known is None:
            lines = [
                " " * source.indent + line if line.strip() else line
                for line in source.text.splitlines(keepends=True)
            ]
            described = (
                [self.index(line) for line in lines],
                self.index(source.name),
                source.first_line,
            )
            known = self.sources[source] = (described, byte_offsets(source))
        return known


def byte_offsets(source: Source) -> Callable[[int], int]:
    """A function from offsets in a source to offsets of bytes in its text with the indentation that
    `Source` removed."""
    text, indent = source.text, source.indent
    if text.isascii() and not indent:
        return lambda offset: offset

    def convert(offset: int) -> int:
        lines = sum(1 for line in text[:offset].splitlines() if line.strip()) if indent else 0
        return len(text[:offset].encode("utf-8", "surrogatepass")) + indent * lines

    return convert


def no_storage(tensor: Any) -> str:
    raise TypeError("a debug record holds no tensors")
