"""Draws graphs: a box for each operator, nested boxes for If and Loop, edges labelled with shapes.

`draw` makes SVG for pages, in which each box has the index of its node (`data-node`); `svg_of`
makes a standalone file. Texts come from untrusted archives, so each goes through `escape`.
"""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .. import types as T
from ..ir import Block, Graph, Node, Value
from ..passes.memory_plan import size_in_bytes, used_by
from ..passes.shape_facts import TensorFacts
from .layout import lay_out

LINE, PAD, LETTER = 14.0, 8.0, 6.4
HIDDEN = frozenset(("prim::Constant", "prim::Param", "prim::Return"))
MOST_NODES = 5000
MOST_DEPTH = 12
WIDEST = 40
"""The most characters of a line in a box."""

CONTROL = {"prim::If": ("then", "else"), "prim::Loop": ("each turn",)}

KINDS = (
    ("conv", "conv linear matmul mm addmm bmm baddbmm einsum"),
    ("norm", "norm softmax"),
    ("act", "relu gelu sigmoid tanh silu hardswish hardtanh hardsigmoid elu softplus mish clamp"),
    ("pool", "pool upsample interpolate"),
    ("rnn", "lstm gru rnn attention embedding"),
    ("move", "view reshape flatten permute transpose slice select cat stack squeeze split to"),
)
"""Classes of boxes, which determine the colour, and parts of operator names that belong to them."""


def escape(text: Any) -> str:
    """The text for use in markup: special characters are escaped, control characters replaced."""
    shown = "".join(c if c.isprintable() or c == " " else "\ufffd" for c in str(text))
    return html.escape(shown, quote=True)


def cut(text: str, most: int = WIDEST) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass
class Item:
    """A box: its node, if any, text, class, size and the boxes of its blocks."""

    node: Node | None
    lines: list[str]
    kind: str
    width: float = 0.0
    height: float = 0.0
    parts: list[Part] = field(default_factory=list)


@dataclass
class Part:
    """A block in a box: its title and its laid-out picture."""

    title: str
    picture: Picture


@dataclass
class Picture:
    """A laid-out block: items with positions, edges with points, label and name."""

    items: list[tuple[Item, float, float]]
    edges: list[tuple[list[tuple[float, float]], str, str]]
    width: float
    height: float


class Drawer:
    """Draws the blocks of one graph. number: the index of each node that has a box."""

    def __init__(self, shaped: Any, paths: dict[Node, str] | None = None) -> None:
        self.facts = shaped.facts
        self.paths = paths or {}
        self.number: dict[Node, int] = {}
        self.left = MOST_NODES

    def picture(self, block: Block, depth: int = 0) -> Picture:
        items = list(self.items(block, depth))
        where: dict[Value, int] = {}
        for i, item in enumerate(items):
            for v in outputs_of(item, block):
                where[v] = i
        edges: dict[tuple[int, int], Value] = {}
        for i, item in enumerate(items):
            for v in inputs_of(item, block):
                a = where.get(v)
                if a is not None and a < i:
                    edges.setdefault((a, i), v)
        labels: dict[int, str] = {}
        for (a, _), v in edges.items():
            labels[a] = labels.get(a) or self.label(v)
        rooms = [max(it.width, 2 * room_of(labels.get(i, ""))) for i, it in enumerate(items)]
        layout = lay_out([(w, it.height) for w, it in zip(rooms, items)], list(edges))
        drawn = []
        for route, ((a, _), v) in zip(layout.routes, edges.items()):
            drawn.append((route, labels.pop(a, ""), v.name))
        placed = [
            (it, x + (w - it.width) / 2, y) for it, w, (x, y) in zip(items, rooms, layout.places)
        ]
        return Picture(placed, drawn, layout.width, layout.height)

    def items(self, block: Block, depth: int) -> Iterator[Item]:
        if block.parameters:
            names = ", ".join(v.name or "?" for v in block.parameters)
            yield sized(Item(None, [cut(names)], "io"))
        count = 0
        for node in block.nodes:
            if node.kind in HIDDEN:
                continue
            self.left -= 1
            if self.left < 0:
                count += 1
                continue
            yield self.item(node, depth)
        if count:
            yield sized(Item(None, [f"and {count} more nodes, which are not drawn"], "io"))
        if block.returns:
            yield sized(Item(None, ["result" if block.owner is None else "gives"], "out"))

    def item(self, node: Node, depth: int) -> Item:
        self.number[node] = len(self.number)
        name = node.kind.partition("::")[2] or node.kind
        path = self.paths.get(node, "")
        item = Item(node, [cut(title_of(node, name))], kind_of(name))
        if path:
            item.lines.append(cut(path))
        group = node.attributes.get("Subgraph")
        if isinstance(group, Graph):
            inner = [n.kind.partition("::")[2] for n in group.walk() if n.kind not in HIDDEN]
            item.lines += [f"· {cut(n)}" for n in inner[:8]]
            item.lines += [f"· and {len(inner) - 8} more"] if len(inner) > 8 else []
            item.kind = "group"
        if node.blocks:
            item.kind = "block"
            if depth < MOST_DEPTH:
                titles = CONTROL.get(node.kind, ())
                for k, block in enumerate(node.blocks):
                    title = titles[k] if k < len(titles) else f"block {k}"
                    item.parts.append(Part(title, self.picture(block, depth + 1)))
            else:
                item.lines.append("…")
        return sized(item)

    def label(self, v: Value) -> str:
        fact = self.facts.get(v)
        if not isinstance(fact, TensorFacts) or fact.shape is None:
            return "" if v.type == T.TENSOR else cut(str(v.type), 16)
        text = "\u00d7".join(map(str, fact.shape)) or "scalar"
        count = size_in_bytes(fact)
        return cut(text, 28) + (f" · {short_bytes(count)}" if count else "")


