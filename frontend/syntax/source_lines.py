"""The lines of a function in its file, found by its indentation.

Python's own `inspect.getsourcelines` reads the function token by token; this takes a tenth of the
time and leaves to it what it cannot tell.
"""

from __future__ import annotations

import inspect
import linecache
import sys
import types as python_types
from typing import Any

from scriptlang.source import Source, Span


def caller() -> Span | None:
    """The line of the user's program that is running; None where its text is not there."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("scriptlang"):
        frame = frame.f_back
    if frame is None:
        return None
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals)
    text = line.strip()
    if not text:
        return None
    source = Source(line, frame.f_code.co_filename, frame.f_lineno)
    start = line.index(text)
    return Span(source, start, start + len(text))


def source_lines(obj: Any) -> tuple[list[str], int]:
    """The lines of a function or class, and the number of the first, as `getsourcelines` has them.

    Raises OSError or TypeError where there is no source.
    """
    fn = inspect.unwrap(obj) if callable(obj) and not isinstance(obj, type) else obj
    if isinstance(fn, python_types.FunctionType) and fn.__name__ != "<lambda>":
        found = _block(fn)
        if found is not None:
            return found, fn.__code__.co_firstlineno
    return inspect.getsourcelines(obj)


def _block(fn: python_types.FunctionType) -> list[str] | None:
    """The lines of a function; None where they cannot be told by indentation."""
    file = fn.__code__.co_filename
    lines = linecache.getlines(file, fn.__globals__)
    start = fn.__code__.co_firstlineno - 1
    if not 0 <= start < len(lines):
        return None
    indent = _indent(lines[start])
    end = next(
        (
            i
            for i in range(start, len(lines))
            if lines[i].lstrip().startswith(("def ", "async def "))
        ),
        None,
    )
    if end is None or _indent(lines[end]) != indent:
        return None
    end += 1
    while end < len(lines) and (_indent(lines[end]) > indent or _goes_on(lines[end])):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    block = lines[start:end]
    return block if _is_whole(block) else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _goes_on(line: str) -> bool:
    """Whether a line that is not indented may still belong to the function."""
    text = line.strip()
    return not text or text[0] in ")]}#"


def _is_whole(block: list[str]) -> bool:
    """Whether no string, bracket or comment can hold text that looks like the end."""
    text = "".join(block)
    return (
        all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))
        and text.count('"""') % 2 == 0
        and text.count("'''") % 2 == 0
        and not block[-1].rstrip().endswith("\\")
        and not block[-1].strip().startswith("#")
    )
