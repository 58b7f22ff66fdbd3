"""What commands say: tables, trees, text, JSON, progress.

Results go to stdout, all else to stderr.  In a pipe everything is plain text, whole and uncut; on a
terminal it fits the width, with `rich` if that is installed.  With --json a command prints one JSON
value and nothing else.  Names come from files of strangers: what a terminal would obey is escaped.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

WAIT = 1.0
"""Seconds after which a terminal is told what takes so long."""


@dataclass
class Tree:
    """A node of a tree: its text, a note shown behind it, and what is under it."""

    text: str
    note: str = ""
    under: list[Tree] = field(default_factory=list)


def clean(text: Any) -> str:
    """Text for a terminal: control characters, and those that change directions, are escaped."""
    return "".join(c if c.isprintable() else escaped(c) for c in str(text))


def clean_lines(text: str) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else escaped(c) for c in text)


def escaped(c: str) -> str:
    n = ord(c)
    return f"\\x{n:02x}" if n < 256 else f"\\u{n:04x}" if n < 65536 else f"\\U{n:08x}"


class Output:
    """Where a command writes to.  json: print data alone.  quiet: no progress, no remarks."""

    def __init__(self, json: bool = False, quiet: bool = False) -> None:
        self.json, self.quiet = json, quiet
        self.is_terminal = sys.stdout.isatty()
        self.width = shutil.get_terminal_size().columns if self.is_terminal else 0
        self._console: Any = None

    @property
    def console(self) -> Any:
        """rich's, on a terminal where it is installed; else None."""
        if self._console is None and self.is_terminal and not os.environ.get("NO_COLOR"):
            try:
                from rich.console import Console
            except ImportError:
                self._console = False
            else:
                self._console = Console(highlight=False, width=self.width)
        return self._console or None

    # Results

    def data(self, value: Any) -> None:
        """The result for --json."""
        print(json.dumps(value, indent=2, default=plain, allow_nan=True))

    def text(self, text: str) -> None:
        """Lines as they are, such as code."""
        print(clean_lines(text).rstrip("\n"))

    def heading(self, text: str) -> None:
        if self.console:
            from rich.text import Text

            self.console.print(Text(clean(text), style="bold"))
        else:
            print(self.cut(clean(text)))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], right: str = "") -> None:
        """Columns under names; those whose letter in `right` is r are numbers."""
        if self.console:
            return self._rich_table(columns, rows, right)
        cells = [[clean(c) for c in row] for row in (columns, *rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        self.shrink(widths, right)
        for row in cells:
            parts = [
                fit(c, w).rjust(w) if right[i : i + 1] == "r" else fit(c, w).ljust(w)
                for i, (c, w) in enumerate(zip(row, widths))
            ]
            print("  ".join(parts).rstrip())

    def shrink(self, widths: list[int], right: str) -> None:
        """On a terminal, take from the widest columns of text what is too much."""
        if not self.is_terminal:
            return
        texts = [i for i in range(len(widths)) if right[i : i + 1] != "r"]
        while texts and sum(widths) + 2 * (len(widths) - 1) > self.width:
            widest = max(texts, key=lambda i: widths[i])
            if widths[widest] <= 8:
                break
            widths[widest] -= 1

    def _rich_table(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], right: str
    ) -> None:
        from rich.table import Table
        from rich.text import Text

        made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for i, name in enumerate(columns):
            is_number = right[i : i + 1] == "r"
            made.add_column(
                Text(name),
                justify="right" if is_number else "left",
                no_wrap=True,
                overflow="ellipsis",
                min_width=None if not is_number else min(len(name), 8),
                style="cyan" if is_number else "",
            )
        for row in rows:
            made.add_row(*(Text(clean(cell)) for cell in row))
        self.console.print(made)

    def tree(self, root: Tree) -> None:
        """A tree with lines, as `tree` draws directories."""
        for lead, node in lines_of(root):
            text = lead + clean(node.text)
            note = clean(node.note)
            if self.console:
                from rich.text import Text

                line = Text.assemble((lead, "dim"), clean(node.text))
                line.append(f"  {note}" if note else "", style="cyan")
                line.truncate(self.width, overflow="ellipsis")
                self.console.print(line)
            else:
                print(self.cut(f"{text}  {note}".rstrip()))

    def cut(self, line: str) -> str:
        return fit(line, self.width) if self.is_terminal else line

    # Remarks

    def remark(self, text: str) -> None:
        """Something besides the result."""
        if not self.quiet:
            print(clean_lines(text), file=sys.stderr)

    def error(self, text: str) -> None:
        print(f"scriptlang: {clean_lines(text)}", file=sys.stderr)

    @contextlib.contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Tell a terminal what is being done once it takes over a second."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        done = threading.Event()
        start = time.monotonic()
        shown = False

        def show() -> None:
            nonlocal shown
            wait = WAIT
            while not done.wait(wait):
                seconds = time.monotonic() - start
                line = f"{what} ... {seconds:.0f} s"
                print(
                    f"\r{fit(line, shutil.get_terminal_size().columns - 1)}",
                    end="",
                    flush=True,
                    file=sys.stderr,
                )
                shown, wait = True, 0.5

        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            if shown:
                print("\r\x1b[K", end="", flush=True, file=sys.stderr)


def lines_of(root: Tree) -> Iterator[tuple[str, Tree]]:
    """(lines before it, node) of each node, from above."""
    pending: list[tuple[str, str, Tree]] = [("", "", root)]
    while pending:
        lead, below, node = pending.pop()
        yield lead, node
        last = len(node.under) - 1
        for k, child in reversed(list(enumerate(node.under))):
            mine, theirs = ("└─ ", "   ") if k == last else ("├─ ", "│  ")
            pending.append((below + mine, below + theirs, child))


def fit(text: str, width: int) -> str:
    return text if width <= 0 or len(text) <= width else text[: max(width - 1, 0)] + "…"


def plain(value: Any) -> Any:
    """What JSON has not: arrays are lists, all else its text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, complex):
        return [value.real, value.imag]
    return str(value)


def size_text(count: float) -> str:
    """Bytes for people: `45.1 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError


def count_text(count: float) -> str:
    """A number for people: `11.7 M`."""
    for unit in ("", " k", " M", " G", " T"):
        if count < 1000 or unit == " T":
            return f"{count:.0f}" if not unit else f"{count:.3g}{unit}"
        count /= 1000
    raise AssertionError