def room_of(label: str) -> float:
    """How far a label extends to the right of the middle of its box."""
    return len(label) * 4.9 + 6 if label else 0.0


def title_of(node: Node, name: str) -> str:
    """The name of an operator and what is fused with it: `conv2d + add + relu`."""
    parts = [name]
    schema = node.schema
    for argument, text in (("added", "add"), ("activation", "")):
        i = schema.index(argument) if schema is not None else None
        if i is None or i >= len(node.inputs) or not node.kind.startswith("scriptlang::"):
            continue
        v = node.inputs[i]
        value = v.constant if v.is_constant else ...
        if value not in (None, "", "none"):
            parts.append(text or str(value))
    return " + ".join(parts)


def kind_of(name: str) -> str:
    for kind, words in KINDS:
        if any(w in name for w in words.split()):
            return kind
    return "op"


def short_bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def sized(item: Item) -> Item:
    """Compute the size of a box from its text and its blocks; returns the box."""
    item.width = max(map(len, item.lines)) * LETTER + 2 * PAD
    item.height = len(item.lines) * LINE + 2 * PAD - 4
    if item.parts:
        inner = sum(p.picture.width + 2 * PAD for p in item.parts) + PAD * (len(item.parts) - 1)
        item.width = max(item.width, inner + 2 * PAD)
        item.height += LINE + max(p.picture.height for p in item.parts) + 3 * PAD
    return item


def outputs_of(item: Item, block: Block) -> list[Value]:
    if item.node is not None:
        return item.node.outputs
    return block.parameters if item.kind == "io" else []


def inputs_of(item: Item, block: Block) -> list[Value]:
    if item.node is not None:
        return list(used_by(item.node))
    return block.returns if item.kind == "out" else []


