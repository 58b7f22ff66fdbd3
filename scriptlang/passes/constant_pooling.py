"""Merges equal constants into one at the start of the graph.

At the start a constant can be used by every block, and none is loaded again and again in a loop.
"""

from __future__ import annotations

from typing import Any

from ..ir import Graph, Node
from .cse import value_key


def run(graph: Graph) -> bool:
    pool: dict[tuple[Any, ...], Node] = {}
    changed = False
    last: Node | None = None
    for node in list(graph.walk()):
        if node.kind != "prim::Constant":
            continue
        key = (node.output.type, value_key(node.attributes["value"]))
        known = pool.get(key)
        if known is not None:
            node.replace_with(known.output)
            changed = True
            continue
        pool[key] = node
        place = graph.block.start if last is None else last
        if node.prev is not place:
            node.unlink()._link(graph.block, place, place.next)
            changed = True
        last = node
    return changed
