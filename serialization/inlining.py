"""Decides which nodes are printed inside the expression that uses them, not as a statement."""

from __future__ import annotations

import re

from ..ir import Block, Graph, Node

OWN_LINE = {
    "prim::CreateObject",
    "prim::Uninitialized",
    "prim::Enter",
    "prim::Exit",
    "prim::fork",
    "prim::awaitable",
    "prim::TupleUnpack",
    "prim::ListUnpack",
}
"""Node kinds whose value always gets a name."""

TAKES_NAMES = {
    "prim::Loop",
    "prim::Enter",
    "prim::Exit",
    "prim::fork",
    "prim::awaitable",
    "prim::TupleUnpack",
    "prim::ListUnpack",
}
"""Node kinds whose inputs are always printed as names."""

MAX_DEPTH = 3
MAX_NODES = 8

TEMPORARY = re.compile(r"_*\d*(\.\d+)?")


def inlined_nodes(graph: Graph) -> set[Node]:
    """The nodes that are printed inside the node that uses them.

    Such a node has one output, which is no variable of the program and is used once, by a node
    right after it.  Nothing runs in between, so the order of effects does not change.
    """
    inliner = _Inliner()
    inliner.block(graph.block, is_function=True)
    return inliner.nodes


class _Inliner:
    def __init__(self) -> None:
        self.nodes: set[Node] = set()
        self.budget = 0

    def block(self, block: Block, is_function: bool = False) -> None:
        node = block.end
        if is_function or block.owner is None or block.owner.kind == "prim::If":
            self.user(node)
        for node in block.nodes_reversed:
            if node in self.nodes or node.kind == "prim::Constant":
                continue
            for inner in node.blocks:
                self.block(inner)
            self.user(node)

    def user(self, node: Node) -> None:
        self.budget = MAX_NODES
        if node.kind not in TAKES_NAMES:
            self.inputs(node, 0)

    def inputs(self, node: Node, depth: int) -> Node:
        """Inline the nodes that compute inputs of `node`, last input first; return the first node
        of the resulting sequence."""
        first = node
        for i in range(len(node.inputs) - 1, -1, -1):
            v = node.inputs[i]
            before = previous(first)
            if v.node is not before or depth >= MAX_DEPTH or self.budget <= 0:
                continue
            if can_inline(before, node, i) and not (node.kind == "prim::SetAttr" and i == 0):
                self.nodes.add(before)
                self.budget -= 1
                first = self.inputs(before, depth + 1)
        return first


def can_inline(node: Node, user: Node, index: int) -> bool:
    """Whether the output of `node`, which is input `index` of `user`, needs no name."""
    if node.kind in OWN_LINE or node.kind == "prim::Param" or node.blocks or len(node.outputs) != 1:
        return False
    output = node.outputs[0]
    if len(output.uses) != 1:
        return False
    if TEMPORARY.fullmatch(output.name):
        return True
    owner = user.block.owner if user.kind == "prim::Return" else None
    return owner is not None and base_name(owner.outputs[index].name) == base_name(output.name)


def base_name(name: str) -> str:
    """The variable to which a value belongs: `hx` for `hx`, `hx6` and `hx.2`."""
    return name.partition(".")[0].rstrip("0123456789")


def previous(node: Node) -> Node:
    """The last node before `node` that is not a constant.  Constants are printed at their uses."""
    node = node.prev
    while node is not None and node.kind == "prim::Constant":
        node = node.prev
    return node
