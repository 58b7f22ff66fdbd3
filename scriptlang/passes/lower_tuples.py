"""Replaces the unpacking of tuples with known elements by the elements.

    %t : (int, Tensor) = prim::TupleConstruct(%a, %b)
    %c : int, %d : Tensor = prim::TupleUnpack(%t)     ->    %a, %b

This also works across a prim::If if both branches create a tuple.
"""

from __future__ import annotations

from .. import types as T
from ..ir import Graph, Node, Value


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.walk()):
        if node.block is None:
            continue
        if node.kind == "prim::If":
            changed |= split_results(node)
        elif node.kind in ("prim::TupleUnpack", "prim::TupleIndex", "prim::TupleSlice"):
            changed |= lower(node)
    return changed


def elements(v: Value) -> list[Value] | None:
    """The values that a tuple was created from, looking through casts; None if they are unknown."""
    node = v.node
    while node.kind == "prim::unchecked_cast":
        node = node.inputs[0].node
    return node.inputs if node.kind == "prim::TupleConstruct" else None


def lower(node: Node) -> bool:
    """Replace a node that takes a tuple apart by the elements of the tuple."""
    known = elements(node.inputs[0])
    if known is None:
        return False
    if node.kind == "prim::TupleSlice":
        part = known[node.attributes["beg"] : node.attributes["end"]]
        new = node.graph.create("prim::TupleConstruct", part, [node.output.type], like=node)
        node.replace_with(new.insert_before(node).output)
        return True
    if node.kind == "prim::TupleIndex":
        i = node.inputs[1]
        if not i.is_constant or not -len(known) <= i.constant < len(known):
            return False
        known = [known[i.constant]]
    node.replace_with(*(as_type(v, out.type, node) for v, out in zip(known, node.outputs)))
    return True


def as_type(v: Value, t: T.Type, node: Node) -> Value:
    """The element with the type that it was unpacked as; only tuples need exactly that type."""
    if (
        v.type == t
        or T.is_subtype(v.type, t)
        and not any(isinstance(p, T.TupleType) for p in t.walk())
    ):
        return v
    with node.graph.at(node) as graph:
        return graph.insert("prim::unchecked_cast", [v], [t], like=node).output


def split_results(node: Node) -> bool:
    """Let an If return the elements of a tuple, and create the tuple after the If."""
    changed = False
    for i in reversed(range(len(node.outputs))):
        out = node.outputs[i]
        found = [elements(block.returns[i]) for block in node.blocks]
        parts = [values for values in found if values is not None]
        if not isinstance(out.type, T.TupleType) or len(parts) < len(found) or not out.uses:
            continue
        unified = [T.unify(a.type, b.type) for a, b in zip(*parts)]
        types = [t for t in unified if t is not None]
        if len(types) < len(unified) or not all(map(T.is_subtype, types, out.type.elements)):
            continue
        new = [node.add_output(t) for t in types]
        for block, values in zip(node.blocks, parts):
            for v in values:
                block.add_return(v)
        made = node.graph.create("prim::TupleConstruct", new, [out.type], like=node)
        made.insert_after(node)
        out.replace_all_uses_with(made.output)
        made.output.name = out.name
        node.remove_output(i)
        for block in node.blocks:
            block.end.remove_input(i)
        changed = True
    return changed
