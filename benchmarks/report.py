"""What was measured, as text for a terminal and as one HTML page with bar charts."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Sequence

from .harness import Result

BAR, LABEL, HEIGHT, WIDTH = 460, 230, 22, 860
"""Pixels: the longest bar, the column of names, a line, the chart."""

COLOURS = {
    "scriptlang": "#1f6f54",
    "torch": "#c4532d",
    "onnxruntime": "#4a67a8",
    "OpenVINO": "#7fa3d1",
    "numpy": "#8a6bb0",
    "CPython": "#a08427",
}

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 920px; padding: 0 1rem;
       color: #222; background: #fff; }
h2 { margin-top: 2.5rem; } h3 { margin: 1.6rem 0 .3rem; font-size: 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .5rem; border-bottom: 1px solid #e4e4e4; }
th:first-child, td:first-child { text-align: left; }
svg { max-width: 100%; height: auto; } svg text { font: 13px system-ui, sans-serif; fill: #333; }
.note { color: #666; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #181a1b; } svg text { fill: #ccc; }
  th, td { border-color: #333; } .note { color: #999; } }
"""

GROUPS = {
    "networks": "Networks",
    "products": "Linear layers",
    "layers": "Layers, one by one",
    "training": "Training steps",
    "forces": "Forces, asked for inside programs",
    "gradients": "Losses with their gradients",
    "elements": "Elements and rows",
    "loops": "Programs without tensors",
    "processes": "Whole processes",
}


@dataclass(frozen=True)
class Section:
    """One row of the table of measurements, with what came out."""

    name: str
    title: str
    group: str
    results: list[Result]


def quantity(result: Result) -> str:
    """The median with a unit that suits it."""
    value = result.median or 0.0
    if result.unit == "bytes":
        return f"{value / 1e6:.1f} MB"
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def times(result: Result) -> str:
    """How many times the reference this took, with half the range between its quartiles."""
    if result.ratio is None:
        return "-"
    spread = f" ±{result.spread:.2f}" if result.spread is not None else ""
    return f"{result.ratio:.2f}{spread}"


def share(result: Result, gigaflops: float) -> str:
    """The rate of multiply-adds, as GFLOP/s and of what as many cores can do."""
    rate = result.gigaflops
    if rate is None:
        return ""
    part = f", {rate / gigaflops / result.threads:.0%} of the processor's" if gigaflops else ""
    return f"{rate:.3g} GFLOP/s{part}"


def text(title: str, results: Sequence[Result], gigaflops: float = 0.0) -> str:
    """`gigaflops` is the rate of one core."""
    lines = [
        f"\n{title}",
        f"{'threads':>7}  {'candidate':34} {'median':>12}  {'times the first':>15}",
    ]
    for r in results:
        shown = f"{'-':>12}  {r.note}"
        if r.seconds:
            shown = f"{quantity(r):>12}  {times(r):>15}  {share(r, gigaflops)}".rstrip()
        lines.append(f"{r.threads:7}  {r.candidate:34} {shown}")
    return "\n".join(lines)


def page(sections: Sequence[Section], machine: str) -> str:
    """The whole report; it needs no other file."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>scriptlang: benchmarks</title>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<style>{STYLE}</style><h1>scriptlang and its peers</h1>",
        f"<p class=note>{escape(machine)}. Candidates take turns, batch by batch; shown are "
        "medians and, as ±, half the range between the quartiles. <b>Times</b> is how many "
        "times the first line a candidate took: above 1 the first is faster.</p>",
        summary(sections),
    ]
    for group, heading in GROUPS.items():
        members = [s for s in sections if s.group == group]
        if members:
            parts.append(f"<h2>{heading}</h2>")
            parts += [detail(s) for s in members]
    return "\n".join(parts) + "\n"


def best(results: Sequence[Result], peer: str) -> float | None:
    """The ratio of the fastest form of a peer."""
    ratios = [r.ratio for r in results if r.candidate.startswith(peer) and r.ratio is not None]
    return min(ratios) if ratios else None


def summary(sections: Sequence[Section]) -> str:
    """One line a row and thread count: the fastest form of each peer against the reference."""
    peers = ("torch.jit", "torch.compile", "onnxruntime", "OpenVINO", "numpy", "CPython")
    rows = []
    for section in sections:
        for threads in dict.fromkeys(r.threads for r in section.results):
            here = [r for r in section.results if r.threads == threads]
            cells = [best(here[1:], peer) for peer in peers]
            rows.append(
                f"<tr><td>{escape(section.title)}<td>{threads}<td>{quantity(here[0])}"
                + "".join(f"<td>{'' if c is None else f'{c:.2f}'}" for c in cells)
            )
    head = "".join(f"<th>{p}" for p in peers)
    return (
        f"<h2>All ratios</h2><table><tr><th>measured<th>threads<th>scriptlang{head}"
        + "".join(rows)
        + "</table>"
    )


def detail(section: Section) -> str:
    parts = [f"<h3 id='{section.name}'>{escape(section.title)}</h3>"]
    for threads in dict.fromkeys(r.threads for r in section.results):
        here = [r for r in section.results if r.threads == threads]
        label = f"{threads} thread{'s' if threads > 1 else ''}"
        if any(r.threads != threads for r in section.results):
            parts.append(f"<p class=note>{label}</p>")
        parts.append(chart(here))
    return "\n".join(parts)


def chart(results: Sequence[Result]) -> str:
    """Bars as long as the times; what failed says why."""
    longest = max((r.median for r in results if r.median), default=1.0)
    lines = []
    for i, r in enumerate(results):
        y = i * HEIGHT
        lines.append(f"<text x=0 y={y + 15}>{escape(r.candidate)}</text>")
        if r.median is None:
            lines.append(f"<text x={LABEL} y={y + 15}>{escape(r.note[:70])}</text>")
            continue
        width = max(1.0, BAR * r.median / longest)
        colour = next((c for name, c in COLOURS.items() if r.candidate.startswith(name)), "#777")
        lines.append(
            f"<rect x={LABEL} y={y + 3} width={width:.1f} height={HEIGHT - 7} rx=2 "
            f"fill='{colour}'/>"
        )
        lines.append(
            f"<text x={LABEL + width + 8:.1f} y={y + 15}>{quantity(r)} ({times(r)})</text>"
        )
    return (
        f"<svg viewBox='0 0 {WIDTH} {HEIGHT * len(results)}' role=img>" + "".join(lines) + "</svg>"
    )
