"""Makes the condition of a branch a constant in the code after it if one side always raises.

prim::If(%c)                                    prim::If(%c)
  block0(): prim::RaiseException(...)     ->      block0(): prim::RaiseException(...)
  block1(): ...                                   block1(): ...
prim::If(%c) ...                                prim::If(%false) ...
"""

from __future__ import annotations

from .. import types as T
from ..ir import Graph, Node
from .effects import always_raises


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.walk()):
        if node.kind == "prim::If" and not node.inputs[0].is_constant:
            raising = [always_raises(block) for block in node.blocks]
            if raising.count(True) == 1:
                changed |= settle(node, raising[1])
    return changed


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
    """Whether `user` is in the block of `node`, or nested in it, and comes after `node`."""
    block = node.block
    return user.block.is_inside(block) and (user is block.end or node.is_before(user))
