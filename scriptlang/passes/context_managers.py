"""Replaces `with` blocks by calls of `__enter__` and `__exit__`, which `inline` can then inline.

    %v : int = prim::Enter(%c)     ->    %v : int = prim::CallMethod[name="__enter__"](%c)
    %r : Any = prim::Exit(%c)      ->    %r : Any = prim::CallMethod[name="__exit__"](%c, %n, %n,
    %n)

As in PyTorch, an exception does not run `__exit__`, so its three arguments are always None.
"""

from __future__ import annotations

from typing import Any

from .. import types as T
from ..ir import Graph, Node

METHODS = {"prim::Enter": "__enter__", "prim::Exit": "__exit__"}


def run(graph: Graph) -> bool:
    """Replace every prim::Enter and prim::Exit of an object whose class is known."""
    found = [
        node
        for node in graph.walk()
        if node.kind in METHODS
        and METHODS[node.kind] in getattr(node.inputs[0].type, "methods", ())
    ]
    for node in found:
        lower(node)
    return bool(found)


def lower(node: Node) -> None:
    """Replace one node by the call."""
    name, graph = METHODS[node.kind], node.graph
    manager: Any = node.inputs[0].type
    schema = manager.methods[name].schema
    with graph.at(node):
        nones = [graph.constant(None, T.NONE, like=node) for _ in schema.arguments[1:]]
        call = graph.insert(
            "prim::CallMethod",
            [node.inputs[0], *nones],
            [schema.returns[0].type],
            attributes={"name": name},
            like=node,
        )
    for old in node.outputs:
        old.replace_all_uses_with(call.output)
    node.destroy()