def draw(picture: Picture, numbers: dict[Node, int], out: list[str], dx: float, dy: float) -> None:
    """Append the SVG of a picture at the position (dx, dy)."""
    for route, label, name in picture.edges:
        points = [(x + dx, y + dy) for x, y in route]
        title = f"<title>%{escape(cut(name))}</title>"
        out.append(f'<path class="e" d="{curve(points)}">{title}</path>')
        if label:
            x, y = points[0]
            out.append(f'<text class="l" x="{x + 4:.0f}" y="{y + 13:.0f}">{escape(label)}</text>')
    for item, x, y in picture.items:
        x, y = x + dx, y + dy
        number = numbers.get(item.node) if item.node is not None else None
        data = f' data-node="{number}" tabindex="0"' if number is not None else ""
        out.append(f'<g class="n {item.kind}"{data}>')
        out.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{item.width:.0f}" height="{item.height:.0f}" '
            'rx="5"/>'
        )
        for k, line in enumerate(item.lines):
            style = "t" if k == 0 else "s"
            across = x + item.width / 2 if not item.parts else x + PAD
            style += " a" if item.parts else ""
            down = y + PAD + 8 + k * LINE
            out.append(
                f'<text class="{style}" x="{across:.0f}" y="{down:.0f}">{escape(line)}</text>'
            )
        out.append("</g>")
        left = x + PAD
        for part in item.parts:
            top = y + len(item.lines) * LINE + PAD
            width, height = part.picture.width + 2 * PAD, part.picture.height + 2 * PAD + LINE
            out.append(
                f'<rect class="b" x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" '
                f'height="{height:.0f}" rx="4"/>'
                f'<text class="s a" x="{left + 5:.0f}" y="{top + 11:.0f}">'
                f"{escape(part.title)}</text>"
            )
            draw(part.picture, numbers, out, left + PAD, top + LINE + PAD)
            left += width + PAD


def curve(points: list[tuple[float, float]]) -> str:
    """An SVG path through points that leaves and reaches each of them vertically."""
    text = [f"M{points[0][0]:.0f} {points[0][1]:.0f}"]
    for (x, y), (u, v) in itertools.pairwise(points):
        if math.isclose(x, u, abs_tol=0.5):
            text.append(f"V{v:.0f}")
        else:
            half = (y + v) / 2
            text.append(f"C{x:.0f} {half:.0f} {u:.0f} {half:.0f} {u:.0f} {v:.0f}")
    return "".join(text)


STYLE = """
svg{font:11px ui-sans-serif,system-ui,sans-serif;--bg:#fff;--fg:#1c2430;--dim:#667;--line:#9aa4b2;
--op:#eef1f5;--conv:#dbe8ff;--norm:#e8e3fb;--act:#dff5e3;--pool:#fdf0d5;--rnn:#fde2e2;
--move:#f3f4f6;--group:#d9f3f3;--block:#fafbfc;--io:#e3e8ef;background:var(--bg)}
@media(prefers-color-scheme:dark){svg{--bg:#14181f;--fg:#e6eaf0;--dim:#99a3b3;--line:#5a6676;
--op:#242b36;--conv:#1d3358;--norm:#31285a;--act:#1d4028;--pool:#4a3a16;--rnn:#52262a;
--move:#20262f;--group:#154545;--block:#191f28;--io:#2c3645}}
.n rect{stroke:var(--line);stroke-width:1;fill:var(--op)}
.conv rect{fill:var(--conv)}.norm rect{fill:var(--norm)}.act rect{fill:var(--act)}
.pool rect{fill:var(--pool)}.rnn rect{fill:var(--rnn)}.move rect{fill:var(--move)}
.group rect{fill:var(--group)}.block rect{fill:var(--block)}.io rect,.out rect{fill:var(--io)}
.b{fill:none;stroke:var(--line);stroke-dasharray:4 3}
text{fill:var(--fg);text-anchor:middle}.s{fill:var(--dim);font-size:10px}
.a,.l{text-anchor:start}.l{fill:var(--dim);font-size:9px}
.e{fill:none;stroke:var(--line);stroke-width:1.2}
"""
"""The colours of drawings, light and dark; pages define the same variables."""

MARGIN = 12.0


def svg_of(shaped: Any) -> str:
    """A drawing of a ShapedGraph as a standalone SVG file."""
    drawer = Drawer(shaped)
    picture = drawer.picture(shaped.graph.block)
    return svg_text(picture, drawer.number, f"<style>{STYLE}</style>")


def svg_text(picture: Picture, numbers: dict[Node, int], head: str = "") -> str:
    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    out: list[str] = []
    draw(picture, numbers, out, MARGIN, MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">{head}{"".join(out)}</svg>'
    )
