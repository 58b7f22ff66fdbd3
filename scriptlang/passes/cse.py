"""Common subexpression elimination: merges nodes that compute the same value.

    %3 : int = aten::add(%a, %b)
    %4 : int = aten::add(%a, %b)      ->    uses of %4 use %3

A node replaces later ones in its block and in blocks nested in later nodes. Some nodes are left
alone: nodes with effects or blocks, nodes whose inputs or outputs are written anywhere, and pairs
whose results both leave the graph, since the caller may write to only one of them.
"""

from __future__ import annotations

from typing import Any

from ..ir import Block, Graph, Node
from .alias import analysis_of
from .effects import has_side_effects

UNIQUE = frozenset({"prim::CreateObject", "prim::Uninitialized", "prim::SetAttr"})
"""Kinds whose outputs have an identity: two of them differ even if their contents are equal."""


def run(graph: Graph) -> bool:
    return _Merger(graph).block(graph.block, None)


class Scope:
    """The nodes of a block by what they compute, and those of the enclosing blocks."""

    def __init__(self, outer: Scope | None) -> None:
        self.outer = outer
        self.nodes: dict[tuple[Any, ...], Node] = {}

    def find(self, key: tuple[Any, ...]) -> Node | None:
        scope: Scope | None = self
        while scope is not None:
            if key in scope.nodes:
                return scope.nodes[key]
            scope = scope.outer
        return None


class _Merger:
    def __init__(self, graph: Graph) -> None:
        self.analysis = analysis_of(graph)

    def block(self, block: Block, outer: Scope | None) -> bool:
        scope, changed = Scope(outer), False
        for node in block.nodes:
            for inner in node.blocks:
                changed |= self.block(inner, scope)
            if node.blocks or not node.outputs or node.kind in UNIQUE or has_side_effects(node):
                continue
            key = key_of(node)
            known = scope.find(key)
            if known is None:
                scope.nodes[key] = node
            elif self.may_merge(known, node):
                self.merge(known, node)
                changed = True
        return changed

    def may_merge(self, known: Node, node: Node) -> bool:
        if node.kind == "prim::Constant":
            return True  # constant lists are never written
        if self.analysis.has_writers(node) or self.analysis.has_writers(known):
            return False
        return not (self.gives_away(known) and self.gives_away(node))

    def merge(self, known: Node, node: Node) -> None:
        for kept, gone in zip(known.outputs, node.outputs):
            self.analysis.merge(kept, gone)
        node.replace_with(*known.outputs)

    def gives_away(self, node: Node) -> bool:
        """Whether memory that the node makes escapes to code outside."""
        return any(
            (node, i) in self.analysis.made and self.analysis.escapes(v)
            for i, v in enumerate(node.outputs)
        )


def key_of(node: Node) -> tuple[Any, ...]:
    """A key of what a node computes.
    Nodes with equal keys have equal results if no memory is written."""
    return (
        node.qualified_name,
        node.schema is None,
        tuple(map(id, node.inputs)),
        tuple(v.type for v in node.outputs),
        tuple((k, value_key(v)) for k, v in sorted(node.attributes.items())),
    )


def value_key(value: Any) -> Any:
    """A hashable key of a constant that distinguishes 1, 1.0 and True, and 0.0 and -0.0."""
    if isinstance(value, (int, float, complex, str, bool, type(None))):
        return type(value), repr(value)
    if type(value) in (tuple, list):
        return type(value), tuple(map(value_key, value))
    return id(value)
