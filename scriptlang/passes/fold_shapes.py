"""Replaces what shapes determine by constants, and computes equal sizes only once.

    %d : int = aten::dim(%y)                      ->    %d : int = prim::Constant[value=4]()
    %c : bool = aten::gt(%n, %minus_one)          ->    %c : bool = prim::Constant[value=1]()
    %m : int = aten::size(%z, %zero)              ->    uses of %m are uses of %n,
                                                        where both are s0

    %t : Tensor = prim::NumToTensor(%n)
    %u : Tensor = aten::mul(%t, %two)             ->    %k : int = aten::mul(%n, %2)
    %k : int = aten::Int(%u)

This only applies to ints and bools, from operators that do nothing else. A value replaces later
equal ones in its block and in nested blocks. Equal ranks of different tensors are read from an
input of the graph, so that a chain of layers that keep the rank reads it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import types as T
from ..ir import Block, Graph, Node, Value
from ..ops import table
from .effects import has_side_effects
from .shape_facts import Fact, TensorFacts
from .shapes import Propagation
from .sizes import Expression, Quotient, Size, expression_of

SCALARS = (T.INT, T.BOOL)


def run(graph: Graph, inputs: Mapping[Value, Fact] | None = None) -> bool:
    """inputs: facts about the inputs; the new graph is only correct for inputs with them."""
    if not any(
        v.type in SCALARS for n in graph.walk() if n.kind != "prim::Constant" for v in n.outputs
    ):
        return False
    return _Folding(Propagation(graph, inputs or {})).block(graph.block, {})


class _Folding:
    def __init__(self, found: Propagation) -> None:
        self.facts = found.facts
        self.analysis = found.analysis

    def block(self, block: Block, outer: dict[Expression, Value]) -> bool:
        """outer: the values that hold sizes where the block begins."""
        known, changed = dict(outer), False
        for v in block.parameters:
            self.note(v, known)
        for node in block.nodes:
            for inner in node.blocks:
                changed |= self.block(inner, known)
            if node.blocks or len(node.outputs) != 1 or not is_foldable(node):
                for v in node.outputs:
                    self.note(v, known)
                continue
            changed |= self.fold(node, known)
        return changed

    def note(self, v: Value, known: dict[Expression, Value]) -> None:
        fact = self.facts.get(v)
        if v.type == T.INT and isinstance(fact, Expression):
            known.setdefault(fact, v)

    def fold(self, node: Node, known: dict[Expression, Value]) -> bool:
        v = node.output
        fact = self.facts.get(v)
        if v.type not in SCALARS:
            return False
        if type(fact) is (bool if v.type == T.BOOL else int):
            with node.graph.at(node) as graph:
                node.replace_with(graph.constant(fact, v.type, like=node))
            return True
        if not isinstance(fact, Expression):
            return False
        earlier = known.get(fact)
        if earlier is None and node.kind in FROM_TENSORS:
            earlier = computed(fact, known, node)
        known.setdefault(fact, earlier or v)
        if earlier is not None:
            node.replace_with(earlier)
            return True
        return self.ask_origin(node, fact)

    def ask_origin(self, node: Node, fact: Expression) -> bool:
        """Read a rank from an input of the graph with the same one, not a derived tensor."""
        if node.kind not in ("aten::dim", "aten::size") or len(node.inputs) == 0:
            return False
        for tensor in node.graph.inputs:
            origin = self.facts.get(tensor)
            if (
                tensor is not node.inputs[0]
                and isinstance(origin, TensorFacts)
                and node.kind == "aten::dim"
                and origin.rank == fact
            ):
                node.replace_input(0, tensor)
                return True
        return False


FROM_TENSORS = frozenset(f"aten::{name}" for name in ("Int", "IntImplicit", "item"))
"""Operators that read a number out of a tensor. Traced programs compute sizes in tensors."""

MOST_STEPS = 6
"""The most int operations by which reading one number out of a tensor is replaced."""


def computed(size: Size, known: Mapping[Expression, Value], at: Node) -> Value | None:
    """The size, computed from known ints; None if they are missing or it takes too many nodes."""
    if not can_compute(size, known) or steps(size) > MOST_STEPS:
        return None
    with at.graph.at(at) as graph:
        return compute(size, known, graph, at)


def can_compute(size: Size, known: Mapping[Expression, Value]) -> bool:
    if isinstance(size, int) or size in known:
        return True
    return all(
        can_compute(a.dividend, known) and can_compute(a.divisor, known)
        if isinstance(a, Quotient)
        else expression_of(a) in known
        for term, _ in size.terms
        for a in term
    )


def steps(size: Size) -> int:
    if isinstance(size, int):
        return 0
    return sum(
        len(term)
        + (k != 1)
        + sum(1 + steps(a.dividend) + steps(a.divisor) for a in term if isinstance(a, Quotient))
        for term, k in size.terms
    ) + (size.constant != 0)


def compute(size: Size, known: Mapping[Expression, Value], graph: Graph, like: Node) -> Value:
    """Insert nodes that compute a size from ints."""

    def operate(name: str, a: Value, b: Value) -> Value:
        schema = table.schema_of(f"aten::{name}", "int")
        return graph.insert(schema.name, [a, b], [T.INT], schema=schema, like=like).output

    def atom(a: Any) -> Value:
        if isinstance(a, Quotient):
            return operate(
                "floordiv",
                compute(a.dividend, known, graph, like),
                compute(a.divisor, known, graph, like),
            )
        return known[expression_of(a)]

    if isinstance(size, int):
        return graph.constant(size, T.INT, like=like)
    if size in known:
        return known[size]
    total: Value | None = None
    for term, k in size.terms:
        product = atom(term[0])
        for a in term[1:]:
            product = operate("mul", product, atom(a))
        if k != 1:
            product = operate("mul", product, graph.constant(k, T.INT, like=like))
        total = product if total is None else operate("add", total, product)
    assert total is not None, "it would be a number"
    if size.constant:
        total = operate("add", total, graph.constant(size.constant, T.INT, like=like))
    return total


def is_foldable(node: Node) -> bool:
    """Whether a node does nothing but compute its output."""
    return (
        node.kind != "prim::Constant"
        and node.schema is not None
        and not node.schema.is_mutable
        and not has_side_effects(node)
    )
