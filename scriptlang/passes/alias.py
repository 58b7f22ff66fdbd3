"""Which values may share memory, and which nodes read and write it.

A value points to locations. A location is memory that a node makes (the storage of a new tensor, a
container, an object), or, one per kind of memory, all memory that existed before the graph ran or
that code outside may see. constraints.py says what nodes do to pointers; points_to.py solves that.

    analysis = AliasAnalysis(graph)
    analysis.may_alias(a, b); analysis.is_written(v); analysis.may_move_before(node, point)

An analysis describes the graph as it was. It stays sound, though less precise, while passes remove
nodes, replace a value by an equal one, and add values. Values added later may point to anything,
unless `stands_for` says which value they replace. A pass that adds writes, or copies nodes that
make memory, has to drop the analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property

from ..ir import Graph, Node, Value
from .constraints import Constraints, memory_kinds
from .effects import ALLOCATIONS, PASSES_ON, UNPACKS, has_side_effects, is_opaque
from .points_to import Locations

__all__ = ["AliasAnalysis", "analysis_of", "drop_analysis", "memory_kinds", "shared_analysis"]


class AliasAnalysis(Constraints):
    """The solved constraints of one graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.solve()
        self.everything = (1 << len(self.fields)) - 1
        self.returned = self._reach_all(graph.outputs)
        self._nodes = [n for n in graph.walk() if not n.blocks and self._may_write(n)]

    # Questions

    def may_alias(self, a: Value, b: Value) -> bool:
        """Whether writing to one value may change the other (not counting what they contain)."""
        return bool(self.seen(self.of(a)) & self.seen(self.of(b)))

    def may_contain_alias(self, a: Iterable[Value], b: Iterable[Value]) -> bool:
        """Whether something reached from `a` may share memory with something reached from `b`."""
        return bool(self.seen(self._reach_all(a)) & self.seen(self._reach_all(b)))

    def escapes(self, v: Value) -> bool:
        """Whether code outside may hold the value's memory, now or once the graph has returned."""
        return bool(self.reach(self.of(v)) & (self.outside | self.returned))

    @property
    def writers(self) -> list[Node]:
        """The nodes without blocks that write to memory (calls are among them)."""
        return [n for n in self._nodes if n.block is not None and self.writes(n)]

    @cached_property
    def written(self) -> Locations:
        """All memory that is written in the graph."""
        found = 0
        for node in self.writers:
            found |= self.writes(node)
        return found

    def is_written(self, *values: Value) -> bool:
        """Whether any node of the graph may write to memory reached from the values."""
        return bool(self.seen(self._reach_all(values)) & self.written)

    def has_writers(self, node: Node) -> bool:
        """Whether memory of the node's inputs or outputs is written anywhere in the graph."""
        return self.is_written(*node.inputs, *node.outputs)

    def writes(self, node: Node) -> Locations:
        """The locations that a node, or one inside it, may write.
        All outside memory of a kind counts as one location."""
        found = 0
        if node.blocks:
            for block in node.blocks:
                for inner in block.nodes:
                    found |= self.writes(inner)
            return found
        if is_opaque(node):
            return self.seen(self._reach_all(node.inputs) | self.all_opaque)
        if node.kind == "prim::SetAttr":
            return self.seen(self.of(node.inputs[0]))
        if node.schema is not None:
            for i, elementwise in node.schema.written:
                held = self.of(node.inputs[i])
                found |= self.contents(held) if elementwise else held
        return self.seen(found)

    def reads(self, node: Node) -> Locations:
        """The locations whose contents a node, or one inside it, may read."""
        found = 0
        if node.blocks:
            for block in node.blocks:
                for inner in block.nodes:
                    found |= self.reads(inner)
            return found
        if node.kind in ALLOCATIONS or node.kind in PASSES_ON or node.kind == "prim::Constant":
            return 0
        if node.kind in ("prim::GetAttr", "prim::isinstance") or node.kind in UNPACKS:
            return self.seen(self.of(node.inputs[0]))
        found = self._reach_all(node.inputs)
        return self.seen(found | self.all_opaque if is_opaque(node) else found)

    def may_move_before(self, node: Node, point: Node) -> bool:
        """Whether `node` may run right before `point`, an earlier node of the same block."""
        return self.may_pass(node, self._between(point, node, first=True))

    def may_move_after(self, node: Node, point: Node) -> bool:
        """Whether `node` may run right after `point`, a later node of the same block."""
        return self.may_pass(node, self._between(node, point, first=False))

    def of(self, v: Value) -> Locations:
        """The locations that a value may point to; anything, if it was added after the analysis."""
        found = self.points.get(v)
        if found is None:
            return self.everything if memory_kinds(v.type) else 0
        return found

    def reached(self, values: Iterable[Value]) -> Locations:
        """The memory reached from the values.
        All outside memory of a kind counts as one location."""
        return self.seen(self._reach_all(values))

    # Changes of the graph

    def stands_for(self, new: Value, old: Value) -> None:
        """Note that a value made by a pass takes the place of another."""
        if old in self.points:
            self.points[new] = self.points[old]

    def merge(self, kept: Value, gone: Value) -> None:
        """Note that a value to which no one writes is now used instead of an equal one."""
        if self.escapes(gone):
            self.returned |= self.reach(self.of(kept))

    # Moving

    def _between(self, first_node: Node, last_node: Node, first: bool) -> Iterator[Node]:
        """The nodes between the two, including the first or else the last of them."""
        node = first_node if first else first_node.next
        while node is not last_node:
            if node is None or node is node.block.end:
                raise ValueError(f"{first_node!r} does not come before {last_node!r}")
            yield node
            node = node.next
        if not first:
            yield last_node

    def may_pass(self, node: Node, others: Iterable[Node]) -> bool:
        """Whether `node` may be moved across the other nodes of its block."""
        reads, writes, effect = self.reads(node), self.writes(node), has_side_effects(node)
        for other in others:
            if _depends(node, other) or _depends(other, node) or effect and has_side_effects(other):
                return False
            if writes & self.reads(other) or (reads | writes) & self.writes(other):
                return False
        return True

    def _may_write(self, node: Node) -> bool:
        return (
            node.kind == "prim::SetAttr"
            or is_opaque(node)
            or (node.schema is not None and bool(node.schema.written))
        )

    def _reach_all(self, values: Iterable[Value]) -> Locations:
        found = 0
        for v in values:
            found |= self.of(v)
        return self.reach(found)


