"""Draws the figures of the documents: SVG files from the CSV files beside them.

    python docs/figures/draw.py

`FIGURES` says which rows and columns a figure has.  A figure has horizontal bars: on a logarithmic
scale, which starts at 1, for ratios; or on a linear one, which starts at 0.  A range such as
`2.0 - 2.2` is drawn to its lower end.  Figures have a ground of their own and follow the reader's
choice of light or dark.  Nothing but the standard library is needed.  `tests/test_docs.py` checks
that the SVG files are what this writes.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

FOLDER = Path(__file__).resolve().parent

STYLE = """<style>
text { font-family: system-ui, sans-serif; fill: #1f2328 }
.ground { fill: #ffffff; stroke: #d8dee4 } .note { fill: #59636e }
.grid { stroke: #e4e8ec } .one { stroke: #8b949e }
.bar0 { fill: #2f6fc4 } .bar1 { fill: #d08a2e } .bar2 { fill: #5a9a5a }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .ground { fill: #161b22; stroke: #30363d } .note { fill: #9da7b1 }
.grid { stroke: #2a3038 } .one { stroke: #6e7681 }
.bar0 { fill: #5b9bf0 } .bar1 { fill: #e0a04a } .bar2 { fill: #77bd77 }
}
</style>"""


class Figure(NamedTuple):
    """One SVG file.

    rows: of the CSV file, by the values of some columns.  only: the labels of those that are drawn,
    with what they are called there; all where it is empty.  columns: those that are drawn, with
    their names.  label: the column that names a row.  least and most: the ends of the scale;
    linear where `least` is 0.  ticks: marks of a linear scale.  unit: behind each number.
    big: fewer and larger bars, for readers who want one glance.
    """

    name: str
    title: str
    source: str
    columns: dict[str, str]
    rows: dict[str, str] = {}
    only: dict[str, str] = {}
    label: str = "program"
    least: float = 0.5
    most: float = 32
    ticks: tuple[float, ...] = ()
    unit: str = ""
    big: bool = False

    @property
    def marks(self) -> list[float]:
        """The numbers at the top: powers of two on a logarithmic scale."""
        if not self.least:
            return list(self.ticks)
        doublings = round(math.log2(self.most / self.least))
        return [self.least * 2**k for k in range(doublings + 1)]


class Sizes(NamedTuple):
    """Widths and heights in pixels."""

    labels: int
    bars: int
    numbers: int
    bar: int
    gap: int
    text: int
    small: int


FINE = Sizes(labels=300, bars=440, numbers=90, bar=10, gap=8, text=12, small=10)
BIG = Sizes(labels=200, bars=440, numbers=80, bar=15, gap=11, text=14, small=13)

AGAINST = {"torch.jit frozen": "against torch.jit, frozen", "onnxruntime": "against onnxruntime"}

FIGURES = (
    Figure(
        "speed",
        "How many times as fast as the others (Xeon, one thread)",
        "speed.csv",
        AGAINST,
        {"machine": "Xeon", "threads": "1"},
        {
            "silero-vad, a chunk": "silero-vad",
            "ResNet-18, 224 x 224": "ResNet-18",
            "ResNet-50, 224 x 224": "ResNet-50",
            "MobileNetV2": "MobileNetV2",
            "ViT-tiny": "ViT-tiny",
            "BERT-base, 128 tokens": "BERT-base",
            "LSTM, 2 x 256 units": "LSTM",
            "MLP of 8 to 64 units": "small MLP",
        },
        least=0,
        most=10,
        ticks=(0, 1, 2, 4, 6, 8, 10),
        big=True,
    ),
    Figure(
        "size",
        "Size of the library, in megabytes",
        "size.csv",
        {"megabytes": "size"},
        label="library",
        least=0,
        most=450,
        ticks=(0, 100, 200, 300, 400),
        unit=" MB",
        big=True,
    ),
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
    Figure(
        "training",
        "Training steps on a Zen 5: times of the others divided by scriptlang's program",
        "training.csv",
        {
            "torch, eager": "torch, eager",
            "JAX": "JAX",
            "torch.compile": "torch.compile",
            "loop": "a loop here",
        },
        least=0.5,
        most=16,
    ),
    Figure(
        "gradients",
        "Forces and gradients: times of torch, eager, divided by scriptlang's",
        "gradients.csv",
        {"torch, eager": "torch, eager", "torch.jit": "torch.jit"},
        least=1,
        most=32,
    ),
)


def number(text: str) -> float:
    """The number that is drawn for a cell: of a range its lower end."""
    return float(text.partition(" - ")[0])


def rows_of(figure: Figure) -> Iterator[dict[str, str]]:
    with open(FOLDER / figure.source, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            wanted = not figure.only or row[figure.label] in figure.only
            if wanted and all(row[k] == v for k, v in figure.rows.items()):
                yield row


def text(x: float, y: float, size: int, content: str, **attributes: str) -> str:
    more = "".join(
        f' {k.rstrip("_").replace("_", "-")}="{v}"' for k, v in sorted(attributes.items())
    )
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}"{more}>{escape(content)}</text>'


class Drawing:
    """A figure on its way to SVG: sizes, the scale, lines of the file."""

    def __init__(self, figure: Figure):
        self.figure = figure
        self.sizes = BIG if figure.big else FINE
        self.rows = list(rows_of(figure))
        self.names = list(figure.columns)
        self.top = (72 if figure.big else 66) - 18 * (len(self.names) == 1)
        self.row_height = self.sizes.bar * len(self.names) + self.sizes.gap
        self.width = self.sizes.labels + self.sizes.bars + self.sizes.numbers
        self.height = self.top + self.row_height * len(self.rows) + 12

    def place(self, value: float) -> float:
        """Where a value is on the scale."""
        least, most = self.figure.least, self.figure.most
        value = min(max(value, least), most)
        if least:
            part = math.log(value / least) / math.log(most / least)
        else:
            part = value / most
        return self.sizes.labels + self.sizes.bars * part

    def head(self) -> Iterator[str]:
        """The ground, the title, the legend."""
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" role="img">'
        )
        yield f"<title>{escape(self.figure.title)}</title>"
        yield STYLE
        yield (
            f'<rect class="ground" x="0.5" y="0.5" rx="8" width="{self.width - 1}" '
            f'height="{self.height - 1}"/>'
        )
        yield text(14, 24, self.sizes.text + 2, self.figure.title, font_weight="bold")
        for k, name in enumerate(self.names if len(self.names) > 1 else ()):
            x = self.sizes.labels + 190 * k
            yield f'<rect class="bar{k}" x="{x}" y="33" width="10" height="10"/>'
            yield text(x + 15, 42, self.sizes.small + 1, self.figure.columns[name])

    def scale(self) -> Iterator[str]:
        """Lines with their numbers; the one of equal times is darker."""
        for mark in self.figure.marks:
            x = self.place(mark)
            one = mark == (0 if self.figure.unit else 1)
            yield (
                f'<line class="{"one" if one else "grid"}" x1="{x:.1f}" x2="{x:.1f}" '
                f'y1="{self.top - 8}" y2="{self.height - 8}"/>'
            )
            at = self.top - 12
            label = f"{mark:g}"
            yield text(
                round(x, 1), at, self.sizes.small, label, class_="note", text_anchor="middle"
            )

    def bars(self) -> Iterator[str]:
        for n, row in enumerate(self.rows):
            y = self.top + n * self.row_height
            name = row[self.figure.label]
            yield text(
                self.sizes.labels - 8,
                y + self.sizes.bar * len(self.names) / 2 + 4,
                self.sizes.text,
                self.figure.only.get(name, name),
                text_anchor="end",
            )
            for k, column in enumerate(self.names):
                if row[column]:
                    yield from self.bar(y + k * self.sizes.bar, k, row[column])

    def bar(self, y: float, k: int, cell: str) -> Iterator[str]:
        start = self.place(1 if self.figure.least else 0)
        left, right = sorted((self.place(number(cell)), start))
        size = self.sizes.bar
        yield (
            f'<rect class="bar{k}" x="{left:.1f}" y="{y}" '
            f'width="{max(right - left, 1):.1f}" height="{size - 1}"/>'
        )
        label = cell + self.figure.unit
        yield text(round(right + 5, 1), y + size - 2, self.sizes.small, label, class_="note")


def svg(figure: Figure) -> str:
    """The figure as the text of an SVG file."""
    drawing = Drawing(figure)
    parts = [*drawing.head(), *drawing.scale(), *drawing.bars()]
    return "\n".join([*parts, "</svg>", ""])


NUMBERS = FOLDER.parent / "performance" / "numbers.md"

TABLES = {
    "speed.csv": "Networks and operators",
    "programs.csv": "Programs without tensors",
    "training.csv": "Training steps",
    "gradients.csv": "Forces and gradients",
}
"""CSV file -> heading of its table on the page of all numbers."""


def numbers() -> str:
    """The page of all numbers that figures draw."""
    parts = [
        "# All numbers",
        "",
        "What the figures of [Performance](../performance.md) draw: times of the other systems",
        "divided by scriptlang's. Above 1, scriptlang is faster. `docs/figures/draw.py` writes",
        "this page from the CSV files beside it.",
    ]
    for source, title in TABLES.items():
        with open(FOLDER / source, encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        parts += ["", f"## {title}", ""]
        parts += [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join([*parts, ""])


def main() -> None:
    NUMBERS.write_text(numbers(), encoding="utf-8")
    for figure in FIGURES:
        (FOLDER / f"{figure.name}.svg").write_text(svg(figure), encoding="utf-8")


if __name__ == "__main__":
    main()
