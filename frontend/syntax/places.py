"""Positions in sources: the span of a syntax node, and the positions that errors report."""

from __future__ import annotations

import re
from typing import Any

from scriptlang.errors import CALLED, COMPILING, CompileError
from scriptlang.source import Source, Span


def span_of(node: Any, source: Source) -> Span:
    """The span of a syntax node in its source."""
    if source.is_ascii:
        starts = source.line_starts
        return Span(
            source,
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )
    return Span(
        source,
        _offset(source, node.lineno, node.col_offset),
        _offset(source, node.end_lineno, node.end_col_offset),
    )


def _offset(source: Source, line: int, column: int) -> int:
    """Offset in characters of a position that `ast` gives, whose columns count UTF-8 bytes."""
    start = source.offset(line, 0)
    text = source.line_text(start)[1]
    return start + len(text.encode()[:column].decode(errors="ignore"))


def placed(error: CompileError, span: Span) -> CompileError:
    """Add the span that led to an error; returns the error.

    An error without a span gets this one.  An error in another source names it in its chain.
    """
    if error.span is None:
        error.span = span
    elif error.span.source.name != span.source.name:
        *rest, last = error.chain or (f"compiling `{span.text}`",)
        error.chain = (*rest, last if " at " in last else f"{last}{CALLED}{span.place}")
    return error


def friendly(text: str) -> str:
    """A text in which qualified names are shortened: `__torch__.a.b.C` becomes `C`."""
    return re.sub(r"__torch__\.(?:\w+\.)*?((?:[A-Z]\w*\.)?\w+)(?![\w.])", r"\1", text)


def called_at(error: CompileError, name: str, span: Span) -> CompileError:
    """Add the position of a call to an error in the called function `name`; returns the error."""
    line = f"{COMPILING}{friendly(name)}"
    error.chain = tuple(f"{line}{CALLED}{span.place}" if c == line else c for c in error.chain)
    return error