_shared: dict[Graph, AliasAnalysis | None] = {}


@contextmanager
def shared_analysis(graph: Graph) -> Iterator[Callable[[], None]]:
    """A context in which `analysis_of` keeps its analysis; it yields a function that drops it."""
    _shared[graph] = None
    try:
        yield lambda: drop_analysis(graph)
    finally:
        del _shared[graph]


def drop_analysis(graph: Graph) -> None:
    """Forget the shared analysis, so that the next question analyses the graph anew."""
    if graph in _shared:
        _shared[graph] = None


def analysis_of(graph: Graph) -> AliasAnalysis:
    """A sound analysis of the graph: the shared one if passes share one, else a new one."""
    known = _shared.get(graph)
    if known is None:
        known = AliasAnalysis(graph)
        if graph in _shared:
            _shared[graph] = known
    return known


def _depends(node: Node, other: Node) -> bool:
    """Whether `node`, or a node in it, uses an output of `other` or of a node in `other`."""
    inner = set(_all_nodes(node))
    return any(
        user in inner
        or user.block is not None
        and user.kind == "prim::Return"
        and user.block.owner in inner
        for n in _all_nodes(other)
        for v in n.outputs
        for user, _ in v.uses
    )


def _all_nodes(node: Node) -> Iterator[Node]:
    yield node
    for block in node.blocks:
        yield from block.walk()
