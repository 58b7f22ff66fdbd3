"""The constraints that the nodes of a graph put on pointers (solved in points_to.py).

They come from the alias sets of schemas and from a few handlers. The order of nodes is ignored: a
field holds whatever was ever stored in it. The result is sound: whatever is unknown counts as
outside memory.
"""

from __future__ import annotations

from typing import Any

from .. import types as T
from ..ir import Block, Graph, Node, Value
from ..ops.table import facts_of
from ..schema import Argument, Schema
from .effects import ALLOCATIONS, FUSED, PASSES_ON, UNPACKS, is_opaque
from .points_to import EVERYTHING, Locations, PointsTo

ATOMS: dict[str, tuple[str, ...]] = {
    "Tensor": ("tensor",),
    **{
        t.text: ()
        for t in (T.INT, T.FLOAT, T.BOOL, T.COMPLEX, T.STR, T.NONE, T.NUMBER, T.DEVICE, T.QUANTIZER)
    },
}
"""The kinds of memory of atomic types, by their text; a type that is missing may be any kind."""

KINDS = {T.ListType: "list", T.DictType: "dict", T.TupleType: "tuple", T.ClassType: "object"}
"""The kind of memory of each class of types; tensors are of kind "tensor"."""

TENSOR = ("tensor",)

KEPT = "_memory_kinds"
"""The attribute in which a type caches its kinds, since they are needed at every use of a value."""


def memory_kinds(t: T.Type) -> tuple[str, ...]:
    """The kinds of memory that a value of a type may point to; () for immutable values."""
    known = t.__dict__.get(KEPT)
    if known is None:
        known = t.__dict__[KEPT] = _memory_kinds(t)
    return known


def _memory_kinds(t: T.Type) -> tuple[str, ...]:
    if isinstance(t, T.AtomType):
        return ATOMS.get(t.text, EVERYTHING)
    if isinstance(t, (T.EnumType, T.FunctionType)):
        return ()
    if isinstance(t, T.OptionalType):
        return memory_kinds(t.element)
    if isinstance(t, T.UnionType):
        return tuple({k for o in t.options for k in memory_kinds(o)})
    if isinstance(t, T.TupleType) and not any(map(memory_kinds, t.elements)):
        return ()
    kind = KINDS.get(type(t))
    return (kind,) if kind else EVERYTHING


