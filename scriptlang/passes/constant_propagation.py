"""Computes at compile time what does not depend on the inputs.

    %3 : int = aten::mul(%two, %three)       ->    %3 : int = prim::Constant[value=6]()
    prim::If(%true)                          ->    its first branch
    prim::Loop(%zero, %cond, %x)             ->    %x

Operators run through the kernels of the operator table, so the values are those of a run. Some
nodes are left alone: operators with effects, nodes that write memory or whose memory is written,
tensor results, results that code outside could change later (such as a returned list), values
larger than MAX_ITEMS, and operators that raise an error (the run raises it then).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import types as T
from ..ir import Block, Graph, Node
from ..objects import is_same
from ..ops import table
from .alias import AliasAnalysis, analysis_of, memory_kinds
from .effects import has_side_effects

MAX_ITEMS = 1024
"""The length of the longest string or container that becomes a constant."""

PRIMITIVES: dict[str, Callable[..., Any]] = {
    "prim::TupleConstruct": lambda node, *values: node.output.type.make(values),
    "prim::ListConstruct": lambda node, *values: list(values),
    "prim::TupleUnpack": lambda node, value: tuple(value),
    "prim::TupleIndex": lambda node, value, i: value[i],
    "prim::TupleSlice": lambda node, value: value[node.attributes["beg"] : node.attributes["end"]],
    "prim::unchecked_cast": lambda node, value: value,
    "aten::__is__": lambda node, a, b: is_same(a, b),
    "aten::__isnot__": lambda node, a, b: not is_same(a, b),
}
"""How to compute nodes without a kernel, from (node, *constant inputs). The elements of what is
unpacked are the outputs; else the value is the only one."""


def run(graph: Graph) -> bool:
    return _Propagation(graph).block(graph.block)


class _Propagation:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._analysis: AliasAnalysis | None = None

    @property
    def analysis(self) -> AliasAnalysis:
        """The alias analysis, made when first needed.
        This pass adds no writes and no pointers to it."""
        if self._analysis is None:
            self._analysis = analysis_of(self.graph)
        return self._analysis

    def block(self, block: Block) -> bool:
        changed = False
        node = block.start.next
        while node is not block.end:
            following = node.next
            if node.kind == "prim::If" and node.inputs[0].is_constant:
                following = self.choose(node, node.blocks[0 if node.inputs[0].constant else 1])
                changed = True
            elif node.kind == "prim::Loop" and never_turns(node):
                node.replace_with(*node.inputs[2:])
                changed = True
            else:
                for inner in node.blocks:
                    changed |= self.block(inner)
                changed |= self.node(node)
            node = following
        return changed

    def choose(self, node: Node, branch: Block) -> Node:
        """Replace an If by one of its branches; returns the next node to visit."""
        before = node.prev
        for inner in list(branch.nodes):
            inner.move_before(node)
        node.replace_with(*branch.returns)
        return before.next

    def node(self, node: Node) -> bool:
        """Replace a node by constants if its results can be computed."""
        if (
            node.kind == "prim::Constant"
            or node.blocks
            or not node.outputs
            or not all(v.is_constant for v in node.inputs)
            or not self.may_compute(node)
        ):
            return False
        try:
            values = compute(node)
        except Exception:
            return False  # the run raises the error, at its place and only if it gets there
        if values is None or not all(map(fits, values, (v.type for v in node.outputs))):
            return False
        for v, value in zip(node.outputs, values):
            with self.graph.at(node):
                constant = self.graph.constant(value, v.type, like=node)
            if memory_kinds(v.type):
                self.analysis.stands_for(constant, v)
            v.replace_all_uses_with(constant)
            constant.name = v.name
        node.destroy()
        return True

    def may_compute(self, node: Node) -> bool:
        if has_side_effects(node) or node.schema is not None and node.schema.is_mutable:
            return False
        if node.kind == "aten::hash" or node.kind not in PRIMITIVES and node.schema is None:
            return False  # hashes differ between engines
        if any(T.TENSOR in v.type.walk() for v in node.outputs) or may_be_huge(node):
            return False
        held = [v for v in (*node.inputs, *node.outputs) if memory_kinds(v.type)]
        if not held:
            return True
        return not self.analysis.is_written(*held) and not any(
            self.analysis.escapes(v) for v in node.outputs
        )


def may_be_huge(node: Node) -> bool:
    """Whether an int input may make the result a string or list too large to be a constant."""
    grows = any(v.type == T.STR or isinstance(v.type, T.ListType) for v in node.outputs)
    return grows and any(type(v.constant) is int and v.constant > MAX_ITEMS for v in node.inputs)


def never_turns(node: Node) -> bool:
    """Whether the body of a loop never runs."""
    count, condition = node.inputs[:2]
    return (
        count.is_constant
        and count.constant <= 0
        or condition.is_constant
        and not condition.constant
    )


def compute(node: Node) -> tuple[Any, ...] | None:
    """The outputs of a node with constant inputs; None if it cannot be computed here."""
    inputs = [v.constant for v in node.inputs]
    primitive = PRIMITIVES.get(node.kind)
    if primitive is not None:
        value = primitive(node, *inputs)
        return value if node.kind == "prim::TupleUnpack" else (value,)
    assert node.schema is not None
    operator = table.find(node.schema.name, node.schema.overload)
    if operator is None or operator.kernel is None:
        return None
    result = operator.kernel(*inputs)
    return (result,) if len(node.outputs) == 1 else tuple(result)


SCALARS: dict[T.Type, Any] = {
    T.INT: int,
    T.FLOAT: float,
    T.BOOL: bool,
    T.COMPLEX: complex,
    T.STR: str,
}


def fits(value: Any, t: T.Type) -> bool:
    """Whether a value can be a constant of a type and is small enough."""
    if value is None:
        return T.may_be_none(t)
    t = T.without_none(t)
    scalar = SCALARS.get(t)
    if scalar is not None:
        return type(value) is scalar and (t != T.STR or len(value) <= MAX_ITEMS)
    if isinstance(t, T.ListType):
        return (
            type(value) is list
            and len(value) <= MAX_ITEMS
            and all(fits(v, t.element) for v in value)
        )
    if isinstance(t, T.TupleType):
        return (
            isinstance(value, tuple)
            and len(value) == len(t.elements)
            and all(map(fits, value, t.elements))
        )
    return t == T.DEVICE and getattr(value, "__script_type__", None) == T.DEVICE
