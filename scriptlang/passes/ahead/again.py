"""Recomputes values in the backward pass of one graph if keeping them takes much memory.

    %h = aten::linear(...)                     %h = aten::linear(...)
    %g = aten::gelu(%h)                 ->     %g = aten::gelu(%h)
    ... the loss, from %g                      ... the loss, from %g, which ends here
    %d = aten::mm(%t, %g)                      %again = aten::gelu(%h)
                                               %d = aten::mm(%t, %again)

The partition (partition.py) decides what is kept. This pass runs last: eliminating common
subexpressions would undo it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ... import types as T
from ...ir import Graph, Node, Value, clone_node
from ..shape_facts import Fact
from .partition import Parts, bytes_of, cut

LEAST_BYTES = 4 << 20
"""Recomputation has to save at least so many bytes to be done at all."""


class OneGraph(Parts):
    """The parts of a graph that contains both passes: nodes that the outputs do not need are the
    backward part."""

    def __init__(self, graph: Graph, outputs: list[Value]) -> None:
        super().__init__(graph, outputs, ())
        self.backward = {node for node in self.nodes if node not in self.forward}


def recompute(graph: Graph, outputs: int, facts: Mapping[Value, Fact]) -> int:
    """Recompute values where that saves memory; returns how many bytes it saves.

    outputs: how many values of the returned tuple are results of the program (the rest are
    gradients).
    """
    made = graph.outputs[0].node
    parts = OneGraph(graph, made.inputs[:outputs])
    parts.nodes = [node for node in parts.nodes if node is not made]
    parts.backward.discard(made)
    results = made.inputs[outputs:]
    used = parts.used_backward(results)
    kept, again = cut(parts, results, facts)
    again = [node for node in again if node in parts.forward and node.kind != "prim::Constant"]
    spared = cost(used, facts) - cost(dict.fromkeys(kept), facts)
    if spared < LEAST_BYTES or not again:
        return 0
    order = {node: i for i, node in enumerate(parts.nodes)}
    late = sorted((n for n in parts.backward), key=order.__getitem__)
    env: dict[Value, Value] = {}
    done: set[Node] = set()
    repeated = set(again)

    def repeat(v: Value, before: Node) -> None:
        """Insert copies of the nodes that compute a value before the node `before`."""
        pending = [v.node]
        while pending:
            node = pending[-1]
            if node in done:
                pending.pop()
                continue
            first = [w.node for w in node.inputs if w.node in repeated and w.node not in done]
            if first:
                pending += first
                continue
            clone_node(node, graph, env).insert_before(before)
            done.add(node)
            pending.pop()

    for user in (*late, made):
        for i, v in enumerate(list(user.inputs)):
            if v.node in repeated and (user is not made or i >= outputs):
                if v not in env:
                    repeat(v, user)
                user.replace_input(i, env[v])
    return spared


def cost(values: Mapping[Value, None], facts: Mapping[Value, Fact]) -> int:
    """The bytes of the tensors that a run allocates; a view counts as its base."""
    made = {base_of(v) for v in values if v.type == T.TENSOR}
    return sum(bytes_of(v, facts.get(v)) for v in made if not v.is_parameter and not v.is_constant)


def base_of(v: Value) -> Value:
    """The value that owns the memory of a view (the value itself if it is no view)."""
    while v.node.schema is not None and any(v.node.schema.shared) and v.node.inputs:
        v = v.node.inputs[0]
    return v
