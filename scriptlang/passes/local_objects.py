"""Replaces objects that do not leave the function that creates them by plain values.

    %c : no_grad = prim::CreateObject()
     = prim::SetAttr[name="prev"](%c, %p)              ...uses of %q become uses of %p,
    %q : bool = prim::GetAttr[name="prev"](%c)    ->   and the three nodes are gone

This applies if an object's attributes are only read and written, and written only in the block that
creates it. It runs after `inline`, since `__init__`, `__enter__` and `__exit__` are calls before.
"""

from __future__ import annotations

from .. import types as T
from ..ir import Block, Graph, Node, Value


def run(graph: Graph) -> bool:
    """Replace all objects for which this is possible; returns whether anything changed."""
    made = [node for node in graph.walk() if node.kind == "prim::CreateObject"]
    return any([dissolve(node) for node in made])


def dissolve(made: Node) -> bool:
    """Replace one object by the values of its attributes, if possible."""
    obj = made.output
    steps = accesses(obj)
    if steps is None:
        return False
    values: dict[str, Value] = {}
    known: dict[Node, Value] = {}
    for step in steps:
        name = step.attributes["name"]
        if step.kind == "prim::SetAttr":
            values[name] = known.get(step.inputs[1].node, step.inputs[1])
        elif name not in values:
            return False  # it is read before it is written
        else:
            known[step] = values[name]
    for step in steps:
        if step.kind == "prim::GetAttr":
            step.output.replace_all_uses_with(known[step])
    for step in reversed(steps):
        step.destroy()
    made.destroy()
    return True


def accesses(obj: Value) -> list[Node] | None:
    """The nodes that read or write attributes of an object, in order; None if it has other uses."""
    block = obj.node.block
    order = {node: i for i, node in enumerate(block.nodes)}
    steps = []
    for user, i in obj.uses:
        is_write = user.kind == "prim::SetAttr" and i == 0 and user.inputs[1] is not obj
        if user.kind != "prim::GetAttr" and not is_write or is_write and user.block is not block:
            return None
        if not isinstance(obj.type, T.ClassType) or obj.type.is_module:
            return None
        steps.append((order[ancestor_in(user, block)], user))
    return [user for _, user in sorted(steps, key=lambda step: step[0])]


def ancestor_in(node: Node, block: Block) -> Node:
    """The node of `block` that is `node` or contains it."""
    while node.block is not block:
        owner = node.block.owner
        assert owner is not None, "the block is an ancestor's"
        node = owner
    return node
