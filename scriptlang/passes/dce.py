"""Dead code elimination: removes nodes, branch results and loop-carried values that are unused.

A value is live if it is returned, used by a node that has an effect, or used to compute another
live value. A write is live if its memory is outside the graph or reached from a live value. As in
PyTorch, an operator with an unused result is removed even if running it would have raised an error.
A `while` stays, since it may not end; a `for` over a range ends, so it can be removed.
"""

from __future__ import annotations

from ..ir import Block, Graph, Node, Value
from .alias import analysis_of
from .effects import has_side_effects


def run(graph: Graph) -> bool:
    live = _Liveness(graph)
    return _sweep(graph.block, live)


class _Liveness:
    """The live nodes and values of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.nodes: set[Node] = set()
        self.values: set[Value] = set()
        self.pending: list[Value] = []
        self.analysis = analysis_of(graph)
        self.reached = 0
        outside = self.analysis.all_opaque
        writers = {n: self.analysis.writes(n) for n in self.analysis.writers}
        for v in graph.outputs:
            self.value(v)
        for node in graph.walk():
            effect = (
                may_not_end(node)
                if node.blocks
                else (has_side_effects(node) or writers.get(node, 0) & outside)
            )
            if effect:
                self.node(node)
        self.spread()
        while True:
            late = [
                n
                for n, written in writers.items()
                if n not in self.nodes and written & self.reached
            ]
            if not late:
                break
            for node in late:
                self.node(node)
            self.spread()

    def value(self, v: Value) -> None:
        if v not in self.values:
            self.values.add(v)
            self.pending.append(v)

    def spread(self) -> None:
        """Mark the nodes that compute live values as live."""
        fresh: list[Value] = []
        while self.pending:
            v = self.pending.pop()
            fresh.append(v)
            self.made(v)
        self.reached |= self.analysis.reached(fresh)

    def made(self, v: Value) -> None:
        node = v.node
        if node.kind == "prim::Param":
            owner = node.block.owner
            if owner is not None and owner.kind == "prim::Loop":
                i = v.index
                self.node(owner)
                if i:
                    self.value(owner.inputs[i + 1])
                    self.value(node.block.returns[i])
        elif node.kind == "prim::If":
            self.node(node)
            for block in node.blocks:
                self.value(block.returns[v.index])
        elif node.kind == "prim::Loop":
            self.node(node)
            self.value(node.inputs[v.index + 2])
            self.value(node.blocks[0].returns[v.index + 1])
            self.value(node.blocks[0].parameters[v.index + 1])
        else:
            self.node(node)

    def node(self, node: Node) -> None:
        """Mark a node as live, and the nodes that contain it, with their conditions."""
        if node in self.nodes:
            return
        self.nodes.add(node)
        if node.kind == "prim::If":
            self.value(node.inputs[0])
        elif node.kind == "prim::Loop":
            for v in (*node.inputs[:2], node.blocks[0].returns[0]):
                self.value(v)
        else:  # all results of the block of a prim::fork are live
            for v in (*node.inputs, *(v for block in node.blocks for v in block.returns)):
                self.value(v)
        owner = node.block.owner
        if owner is not None:
            self.node(owner)


ENDLESS = 2**63 - 1
"""The trip count of a `while`, which only its condition ends."""


def may_not_end(node: Node) -> bool:
    """Whether a node is a loop that only its condition can end."""
    if node.kind != "prim::Loop":
        return False
    count, again = node.inputs[0], node.blocks[0].returns[0]
    stops = again.is_constant and again.constant is False
    return count.is_constant and count.constant == ENDLESS and not stops


def _sweep(block: Block, live: _Liveness) -> bool:
    changed = False
    for node in block.nodes_reversed:
        if node not in live.nodes:
            node.destroy()
            changed = True
            continue
        dead = _dead_results(node, live)
        _remove_results(node, dead)
        for inner in node.blocks:
            changed |= _sweep(inner, live)
        if node.kind == "prim::Loop":
            for i in dead:
                node.blocks[0].start.remove_output(i + 1)
        changed |= bool(dead)
    return changed


def _dead_results(node: Node, live: _Liveness) -> list[int]:
    """Indices, last first, of outputs of an If or Loop that can be removed with their inputs."""
    if node.kind not in ("prim::If", "prim::Loop"):
        return []
    dead = [i for i, v in enumerate(node.outputs) if v not in live.values]
    if node.kind == "prim::Loop":
        parameters = node.blocks[0].parameters
        dead = [i for i in dead if parameters[i + 1] not in live.values]
    return dead[::-1]


def _remove_results(node: Node, dead: list[int]) -> None:
    """Remove outputs and the matching results of the blocks.
    The caller removes the parameters of a loop after it has swept the body."""
    shift = 1 if node.kind == "prim::Loop" else 0
    for i in dead:
        node.remove_output(i)
        for block in node.blocks:
            block.end.remove_input(i + shift)
        if shift:
            node.remove_input(i + 2)
