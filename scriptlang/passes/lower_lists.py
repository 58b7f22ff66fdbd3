"""Replaces length, items and unpacking of lists with known elements.

    %l : int[] = prim::ListConstruct(%a, %b)
    %n : int = aten::len(%l)                      ->    2
    %x : int, %y : int = prim::ListUnpack(%l)     ->    %a, %b

This only applies to lists that nothing in the graph writes and that code outside cannot reach. To
get more of them, an append is first replaced by a new list for all later uses. Uses before the
append must not keep the list:

    %l : Tensor[] = prim::ListConstruct(%a)             %l : Tensor[] = prim::ListConstruct(%a)
    %x : Tensor = aten::cat(%l, %zero)            ->    %x : Tensor = aten::cat(%l, %zero)
    %m : Tensor[] = aten::append(%l, %x)                %m : Tensor[] = prim::ListConstruct(%a, %x)
    %y : Tensor = aten::cat(%l, %zero)                  %y : Tensor = aten::cat(%m, %zero)
"""

from __future__ import annotations

from typing import Any

from .. import types as T
from ..ir import Graph, Node, Value
from .alias import AliasAnalysis, analysis_of, drop_analysis

READERS = ("aten::len", "aten::__getitem__", "prim::ListUnpack")


LOOK = frozenset({"aten::cat", "aten::stack", "aten::len", "aten::__getitem__", "prim::ListUnpack"})
"""Kinds that read a list and keep nothing of it but elements."""

MOST_ELEMENTS = 64
"""The longest list for which an append is replaced by a new list."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.walk()):
        if node.kind == "aten::append" and node.inputs[0].node.kind == "prim::ListConstruct":
            changed |= remake(node)
    if changed:
        drop_analysis(graph)
    return answer(graph) or changed


def remake(append: Node) -> bool:
    """Replace an append by a new, longer list; the old one has to be made in the same block."""
    old, added = append.inputs
    made = old.node
    if made.block is not append.block or added is old or len(made.inputs) >= MOST_ELEMENTS:
        return False
    later = []
    for user, i in old.uses:
        if user is append:
            continue
        if user.is_before(append):
            if user.kind not in LOOK:
                return False
        else:
            later.append((user, i))
    with append.graph.at(append) as graph:
        new = graph.insert(
            "prim::ListConstruct", [*made.inputs, added], [old.type], like=append
        ).output
    new.name = old.name
    for user, i in later:
        user.replace_input(i, new)
    append.replace_with(new)
    return True


def answer(graph: Graph) -> bool:
    """Replace nodes that read lists with known elements by the results."""
    readers = [
        n
        for n in graph.walk()
        if n.kind in READERS and n.inputs[0].node.kind == "prim::ListConstruct"
    ]
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
    """Whether a list always has the elements that it was created with."""
    location = analysis.made.get((v.node, 0))
    return location is not None and not location & (analysis.outside | analysis.written)


def known_results(node: Node) -> list[Any] | None:
    """The results of a node that reads a list, as values or constants; None if they are unknown."""
    elements = node.inputs[0].node.inputs
    if node.kind == "aten::len":
        return [len(elements)]
    if node.kind == "prim::ListUnpack":
        return (
            list(elements) if [v.type for v in elements] == [v.type for v in node.outputs] else None
        )
    i = node.inputs[1]
    if not i.is_constant or not -len(elements) <= i.constant < len(elements):
        return None
    element = elements[i.constant]
    return [element] if T.is_subtype(element.type, node.output.type) else None
