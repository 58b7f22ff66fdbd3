"""Simplifies prim::If: known results, its condition inside of the branches, equal conditions.

    %r : int = prim::If(%c)           both branches return %a      ->    %a
    %r : bool = prim::If(%c)          True, else False             ->    %c
      block0(): ... prim::If(%c)                                   ->    ... prim::If(%true)

Two nodes with the same condition become one, if the second may run directly after the first:

    %a = prim::If(%c)                         %a, %b = prim::If(%c)
      block0(): ... -> (%p)             ->      block0(): ...; (with %p for %a) ... -> (%p, %q)
    %b = prim::If(%c)
      block0(): (of %a) ... -> (%q)
"""

from __future__ import annotations

from .. import budgets
from .. import types as T
from ..ir import Block, Graph, Node, Value
from .alias import AliasAnalysis, analysis_of, drop_analysis
from .cse import value_key
from .effects import has_side_effects, may_fail


def run(graph: Graph) -> bool:
    changed = False
    elsewhere: dict[tuple[Value, Block], list[tuple[Node, int]]] = {}
    for node in list(graph.walk()):
        if node.kind == "prim::If":
            changed |= settle_condition(node, elsewhere)
            for i in reversed(range(len(node.outputs))):
                value = simpler(node, i)
                if value is not None:
                    node.outputs[i].replace_all_uses_with(value)
                    node.remove_output(i)
                    for block in node.blocks:
                        block.end.remove_input(i)
                    changed = True
    return changed | merge_pairs(graph)


def merge_pairs(graph: Graph) -> bool:
    """Merge each prim::If with an earlier one of its block that has the same condition."""
    together: dict[tuple[Value, Block], list[Node]] = {}
    for node in graph.walk():
        if node.kind == "prim::If" and not node.inputs[0].is_constant:
            together.setdefault((node.inputs[0], node.block), []).append(node)
    groups = [nodes for nodes in together.values() if len(nodes) > 1]
    if not groups:
        return False
    analysis = analysis_of(graph)
    merged = [second for nodes in groups for second in merge_group(nodes, analysis)]
    if merged:
        drop_analysis(graph)
    return bool(merged)


MOST_TRIED = 8
"""How many later nodes may fail to merge before the search for more is given up."""

MOST_MERGED = 64
"""How many nodes one node takes in at most: each makes the next one more expensive."""


def merge_group(nodes: list[Node], analysis: AliasAnalysis) -> set[Node]:
    """Merge nodes of one block with the same condition if possible; returns the removed ones."""
    merged: set[Node] = set()
    for i, first in enumerate(nodes):
        if first in merged:
            continue
        tried = taken = 0
        for second in nodes[i + 1 : i + 1 + MOST_TRIED + MOST_MERGED]:
            if tried == MOST_TRIED or taken == MOST_MERGED:
                break
            if second in merged:
                continue
            if may_follow(second, first, analysis):
                merge(first, second)
                merged.add(second)
                taken += 1
            else:
                tried += 1
        budgets.look()
    return merged


def may_follow(second: Node, first: Node, analysis: AliasAnalysis) -> bool:
    """Whether `second` may run directly after `first`, before the nodes between them.

    Nodes inside of `second` may fail. They would then fail before the nodes between, so those must
    not be able to fail. Constants between them do not matter.
    """
    others = [n for n in between(first, second) if n.kind != "prim::Constant"]
    return not any(may_fail(n) or has_side_effects(n) for n in others) and analysis.may_pass(
        second, others
    )


def between(first: Node, second: Node) -> list[Node]:
    """The nodes between two nodes of a block."""
    found = []
    node = first.next
    while node is not second:
        found.append(node)
        node = node.next
    return found


def merge(first: Node, second: Node) -> None:
    """Move the nodes of the second into the blocks of the first."""
    for node in between(first, second):
        if node.kind == "prim::Constant":  # the second may use it
            node.move_before(first)
    results = [first.add_output(v.type, v.name) for v in second.outputs]
    for mine, other in zip(first.blocks, second.blocks):
        for node in list(other.nodes):
            node.move_before(mine.end)
        for v in other.returns:
            mine.add_return(v)
        for v, inner in zip(first.outputs, list(mine.returns)):
            for user, i in list(v.uses):
                if user is mine.end or user.block.is_inside(mine):
                    user.replace_input(i, inner)
    second.replace_with(*results)


def settle_condition(
    node: Node, elsewhere: dict[tuple[Value, Block], list[tuple[Node, int]]]
) -> bool:
    """Replace uses of the condition inside of the branches by a constant.

    elsewhere: for each condition and block of an If, the uses of the condition in other blocks; it
    is a cache.
    """
    condition, changed = node.inputs[0], False
    if condition.is_constant:
        return False
    place = condition, node.block
    if place not in elsewhere:
        elsewhere[place] = [(user, i) for user, i in condition.uses if user.block is not node.block]
    inner = [
        (user, i)
        for user, i in elsewhere[place]
        if i < len(user.inputs) and user.inputs[i] is condition and user.block is not None
    ]
    for block, known in zip(node.blocks, (True, False)):
        uses = [use for use in inner if use[0].block.is_inside(block)]
        if uses:
            with node.graph.at(block.start.next) as graph:
                constant = graph.constant(known, like=node)
            for user, i in uses:
                user.replace_input(i, constant)
            changed = True
    return changed


def simpler(node: Node, i: int) -> Value | None:
    """The value that output `i` always has, if it is known before the If; else None."""
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
    return (
        a.is_constant
        and b.is_constant
        and a.type == b.type
        and value_key(a.constant) == value_key(b.constant)
    )
