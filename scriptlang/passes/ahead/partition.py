"""Decides what the backward pass keeps from the forward pass, and what it recomputes.

A value of the forward part that the backward part needs is either kept, or recomputed from values
that are kept. The choice is a minimum cut. Each value is an edge whose capacity is the number of
bytes of its tensor. Paths lead from what cannot be recomputed (arguments, matrix products, random
numbers) to what the backward part uses. The values whose edges are cut are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ... import types as T
from ...dtypes import DType
from ...ir import Graph, Node, Value, clone_node
from ...ops.table import facts_of
from ..effects import has_side_effects, is_random
from ..fusible import is_fusible
from ..shape_facts import Fact, TensorFacts
from ..sizes import Size, substitute
from .flow import ENDLESS, Network

SYMBOL = 64
"""The number that an unknown size is estimated as."""


class Partition(NamedTuple):
    """The result of `partition`.

    forward, backward: graphs. The first returns its outputs and then what is kept; the second takes
    the kept values and the gradients of the outputs. kept: the kept values of the whole graph, with
    their bytes. again: the nodes of it that the backward part recomputes. outputs: how many results
    the forward part has before the kept ones.
    """

    forward: Graph
    backward: Graph
    kept: list[tuple[Value, int]]
    again: list[Node]
    outputs: int


class Parts:
    """Which nodes of a graph belong to which part.

    forward: the nodes that the outputs need. backward: the nodes that depend on their gradients.
    """

    def __init__(self, graph: Graph, outputs: Iterable[Value], tangents: Iterable[Value]) -> None:
        self.graph = graph
        self.nodes = list(graph.block.nodes)
        self.tangents = set(tangents)
        depends = set(self.tangents)
        self.backward: set[Node] = set()
        for node in self.nodes:
            if any(v in depends for v in taken(node)):
                self.backward.add(node)
                depends.update(node.outputs)
        self.forward: set[Node] = set()
        needed = set(outputs)
        for node in reversed(self.nodes):
            if needs(node, needed) or node not in self.backward and has_to_run(node):
                self.forward.add(node)
                needed.update(taken(node))

    def used_backward(self, results: Iterable[Value]) -> dict[Value, None]:
        """The values that the backward part uses but does not compute."""
        used = [v for node in self.nodes if node in self.backward for v in taken(node)]
        return dict.fromkeys(
            v for v in (*used, *results) if v.node not in self.backward and v not in self.tangents
        )


def has_to_run(node: Node) -> bool:
    """Whether a node has to run even if its results are unused."""
    return has_side_effects(node) or node.schema is not None and node.schema.is_mutable


def needs(node: Node, needed: set[Value]) -> bool:
    return any(v in needed for v in node.outputs)


def taken(node: Node) -> Iterator[Value]:
    """The values that a node uses, in its blocks too."""
    yield from node.inputs
    for block in node.blocks:
        inner = [v for n in block.nodes for v in taken(n)]
        yield from (v for v in (*inner, *block.returns) if not v.node.block.is_inside(block))


def is_cheap(node: Node) -> bool:
    """Whether a node may be recomputed."""
    if node.kind == "prim::Constant":
        return True
    if node.blocks or has_side_effects(node) or is_random(node):
        return False
    schema = node.schema
    if schema is None:
        return node.kind in ("prim::ListConstruct", "prim::ListUnpack")
    if schema.is_mutable:
        return False
    facts = facts_of(schema)
    return (
        is_fusible(node)
        or facts.pointwise
        or any(schema.shared)
        or not any(v.type == T.TENSOR for v in node.inputs)
    )


def bytes_of(v: Value, fact: Fact) -> int:
    """The bytes that it takes to keep a value from the forward to the backward pass."""
    if v.type != T.TENSOR:
        return 8
    if not isinstance(fact, TensorFacts) or fact.shape is None:
        return 8 * SYMBOL * SYMBOL
    return max(1, math.prod(map(number, fact.shape)) * width(fact.dtype))


def number(size: Size) -> int:
    """A size as it was when the graph was made, or SYMBOL."""
    found = substitute(size, lambda s: SYMBOL if s.likely is None else s.likely)
    return found if isinstance(found, int) else SYMBOL


def width(dtype: DType | None) -> int:
    return 4 if dtype is None else dtype.itemsize


def cut(
    parts: Parts, results: Iterable[Value], facts: Mapping[Value, Fact]
) -> tuple[list[Value], list[Node]]:
    """Return (values to keep, nodes to recompute), both in the order of the graph."""
    used = parts.used_backward(results)
    candidates = [v for v in parts.graph.inputs if v not in parts.tangents]
    candidates += [v for n in parts.nodes if n not in parts.backward for v in n.outputs]
    number_of = {v: 2 * i for i, v in enumerate(candidates)}
    source, sink = 2 * len(candidates), 2 * len(candidates) + 1
    network = Network(2 * len(candidates) + 2)
    for v, i in number_of.items():
        is_input = v.is_parameter
        network.connect(i, i + 1, 1 if is_input else bytes_of(v, facts.get(v)))
        if is_input or not is_cheap(v.node):
            network.connect(source, i, ENDLESS)
        if not is_input:
            for taken_value in taken(v.node):
                network.connect(number_of[taken_value] + 1, i, ENDLESS)
        if v in used:
            network.connect(i + 1, sink, ENDLESS)
    _, near = network.smallest_cut(source, sink)
    kept = [v for v, i in number_of.items() if near[i] and not near[i + 1]]
    return kept, again_of(parts, used, set(kept))


def again_of(parts: Parts, used: Iterable[Value], kept: set[Value]) -> list[Node]:
    """The nodes that the backward part recomputes from the kept values."""
    found: set[Node] = set()
    pending = [v for v in used if v not in kept]
    while pending:
        v = pending.pop()
        if v.is_parameter or v.node in found:
            continue
        found.add(v.node)
        pending += [w for w in taken(v.node) if w not in kept]
    return [node for node in parts.nodes if node in found]


def partition(
    graph: Graph,
    outputs: Sequence[Value],
    tangents: Sequence[Value],
    results: Sequence[Value],
    facts: Mapping[Value, Fact],
) -> Partition:
    """Split a graph into a forward and a backward graph.

    outputs: the results of the forward part. tangents: the inputs that are their gradients.
    results: the results of the backward part.
    """
    parts = Parts(graph, outputs, tangents)
    kept, again = cut(parts, results, facts)
    forward, backward = Graph(graph.name), Graph(f"{graph.name}_backward")
    env: dict[Value, Value] = {}
    for v in graph.inputs:
        if v not in tangents:
            env[v] = forward.block.add_parameter(v.type, v.name)
    wanted = parts.forward | needed_for(parts, kept)
    for node in parts.nodes:
        if node in wanted:
            forward.block.append(clone_node(node, forward, env))
    give(forward, [env[v] for v in (*outputs, *kept)])
    env = {v: backward.block.add_parameter(v.type, v.name) for v in (*kept, *tangents)}
    repeated = set(again)
    for node in parts.nodes:
        if node in repeated or node in parts.backward:
            backward.block.append(clone_node(node, backward, env))
    give(backward, [env[v] for v in results])
    return Partition(
        forward, backward, [(v, bytes_of(v, facts.get(v))) for v in kept], again, len(outputs)
    )


def needed_for(parts: Parts, values: Iterable[Value]) -> set[Node]:
    """The nodes that are needed to compute the values."""
    found: set[Node] = set()
    pending = list(values)
    while pending:
        v = pending.pop()
        if not v.is_parameter and v.node not in found:
            found.add(v.node)
            pending += taken(v.node)
    return found


def give(graph: Graph, values: Sequence[Value]) -> None:
    """Let a graph return the values in a tuple."""
    made = graph.insert(
        "prim::TupleConstruct", values, [T.TupleType(tuple(v.type for v in values))]
    )
    graph.block.add_return(made.output)
