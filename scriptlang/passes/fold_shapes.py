"""What shapes settle becomes constant, and sizes that are equal are asked for once.

    %d : int = aten::dim(%y)                      ->    %d : int = prim::Constant[value=4]()
    %c : bool = aten::gt(%n, %minus_one)          ->    %c : bool = prim::Constant[value=1]()
    %m : int = aten::size(%z, %zero)              ->    uses of %m are uses of %n,
                                                        where both are s0

Numbers and truths only; of operators that do nothing else.  A value stands for later ones in its
block and in blocks inside; it may come from any tensor, so that a chain of layers that keep the
rank is asked for it once.
"""

from __future__ import annotations

from typing import Mapping

from .. import types as T
from ..ir import Block, Graph, Node, Value
from .effects import has_side_effects
from .shape_facts import Fact, TensorFacts, is_size
from .shapes import Propagation
from .sizes import Expression

SCALARS = (T.INT, T.BOOL)


def run(graph: Graph, inputs: Mapping[Value, Fact] | None = None) -> bool:
    """inputs: what is known of the inputs; the graph is then right for such only."""
    if not any(v.type in SCALARS for n in graph.walk() if not n.kind == "prim::Constant"
               for v in n.outputs):
        return False
    return _Folding(Propagation(graph, inputs or {})).block(graph.block, {})


class _Folding:
    def __init__(self, found: Propagation):
        self.facts = found.facts
        self.analysis = found.analysis

    def block(self, block: Block, outer: dict[Expression, Value]) -> bool:
        """outer: the values that hold sizes, where the block is."""
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
        earlier = known.setdefault(fact, v)
        if earlier is not v:
            node.replace_with(earlier)
            return True
        return self.ask_origin(node, fact, known)

    def ask_origin(self, node: Node, fact: Expression, known: dict[Expression, Value]) -> bool:
        """Ask an input of the graph for a rank or size that it has, not what was made of it."""
        if node.kind not in ("aten::dim", "aten::size") or len(node.inputs) == 0:
            return False
        for tensor in node.graph.inputs:
            origin = self.facts.get(tensor)
            if tensor is not node.inputs[0] and isinstance(origin, TensorFacts) \
                    and node.kind == "aten::dim" and origin.rank == fact:
                node.replace_input(0, tensor)
                return True
        return False


def is_foldable(node: Node) -> bool:
    """Whether a node does nothing but give its output."""
    return node.kind != "prim::Constant" and node.schema is not None \
        and not node.schema.is_mutable and not has_side_effects(node)
