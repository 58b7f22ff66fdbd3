"""Decides for the compiler where the values of a graph live: on the stack, or in a register until
their last use."""

from __future__ import annotations

from ..ir import Block, Graph, Node, Value

MAX_NESTED = 100
"""How deep nodes may be nested whose values stay on the stack: the compiler emits them
recursively."""


class Inliner:
    """Finds the nodes whose value is used at once, so that it can stay on the stack.

    They are in `nodes`.  A node qualifies if its only output is used once, in its own block, and if
    no other node has to run between it and the point where its user needs the value.  The search
    goes backward: each input of a node, from last to first, is compared with the node right before
    the sequence found so far.
    """

    def __init__(self, graph: Graph) -> None:
        self.nodes: set[Node] = set()
        self._block(graph.block)

    def _block(self, block: Block) -> None:
        self._node(block.end)
        for node in block.nodes_reversed:
            if node not in self.nodes and node.kind != "prim::Constant":
                for inner in node.blocks:
                    self._block(inner)
                self._node(node)

    def _node(self, node: Node) -> Node:
        """Inline the inputs of `node`; return the first node of the resulting sequence."""
        first = node
        pending = [iter(node.inputs[::-1])]  # a stack: one entry per level of nesting
        while pending:
            for v in pending[-1]:
                before = _previous(first)
                if v.node is before and can_stay(v) and len(pending) < MAX_NESTED:
                    self.nodes.add(before)
                    first = before
                    pending.append(iter(before.inputs[::-1]))
                    break
            else:
                pending.pop()
        return first


def can_stay(v: Value) -> bool:
    """Whether a node may leave this value on the stack, provided that the user comes next."""
    node = v.node
    return (
        len(v.uses) == 1
        and len(node.outputs) == 1
        and not node.blocks
        and node.kind != "prim::Param"
    )


def _previous(node: Node) -> Node:
    """The last node before `node` that is not a constant.  Constants are loaded at their uses."""
    node = node.prev
    while node.kind == "prim::Constant":
        node = node.prev
    return node


class Lifetimes:
    """Finds the last use of each value, in the order in which code is emitted.

    A value dies in the block that defines it: at its last use (`use_is_last`), or, if that use is
    in an inner block of a node such as a loop, after that node (`dead_after`).
    """

    def __init__(self, graph: Graph) -> None:
        self.dead_after: dict[Node, list[Value]] = {}
        self._direct: dict[Value, int] = {}
        self._order: dict[Node, int] = {}
        self._block(graph.block)

    def use_is_last(self, v: Value, block: Block) -> bool:
        """Whether the next use of `v`, by a node of `block`, is its last one.

        It counts the uses, so it must be called once for each, in the order of emission.
        """
        if v not in self._direct or v.node.block is not block:
            return False
        self._direct[v] -= 1
        return self._direct[v] == 0

    def _block(self, block: Block) -> None:
        for i, node in enumerate(block.nodes):
            self._order[node] = i
        self._order[block.end] = len(self._order)
        for node in (block.start, *block.nodes):
            for v in node.outputs:
                self._value(v, block)
            for inner in node.blocks:
                self._block(inner)

    def _value(self, v: Value, block: Block) -> None:
        if not v.uses or v.node.kind == "prim::Constant":
            return
        direct, nested = 0, False
        last: Node | None = None
        for user, _ in v.uses:
            node = _ancestor_in(user, block)
            inside = node is not user
            direct += not inside
            if last is None or self._order[node] > self._order[last]:
                last, nested = node, inside
            elif node is last:
                nested = nested or inside
        if nested and last is not None:
            self.dead_after.setdefault(last, []).append(v)
        else:
            self._direct[v] = direct


def _ancestor_in(node: Node, block: Block) -> Node:
    """The node of `block` that is `node`, or in whose inner blocks `node` is."""
    while node.block is not block:
        owner = node.block.owner
        assert owner is not None, "the block is an ancestor's"
        node = owner
    return node