class Constraints(PointsTo):
    """The constraints of one graph; the pointers are its values.

    made: (node, output index) -> the memory that the node makes for that output.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.made: dict[tuple[Node, int], Locations] = {}
        for v in graph.inputs:
            self.points[v] = self.outside_of(memory_kinds(v.type))
        self._block(graph.block)

    def _block(self, block: Block) -> None:
        for node in block.nodes:
            for v in node.outputs:
                self.points[v] = 0
            if node.blocks:
                self._control(node)
            else:
                self._constrain(node)

    def _control(self, node: Node) -> None:
        """Visit a node with blocks: first the parameters, then the blocks, then the results.
        In this order one iteration of the solver is usually enough."""
        body = node.blocks[0]
        for block in node.blocks:
            for v in block.parameters:
                self.points[v] = 0
        carried = range(len(node.outputs)) if node.kind == "prim::Loop" else ()
        for i in carried:
            self._same(body.parameters[i + 1], node.inputs[i + 2])
        for block in node.blocks:
            self._block(block)
        for i in carried:
            self._same(body.parameters[i + 1], body.returns[i + 1])
            for source in (node.inputs[i + 2], body.returns[i + 1]):
                self._same(node.outputs[i], source)
        if node.kind == "prim::If":
            for i, v in enumerate(node.outputs):
                for block in node.blocks:
                    self._same(v, block.returns[i])
        elif node.kind != "prim::Loop":
            self._constrain(node)

    def _constrain(self, node: Node) -> None:
        kind = node.kind
        if kind == "prim::Constant":
            self.points[node.output] = self.outside_of(memory_kinds(node.output.type))
        elif kind in ALLOCATIONS:
            self._fresh(node.output, 0)
            for i, v in enumerate(node.inputs):
                if memory_kinds(v.type):
                    self.store(node.output, v, str(i) if kind == "prim::TupleConstruct" else "*")
        elif kind in UNPACKS:
            self._unpack(node)
        elif kind == "prim::GetAttr":
            self._read(node.output, node.inputs[0], node.attributes["name"])
        elif kind == "prim::SetAttr":
            if memory_kinds(node.inputs[1].type):
                owner, stored = node.inputs
                self.store(owner, stored, node.attributes["name"])
        elif kind in PASSES_ON:
            self._same(node.output, node.inputs[0])
        elif kind == FUSED:
            for i, v in enumerate(node.outputs):
                self._fresh(v, i)
                for w in self._inputs(node):  # a conversion may return its input
                    self._same(v, w)
        elif is_opaque(node):
            self._unknown(node)
        elif node.schema is not None:
            self._operator(node, node.schema)

    def _read(self, target: Value, source: Value, field: str) -> None:
        kinds = memory_kinds(target.type)
        if kinds:
            self.load(target, source, field, kinds)

    def _within(self, target: Value, source: Value) -> None:
        self.inside(target, source, memory_kinds(target.type))

    def _same(self, target: Value, source: Value) -> None:
        if memory_kinds(target.type) or memory_kinds(source.type):
            self.copy(target, source)

    def _unpack(self, node: Node) -> None:
        for i, v in enumerate(node.outputs):
            field = "*"
            if node.kind == "prim::TupleUnpack":
                field = str(i)
            elif node.kind == "prim::TupleIndex" and node.inputs[1].is_constant:
                taken: Any = node.inputs[0].type
                n = len(taken.elements)
                field = str(node.inputs[1].constant % n)
            if node.kind == "prim::TupleSlice":
                self._fresh(v, i)
                self.keep(v, node.inputs[0])
            elif field == "*" and node.kind == "prim::TupleIndex":
                self._within(v, node.inputs[0])
            else:
                self._read(v, node.inputs[0], field)

    def _operator(self, node: Node, schema: Schema) -> None:
        """Add the constraints of an operator, from the alias sets of its schema."""
        stores = facts_of(schema).stores
        if stores:
            container, stored = (node.inputs[i] for i in stores)
            self.store(container, stored, "*")
            self.keep(container, stored)
        else:
            for i in schema.leaking:
                self.leak(node.inputs[i])
        if schema.is_vararg or schema.is_varret:
            self._unknown(node)
            return
        for i, (result, v) in enumerate(zip(schema.returns, node.outputs)):
            if memory_kinds(v.type):
                self._result(node, schema, result, v, i)

    def _result(self, node: Node, schema: Schema, result: Argument, v: Value, index: int) -> None:
        kinds = memory_kinds(v.type)
        sources = [node.inputs[i] for i in schema.shared[index]]
        elementwise = result.is_elementwise
        facts = facts_of(schema)
        for w in sources:
            if kinds != TENSOR and memory_kinds(w.type) == TENSOR:
                elementwise = True
            if elementwise:
                self.store(v, w, "*")
            else:
                self._same(v, w)
        if elementwise or not sources or facts.may_copy:
            self._fresh(v, index)
        if result.alias is not None and "*" in result.alias.before:
            for w in self._inputs(node):
                self._within(v, w)
        elif result.alias is None and (
            kinds != TENSOR or isinstance(result.type, T.VarType) or facts.may_share
        ):
            self._shares(v, result, node)

    def _inputs(self, node: Node) -> list[Value]:
        """The inputs that point to memory."""
        return [w for w in node.inputs if memory_kinds(w.type)]

    def _shares(self, v: Value, result: Argument, node: Node) -> None:
        """A result without alias set: it may be an argument, or contain what arguments contain."""
        for w in self._inputs(node):
            if memory_kinds(result.type) not in (("list",), ("dict",)):
                self._within(v, w)
            if memory_kinds(v.type) != TENSOR:
                self.keep(v, w)

    def _unknown(self, node: Node) -> None:
        """Unknown code: its inputs escape, and its results are outside memory."""
        for v in self._inputs(node):
            self.leak(v)
        for v in node.outputs:
            self.points[v] = self.outside_of(memory_kinds(v.type))

    def _fresh(self, v: Value, index: int) -> None:
        """Let a value point to new memory; if it is a container, its tensors are new too."""
        kinds = memory_kinds(v.type)
        if not kinds:
            return
        location = self.made[v.node, index] = self.new(kinds[0] if len(kinds) == 1 else "other")
        self.points[v] |= location
        if v.node.kind in ALLOCATIONS or kinds == TENSOR:
            return
        inner = {k: self.new(k) for t in list(v.type.walk())[1:] for k in memory_kinds(t)}
        parts = sum(inner.values())
        for part in (location, *(at for k, at in inner.items() if k != "tensor")):
            for field in ("*", *map(str, range(len(v.type.contained)))):
                self.put(part, field, parts)
