"""The HTML that notebooks show for modules and graphs (`_repr_html_`): collapsible trees, drawings.

Drawings are embedded as images, so that their styles stay separate and nothing in them can run.
"""

from __future__ import annotations

import base64
from typing import Any

from ..ir import Graph
from ..programs.inspection import Part, tree_of
from .drawing import escape, short_bytes, svg_of

MOST_DRAWN = 400
"""The most nodes of a graph that is drawn; a larger one is shown as text."""

MOST_MODULES = 2000


class Shown:
    """A graph with the facts about its values, in the form that drawings take."""

    def __init__(self, graph: Graph, facts: Any) -> None:
        self.graph, self.facts = graph, facts


def graph_html(graph: Graph, facts: Any = None) -> str:
    nodes = sum(1 for n in graph.walk() if n.kind != "prim::Constant")
    text = f"<details><summary>{nodes} nodes</summary><pre>{escape_lines(str(graph))}</pre>"
    text += "</details>"
    if nodes > MOST_DRAWN:
        return text
    image = base64.b64encode(svg_of(Shown(graph, facts or {})).encode()).decode()
    return f'<img alt="graph" src="data:image/svg+xml;base64,{image}">{text}'


def module_html(obj: Any) -> str:
    """The modules of a ScriptObject with their parameters, and the names of its methods."""
    left = [MOST_MODULES]
    methods = "".join(f"<li><code>{escape(m)}</code></li>" for m in list(obj.type.methods)[:50])
    return f"{part_html(tree_of(obj), left, True)}<ul>{methods}</ul>"


def part_html(part: Part, left: list[int], is_open: bool = False) -> str:
    left[0] -= 1
    name = f"{part.name}: {part.class_name}" if part.name else part.class_name
    note = f"{part.parameters:,} parameters, {short_bytes(part.bytes)}" if part.parameters else ""
    line = f"{escape(name)} <small>{escape(note)}</small>"
    if not part.parts or left[0] < 0:
        return f"<div>{line}</div>"
    inner = "".join(part_html(p, left) for p in part.parts)
    opened = " open" if is_open else ""
    return (
        f"<details{opened}><summary>{line}</summary>"
        f'<div style="margin-left:1.3em">{inner}</div></details>'
    )


def escape_lines(text: str) -> str:
    return "\n".join(map(escape, text.split("\n")))
