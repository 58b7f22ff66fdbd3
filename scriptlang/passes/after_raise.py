"""Makes the condition of a branch a constant in the code after it if one side always raises.

prim::If(%c)                                    prim::If(%c)
  block0(): prim::RaiseException(...)     ->      block0(): prim::RaiseException(...)
  block1(): ...                                   block1(): ...
prim::If(%c) ...                                prim::If(%false) ...
"""

from __future__ import annotations

from .. import types as T
from ..ir import Block, Graph, Node


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.walk()):
        if node.kind == "prim::If" and not node.inputs[0].is_constant:
            raising = [always_raises(block) for block in node.blocks]
            if raising.count(True) == 1:
                changed |= settle(node, raising[1])
    return changed


def always_raises(block: Block) -> bool:
    return any(n.kind == "prim::RaiseException" for n in block.nodes)


def settle(node: Node, known: bool) -> bool:
    """Replace the uses of the condition that run after the node by a constant."""
    later = [(user, i) for user, i in node.inputs[0].uses if runs_after(user, node)]
    if not later:
        return False
    with node.graph.at(node.next):
        value = node.graph.constant(known, T.BOOL, like=node)
    for user, i in later:
        user.replace_input(i, value)
    return True


def runs_after(user: Node, node: Node) -> bool:
    """Whether `user`, or the node of `node`'s block that contains it, comes after `node`."""
    while user.block is not node.block:
        owner = user.block.owner if user.block is not None else None
        if owner is None:
            return False
        user = owner
    return user is not node and (user is user.block.end or node.is_before(user))
