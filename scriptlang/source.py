"""Locations in program text: Source, Span, and how errors show them."""

from __future__ import annotations

import re
from functools import cached_property

from .records import record

WIDEST = 160
"""The most columns of a source line that an error shows."""


@record(frozen=True, eq=False)
class Source:
    """A piece of program text and where it comes from.

    first_line: the line of the file at which `text` starts (1-based). indent: the number of columns
    that were removed from each line when the text was dedented.
    """

    text: str
    name: str = "<string>"
    first_line: int = 1
    indent: int = 0

    @cached_property
    def is_ascii(self) -> bool:
        return self.text.isascii()

    @cached_property
    def line_starts(self) -> list[int]:
        """The offsets at which the lines of `text` start."""
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """The (line, column) in the file of an offset in the text, 1-based and 0-based."""
        from bisect import bisect_right

        i = bisect_right(self.line_starts, offset) - 1
        return self.first_line + i, offset - self.line_starts[i] + self.indent

    def offset(self, line: int, column: int) -> int:
        """The offset of a 1-based line of the text and a 0-based column."""
        i = min(max(line - 1, 0), len(self.line_starts) - 1)
        return self.line_starts[i] + column

    def line_text(self, offset: int) -> tuple[int, str]:
        """The (start offset, text) of the line that contains `offset`, without its newline."""
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", start)
        return start, self.text[start:] if end < 0 else self.text[start:end]


@record(frozen=True, eq=False)
class Span:
    """The half-open range [start, end) of a Source."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def place(self) -> str:
        """`file:line:column`; the column is 0-based, as PyTorch prints it."""
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def excerpt(self) -> str:
        """The first line of the span, with the part of the span on that line underlined."""
        start, line = self.source.line_text(self.start)
        begin = self.start - start
        end = max(begin + 1, min(self.end - start, len(line)))
        if len(line) > WIDEST:  # only the part around the span
            cut = max(0, begin - WIDEST // 2)
            line = line[cut : cut + WIDEST]
            begin, end = begin - cut, min(end - cut, max(begin - cut + 1, len(line)))
        pad = "".join("\t" if c == "\t" else " " for c in line[:begin])
        return f"    {line}\n    {pad}{'~' * (end - begin)}"
