"""Memory plans: offsets for the tensors of a program, such that it needs little memory.

    plan = plan_memory(graph, propagate(graph, inputs))
    plan.peak, plan.naive, plan.lower_bound         bytes; print(plan) is the report

A plan contains tensors of known size that a node of the graph's own block makes and that do not
escape from the graph. A tensor lives from the node that makes it to the last one that may access
its memory, directly, through a view, or in a list. A branch or loop counts as one step. Tensors
made inside of them, results, and the working memory of kernels are left to the allocator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .. import types as T
from ..ir import Graph, Node, Value
from .alias import AliasAnalysis
from .points_to import bits
from .shape_facts import Fact, TensorFacts

ALIGNMENT = 64
"""Offsets and sizes of buffers are multiples of it."""


@dataclass
class Buffer:
    """The memory of one tensor: its bytes, and the first and last step at which it is needed."""

    name: str
    kind: str
    size: int
    first: int
    last: int
    offset: int = 0

    @property
    def end(self) -> int:
        return self.offset + self.size

    def meets(self, other: Buffer) -> bool:
        """Whether both buffers are needed at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass
class MemoryPlan:
    """The result of `plan_memory`.

    buffers: in the order of their first steps, with offsets. results: the bytes of tensors that
    escape from the graph. unplanned: how many tensors have an unknown size."""

    buffers: list[Buffer] = field(default_factory=list)
    results: int = 0
    unplanned: int = 0

    @property
    def peak(self) -> int:
        """The bytes of the block that contains all buffers at their offsets."""
        return max((b.end for b in self.buffers), default=0)

    @property
    def naive(self) -> int:
        """The bytes needed without any reuse of memory."""
        return sum(b.size for b in self.buffers)

    @property
    def lower_bound(self) -> int:
        """The most bytes that are needed at one step: no plan takes less."""
        changes: dict[int, int] = {}
        for b in self.buffers:
            changes[b.first] = changes.get(b.first, 0) + b.size
            changes[b.last + 1] = changes.get(b.last + 1, 0) - b.size
        live = most = 0
        for step in sorted(changes):
            live += changes[step]
            most = max(most, live)
        return most

    def __str__(self) -> str:
        ratio = self.naive / self.peak if self.peak else 1.0
        lines = [
            f"memory: peak {self.peak:,} bytes for {len(self.buffers)} tensors",
            f"  at least {self.lower_bound:,}; "
            f"{self.naive:,} without reuse ({ratio:.1f} times as much)",
            f"  results: {self.results:,} bytes; tensors of unknown size: {self.unplanned}",
        ]
        width = max((len(b.name) for b in self.buffers), default=0)
        lines += [
            f"  %{b.name:{width}}  {b.offset:>12,} + {b.size:<12,} steps {b.first}-{b.last}"
            f"  {b.kind}"
            for b in self.buffers
        ]
        return "\n".join(lines)


def plan_memory(graph: Graph, facts: Mapping[Value, Fact]) -> MemoryPlan:
    """Plan the tensors of the graph's own block, by greedy best fit."""
    plan = lifetimes(graph, facts)
    place(plan.buffers)
    return plan


def lifetimes(graph: Graph, facts: Mapping[Value, Fact]) -> MemoryPlan:
    """The buffers of a graph, without offsets."""
    analysis = AliasAnalysis(graph)
    nodes = list(graph.nodes)
    last = last_uses(nodes, analysis)
    kept = analysis.outside | analysis.returned
    plan = MemoryPlan()
    for step, node in enumerate(nodes):
        for i, v in enumerate(node.outputs):
            made = analysis.made.get((node, i))
            if v.type != T.TENSOR or made is None or not makes_tensor(node, i):
                continue
            size = size_in_bytes(facts.get(v))
            if size is None:
                plan.unplanned += 1
            elif made & kept:
                plan.results += size
            elif size:
                size = -(-size // ALIGNMENT) * ALIGNMENT
                plan.buffers.append(
                    Buffer(
                        v.name or f"{node.kind.partition('::')[2]}_{step}",
                        node.kind,
                        size,
                        step,
                        last.get(made.bit_length() - 1, step),
                    )
                )
    return plan


def makes_tensor(node: Node, i: int) -> bool:
    """Whether a result is a tensor that the operator makes, and not an item of a container."""
    return (
        node.schema is None
        and "Subgraph" in node.attributes
        or node.schema is not None
        and node.schema.returns[i].type == T.TENSOR
    )


def size_in_bytes(fact: Fact) -> int | None:
    if not isinstance(fact, TensorFacts) or fact.shape is None or fact.dtype is None:
        return None
    sizes = [s for s in fact.shape if isinstance(s, int)]
    return math.prod(sizes) * fact.dtype.itemsize if len(sizes) == len(fact.shape) else None


def last_uses(nodes: list[Node], analysis: AliasAnalysis) -> dict[int, int]:
    """Location -> the last step in which a value that reaches it is used."""
    last: dict[int, int] = {}
    for step, node in enumerate(nodes):
        for v in used_by(node):
            for location in bits(analysis.reach(analysis.of(v))):
                last[location] = step
    return last


def used_by(node: Node) -> Iterable[Value]:
    """The values that a node uses, in its blocks too."""
    yield from node.inputs
    for block in node.blocks:
        for inner in block.nodes:
            yield from used_by(inner)
        yield from block.returns


def place(buffers: list[Buffer]) -> None:
    """Assign offsets: the largest buffer first, each in the smallest gap in which it fits."""
    placed: list[Buffer] = []
    for buffer in sorted(buffers, key=lambda b: (-b.size, b.first)):
        others = sorted((b for b in placed if b.meets(buffer)), key=lambda b: b.offset)
        buffer.offset = best_offset(buffer.size, others)
        placed.append(buffer)


def best_offset(size: int, others: list[Buffer]) -> int:
    """The start of the smallest gap of at least `size` bytes between buffers sorted by offset, or
    the end of the last one."""
    best, found, at = None, 0, 0
    for other in others:
        gap = other.offset - at
        if gap >= size and (best is None or gap < best):
            best, found = gap, at
        at = max(at, other.end)
    return at if best is None else found
