"""Draws the figures of the documents: SVG files from the CSV files beside them.

    python docs/figures/draw.py

`FIGURES` says which rows and columns a figure has.  A figure has horizontal bars on a logarithmic
scale, for ratios; a range such as `2.0 - 2.2` is drawn to its lower end.  Nothing but the standard
library is needed.  `tests/test_docs.py` checks that the SVG files are what this writes.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

FOLDER = Path(__file__).resolve().parent

COLOURS = ("#3b6fb6", "#d08a2e", "#5a9a5a")
LABELS, BARS, NUMBERS = 300, 440, 90  # widths, in pixels
BAR, GAP = 9, 8  # heights


class Figure(NamedTuple):
    """One SVG file.

    rows: of the CSV file, by the values of some columns.  columns: those that are drawn, with
    their names.  label: the column that names a row.
    """

    name: str
    title: str
    source: str
    columns: dict[str, str]
    rows: dict[str, str] = {}
    label: str = "program"
    least: float = 0.5
    most: float = 32


AGAINST = {"torch.jit frozen": "against torch.jit, frozen", "onnxruntime": "against onnxruntime"}

FIGURES = (
    Figure(
        "speed_xeon",
        "How many times as fast scriptlang is: Xeon with AVX-512, one thread",
        "speed.csv",
        AGAINST,
        {"machine": "Xeon", "threads": "1"},
    ),
    Figure(
        "speed_zen5",
        "How many times as fast scriptlang is: AMD Zen 5, one thread",
        "speed.csv",
        AGAINST,
        {"machine": "Zen 5", "threads": "1"},
    ),
    Figure(
        "speed_zen5_2",
        "How many times as fast scriptlang is: AMD Zen 5, two threads",
        "speed.csv",
        AGAINST,
        {"machine": "Zen 5", "threads": "2"},
    ),
    Figure(
        "goals",
        "Times of frozen torch.jit divided by scriptlang's: goals and what is reached",
        "goals.csv",
        {
            "torch.jit frozen, goal": "goal",
            "torch.jit frozen, Zen 5": "Zen 5",
            "torch.jit frozen, Xeon": "Xeon",
        },
    ),
    Figure(
        "programs",
        "Programs without tensors: how many times as fast scriptlang is",
        "programs.csv",
        {"torch.jit": "against torch.jit", "CPython": "against CPython 3.11"},
        most=64,
    ),
)


def number(text: str) -> float:
    """The number that is drawn for a cell: of a range its lower end."""
    return float(text.partition(" - ")[0])


def rows_of(figure: Figure) -> Iterator[dict[str, str]]:
    with open(FOLDER / figure.source, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if all(row[k] == v for k, v in figure.rows.items()):
                yield row


def text(x: float, y: float, content: str, **attributes: str) -> str:
    more = "".join(f' {k.replace("_", "-")}="{v}"' for k, v in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(content)}</text>'


def svg(figure: Figure) -> str:
    """The figure as the text of an SVG file."""
    rows = list(rows_of(figure))
    names = list(figure.columns)
    height_of_row = BAR * len(names) + GAP
    top = 62
    width, height = LABELS + BARS + NUMBERS, top + height_of_row * len(rows) + 12
    scale = BARS / math.log(figure.most / figure.least)

    def place(ratio: float) -> float:
        return LABELS + scale * math.log(min(max(ratio, figure.least), figure.most) / figure.least)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        text(10, 18, figure.title, font_size="14", font_weight="bold"),
    ]
    for k, name in enumerate(names):
        out.append(
            f'<rect x="{LABELS + 190 * k}" y="27" width="10" height="10" fill="{COLOURS[k]}"/>'
        )
        out.append(text(LABELS + 190 * k + 15, 36, figure.columns[name]))
    tick = figure.least
    while tick <= figure.most:
        x = place(tick)
        out.append(
            f'<line x1="{x:.1f}" y1="54" x2="{x:.1f}" y2="{height - 8}" '
            f'stroke="{"#555" if tick == 1 else "#ddd"}"/>'
        )
        out.append(text(round(x, 1), 51, f"{tick:g}", text_anchor="middle", fill="#555"))
        tick *= 2
    for n, row in enumerate(rows):
        y = top + n * height_of_row
        out.append(
            text(LABELS - 8, y + BAR * len(names) / 2 + 4, row[figure.label], text_anchor="end")
        )
        for k, name in enumerate(names):
            if not row[name]:
                continue
            at, one = place(number(row[name])), place(1)
            left, right = sorted((at, one))
            out.append(
                f'<rect x="{left:.1f}" y="{y + k * BAR}" '
                f'width="{max(right - left, 1):.1f}" height="{BAR - 1}" '
                f'fill="{COLOURS[k]}"/>'
            )
            out.append(
                text(round(right + 4, 1), y + k * BAR + 8, row[name], font_size="9", fill="#333")
            )
    return "\n".join([*out, "</svg>", ""])


def main() -> None:
    for figure in FIGURES:
        (FOLDER / f"{figure.name}.svg").write_text(svg(figure), encoding="utf-8")


if __name__ == "__main__":
    main()
