"""The output of commands: tables, trees, text, JSON, progress.

Results go to stdout, everything else to stderr. In a pipe, all text is plain and never cut; on a
terminal, it is fitted to the width, with `rich` if that is installed. With --json, a command prints
one JSON value and nothing else. Names come from untrusted files, so control characters are
escaped.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

WAIT = 1.0
"""The seconds after which progress is shown on a terminal."""


@dataclass
class Tree:
    """A node of a tree: its text, a note printed after it, and its children."""

    text: str
    note: str = ""
    under: list[Tree] = field(default_factory=list)


def clean(text: Any) -> str:
    """Text for a terminal: control characters, including those for text direction, are escaped."""
    return "".join(c if c.isprintable() else escaped(c) for c in str(text))


def clean_lines(text: str) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else escaped(c) for c in text)


def escaped(c: str) -> str:
    n = ord(c)
    return f"\\x{n:02x}" if n < 256 else f"\\u{n:04x}" if n < 65536 else f"\\U{n:08x}"


class Output:
    """Prints results. json: print only data, as JSON. quiet: print no progress and no remarks."""

    def __init__(self, json: bool = False, quiet: bool = False) -> None:
        self.json, self.quiet = json, quiet
        self.is_terminal = sys.stdout.isatty()
        self.width = shutil.get_terminal_size().columns if self.is_terminal else 0
        self._console: Any = None
        self._progress = False  # whether the last line of stderr is one of progress

    @property
    def console(self) -> Any:
        """The console of `rich` on a terminal, if it is installed; else None."""
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
        """Print the result for --json."""
        print(json.dumps(strict(value), indent=2, allow_nan=False))

    def text(self, text: str) -> None:
        """Print lines unchanged, such as code."""
        print(clean_lines(text).rstrip("\n"))

    def heading(self, text: str) -> None:
        if self.console:
            from rich.text import Text

            self.console.print(Text(clean(text), style="bold"))
        else:
            print(self.cut(clean(text)))

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        right: str = "",
        spare: Sequence[str] = (),
    ) -> None:
        """Print columns with headings; those with an r in `right` are right-aligned numbers.

        Empty columns are left out. On a terminal that is too narrow, columns of text are shortened,
        and the columns in `spare` are dropped, in that order.
        """
        cells = [[clean(c) for c in row] for row in (columns, *rows)]
        filled = [k for k in range(len(columns)) if not rows or any(row[k] for row in cells[1:])]
        right = "".join(right.ljust(len(columns), "l")[k] for k in filled)
        cells = [[row[k] for k in filled] for row in cells]
        letters = right.ljust(len(filled), "l")
        for name in spare if self.is_terminal else ():
            if least_width(cells, letters) <= self.width:
                break
            if name not in cells[0]:
                continue
            k = cells[0].index(name)
            cells = [row[:k] + row[k + 1 :] for row in cells]
            letters = letters[:k] + letters[k + 1 :]
        widths = [max(map(len, column)) for column in zip(*cells)]
        if self.is_terminal:
            shrink(widths, letters, self.width)
        for number, row in enumerate(cells):
            parts = [
                fit(c, w).rjust(w) if letter == "r" else fit(c, w).ljust(w)
                for c, w, letter in zip(row, widths, letters)
            ]
            self.row(parts, letters, number == 0)

    def row(self, parts: Sequence[str], letters: str, is_head: bool) -> None:
        if not self.console:
            print("  ".join(parts).rstrip())
            return
        from rich.text import Text

        line = Text(no_wrap=True)
        for part, letter in zip(parts, letters):
            style = "bold" if is_head else "cyan" if letter == "r" else ""
            line.append(part + "  ", style=style)
        line.rstrip()
        self.console.print(line, overflow="crop")

    def tree(self, root: Tree) -> None:
        """Print a tree with lines, like the command `tree`."""
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
        """Print something that is not part of the result, to stderr."""
        if not self.quiet:
            self.complaint(text)

    def error(self, text: str) -> None:
        self.complaint(f"scriptlang: {text}")

    def complaint(self, text: str) -> None:
        """Print a further line of an error, in place of a line of progress."""
        start = "\r\x1b[K" if self._progress else ""
        self._progress = False
        print(f"{start}{clean_lines(text)}", file=sys.stderr)

    @contextlib.contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show progress on a terminal if the block takes more than a second."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        done = threading.Event()
        start = time.monotonic()

        def show() -> None:
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
                self._progress, wait = True, 0.5

        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            if self._progress:
                print("\r\x1b[K", end="", flush=True, file=sys.stderr)
            self._progress = False


def lines_of(root: Tree) -> Iterator[tuple[str, Tree]]:
    """The (prefix of lines, node) pairs of a tree, from top to bottom."""
    pending: list[tuple[str, str, Tree]] = [("", "", root)]
    while pending:
        lead, below, node = pending.pop()
        yield lead, node
        last = len(node.under) - 1
        for k, child in reversed(list(enumerate(node.under))):
            mine, theirs = ("└─ ", "   ") if k == last else ("├─ ", "│  ")
            pending.append((below + mine, below + theirs, child))


LEAST = 10
"""The least width to which a column of text is shortened."""


def least_width(cells: Sequence[Sequence[str]], letters: str) -> int:
    widths = [max(map(len, column)) for column in zip(*cells)]
    kept = [w if letter == "r" else min(w, 2 * LEAST) for w, letter in zip(widths, letters)]
    return sum(kept) + 2 * (len(kept) - 1)


def shrink(widths: list[int], letters: str, most: int) -> None:
    """Narrow the widest columns of text until the row fits."""
    texts = [i for i, letter in enumerate(letters) if letter != "r"]
    while texts and sum(widths) + 2 * (len(widths) - 1) > most:
        widest = max(texts, key=lambda i: widths[i])
        if widths[widest] <= LEAST:
            break
        widths[widest] -= 1


def fit(text: str, width: int) -> str:
    """The text, shortened if it is too long; of a path, the end is kept."""
    if width <= 0 or len(text) <= width:
        return text
    if "/" in text and " " not in text:
        return "…" + text[len(text) - max(width - 1, 0) :]
    return text[: max(width - 1, 0)] + "…"


def strict(value: Any) -> Any:
    """A value as JSON has it: numbers that are not finite are the strings "NaN", "Infinity" and
    "-Infinity"."""
    if isinstance(value, dict):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    known = value is None or isinstance(value, (str, int, float))
    return value if known else strict(plain(value))


def plain(value: Any) -> Any:
    """Convert what JSON lacks: arrays become lists, complex numbers pairs, all else text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, complex):
        return [value.real, value.imag]
    return str(value)


def size_text(count: float) -> str:
    """A number of bytes for people: `45.1 MB`."""
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
