"""Answers about lists whose elements are known: length, items, unpacking.

    %l : int[] = prim::ListConstruct(%a, %b)
    %n : int = aten::len(%l)                      ->    2
    %x : int, %y : int = prim::ListUnpack(%l)     ->    %a, %b

Only for lists that nothing in the graph writes and that code outside can not reach.
"""

from __future__ import annotations

from .. import types as T
from ..ir import Graph, Node, Value
from .alias import AliasAnalysis, analysis_of

READERS = ("aten::len", "aten::__getitem__", "prim::ListUnpack")


def run(graph: Graph) -> bool:
    readers = [n for n in graph.walk() if n.kind in READERS
               and n.inputs[0].node.kind == "prim::ListConstruct"]
    if not readers:
        return False
    analysis = analysis_of(graph)
    changed = False
    for node in readers:
        values = known_results(node)
        if values is not None and is_fixed(node.inputs[0], analysis):
            if not isinstance(values[0] if values else None, Value):
                with graph.at(node):
                    values = [graph.constant(v, like=node) for v in values]
            node.replace_with(*values)
            changed = True
    return changed


def is_fixed(v: Value, analysis: AliasAnalysis) -> bool:
    """Whether a list keeps the elements it was made with."""
    location = analysis.made.get((v.node, 0))
    return location is not None and not location & (analysis.outside | analysis.written)


def known_results(node: Node) -> list | None:
    """What a reader gives: values of the graph, or plain constants; None where it is not known."""
    elements = node.inputs[0].node.inputs
    if node.kind == "aten::len":
        return [len(elements)]
    if node.kind == "prim::ListUnpack":
        return list(elements) if [v.type for v in elements] == [v.type for v in node.outputs] \
            else None
    i = node.inputs[1]
    if not i.is_constant or not -len(elements) <= i.constant < len(elements):
        return None
    element = elements[i.constant]
    return [element] if T.is_subtype(element.type, node.output.type) else None
