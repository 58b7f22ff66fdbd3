"""What is known of a prim::If without running it: some results, and its condition inside a branch.

    %r : int = prim::If(%c)           both branches return %a      ->    %a
    %r : bool = prim::If(%c)          True, else False             ->    %c
      block0(): ... prim::If(%c)                                   ->    ... prim::If(%true)
"""

from __future__ import annotations

from .. import types as T
from ..ir import Graph, Node, Value
from .cse import value_key


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.walk()):
        if node.kind == "prim::If":
            changed |= settle_condition(node)
            for i in reversed(range(len(node.outputs))):
                value = simpler(node, i)
                if value is not None:
                    node.outputs[i].replace_all_uses_with(value)
                    node.remove_output(i)
                    for block in node.blocks:
                        block.end.remove_input(i)
                    changed = True
    return changed


def settle_condition(node: Node) -> bool:
    """Let the condition be a constant inside the branches, where it is known."""
    condition, changed = node.inputs[0], False
    if condition.is_constant:
        return False
    for block, known in zip(node.blocks, (True, False)):
        uses = [use for use in condition.uses
                if use[0] is not node and use[0].block.is_inside(block)]
        if uses:
            with node.graph.at(block.start.next) as graph:
                constant = graph.constant(known, like=node)
            for user, i in uses:
                user.replace_input(i, constant)
            changed = True
    return changed


def simpler(node: Node, i: int) -> Value | None:
    """The value that output `i` always has, where that is known before the If."""
    a, b = (block.returns[i] for block in node.blocks)
    if a is not b and same_constants(a, b):
        with node.graph.at(node) as graph:
            return graph.constant(a.constant, a.type, like=a.node)
    if a is b and (a.type == node.outputs[i].type or not T.may_be_none(node.outputs[i].type)):
        return a
    if node.outputs[i].type == T.BOOL and a.is_constant and b.is_constant:
        if a.constant is True and b.constant is False:
            return node.inputs[0]
    return None


def same_constants(a: Value, b: Value) -> bool:
    return a.is_constant and b.is_constant and a.type == b.type \
        and value_key(a.constant) == value_key(b.constant)
