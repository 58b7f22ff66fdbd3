"""The constraints that the nodes of a graph put on pointers (solved in points_to.py).

They come from the alias sets of schemas and from a few handlers, without regard to order: a field
holds whatever was ever stored in it.  Sound: what is not known is outside.
"""

from __future__ import annotations

from .. import types as T
from ..ir import Block, Graph, Node, Value
from ..schema import Argument, Schema
from .effects import ALLOCATIONS, FUSED, PASSES_ON, UNPACKS, is_opaque
from .points_to import EVERYTHING, Locations, PointsTo

ATOMS: dict[str, tuple[str, ...]] = {
    "Tensor": ("tensor",),
    **{t.text: () for t in (T.INT, T.FLOAT, T.BOOL, T.COMPLEX, T.STR, T.NONE, T.NUMBER, T.DEVICE,
                            T.QUANTIZER)},
}
"""Kinds of memory of the atomic types, by their text; others may be anything."""

KINDS = {T.ListType: "list", T.DictType: "dict", T.TupleType: "tuple", T.ClassType: "object"}
"""Kind of memory by class of type; tensors are "tensor"."""

MAY_RETURN_INPUT = frozenset(name if "::" in name else f"aten::{name}" for name in (
    "dropout feature_dropout alpha_dropout feature_alpha_dropout type_as atleast_1d atleast_2d"
    " atleast_3d broadcast_tensors meshgrid cartesian_prod combinations pad einsum block_diag lstm"
    " gru rnn_tanh rnn_relu concat column_stack hstack vstack dstack tensor as_tensor to rms_norm"
    " squeeze_copy repeat_interleave float_power flatten_dense_tensors resolve_conj"
    " conj_physical quantize_per_tensor scaled_dot_product_attention _unsafe_view unsafe_split"
    " unsafe_split_with_sizes unsafe_chunk sum_to_size channel_shuffle _pad_circular set"
    " chain_matmul fused_moving_avg_obs_fake_quant linalg_multi_dot native_dropout quantized::relu6"
    " quantized::conv_unpack quantized::conv1d_unpack quantized::conv2d_unpack"
    " quantized::conv3d_unpack quantized::conv_transpose1d_unpack"
    " quantized::conv_transpose2d_unpack"
    " quantized::conv_transpose3d_unpack quantized::embedding_bag_unpack quantized::linear_unpack"
    " quantized::linear_unpack_fp16").split())
"""Operators that may give an input, or a view of it, though their schema does not say so."""

MAY_COPY = frozenset(f"aten::{name}" for name in (
    "contiguous reshape reshape_as flatten ravel to type_as cpu cuda pin_memory conj _conj"
    " _conj_physical adjoint mH matrix_H resolve_conj resolve_neg real imag to_dense"
    " atleast_1d atleast_2d atleast_3d lift_fresh unflatten expand_as positive dequantize"
    " tensor_split _neg_view").split())
"""Operators whose schema says that the result shares an input's memory, though it may be a copy."""

STORES = {
    "aten::append": (0, 1), "aten::insert": (0, 2), "aten::extend": (0, 1),
    "aten::_set_item": (0, 2),
    "aten::setdefault": (0, 2), "aten::update": (0, 1), "aten::add_": (0, 1),
}
"""Operators that put an input, or its elements, into another: (container, stored)."""

TENSOR = ("tensor",)

KEPT = "_memory_kinds"
"""Where a type keeps its kinds: they are asked for at every use of every value."""


def memory_kinds(t: T.Type) -> tuple[str, ...]:
    """Kinds of memory that a value of a type may point to; () for immutable ones."""
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
    """The constraints of one graph; what they range over are its values.

    made: (node, output index) -> the memory that the node makes for that output.
    """

    def __init__(self, graph: Graph):
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
        """Parameters before the blocks, results after them, so that one turn mostly does."""
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
                self.store(*node.inputs, node.attributes["name"])
        elif kind in PASSES_ON:
            self._same(node.output, node.inputs[0])
        elif kind == FUSED:
            for i, v in enumerate(node.outputs):
                self._fresh(v, i)
                for w in self._inputs(node):             # a conversion may give what it was given
                    self._same(v, w)
        elif is_opaque(node):
            self._unknown(node)
        elif node.schema is not None:
            self._operator(node)

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
                n = len(node.inputs[0].type.elements)
                field = str(node.inputs[1].constant % n)
            if node.kind == "prim::TupleSlice":
                self._fresh(v, i)
                self.keep(v, node.inputs[0])
            elif field == "*" and node.kind == "prim::TupleIndex":
                self._within(v, node.inputs[0])
            else:
                self._read(v, node.inputs[0], field)

    def _operator(self, node: Node) -> None:
        """An operator by its schema's alias sets."""
        schema = node.schema
        if node.kind in STORES and memory_kinds(node.inputs[0].type) != TENSOR:
            container, stored = (node.inputs[i] for i in STORES[node.kind])
            self.store(container, stored, "*")
            self.keep(container, stored)
        else:
            for i in leaking(schema):
                self.leak(node.inputs[i])
        if schema.is_vararg or schema.is_varret:
            self._unknown(node)
            return
        for i, (result, v) in enumerate(zip(schema.returns, node.outputs)):
            if memory_kinds(v.type):
                self._result(node, result, v, i)

    def _result(self, node: Node, result: Argument, v: Value, index: int) -> None:
        kinds = memory_kinds(v.type)
        sources = [node.inputs[i] for i in shared_arguments(node.schema, index)]
        elementwise = is_elementwise(result)
        for w in sources:
            if kinds != TENSOR and memory_kinds(w.type) == TENSOR:
                elementwise = True
            if elementwise:
                self.store(v, w, "*")
            else:
                self._same(v, w)
        if elementwise or not sources or node.kind in MAY_COPY:
            self._fresh(v, index)
        if result.alias is not None and "*" in result.alias.before:
            for w in self._inputs(node):
                self._within(v, w)
        elif result.alias is None and (kinds != TENSOR or isinstance(result.type, T.VarType)
                                       or node.kind in MAY_RETURN_INPUT):
            self._shares(v, result, node)

    def _inputs(self, node: Node) -> list[Value]:
        """The inputs that point to memory."""
        return [w for w in node.inputs if memory_kinds(w.type)]

    def _shares(self, v: Value, result: Argument, node: Node) -> None:
        """A result without alias set: containers hold what arguments hold, others may be it."""
        for w in self._inputs(node):
            if memory_kinds(result.type) not in (("list",), ("dict",)):
                self._within(v, w)
            if memory_kinds(v.type) != TENSOR:
                self.keep(v, w)

    def _unknown(self, node: Node) -> None:
        """Code that is not seen: what it is given escapes, what it gives is from outside."""
        for v in self._inputs(node):
            self.leak(v)
        for v in node.outputs:
            self.points[v] = self.outside_of(memory_kinds(v.type))

    def _fresh(self, v: Value, index: int) -> None:
        """Point a value to memory of its own, which holds tensors of its own where it can."""
        kinds = memory_kinds(v.type)
        if not kinds:
            return
        location = self.made[v.node, index] = self.new(kinds[0] if len(kinds) == 1 else "other")
        self.points[v] |= location
        if v.node.kind in ALLOCATIONS or kinds == TENSOR:
            return
        inner = {k: self.new(k) for t in list(v.type.walk())[1:] for k in memory_kinds(t)}
        parts = sum(inner.values())
        for part in (location, *(l for k, l in inner.items() if k != "tensor")):
            for field in ("*", *map(str, range(len(v.type.contained)))):
                self.put(part, field, parts)


def leaking(schema: Schema) -> tuple[int, ...]:
    """The arguments that code outside may keep."""
    return _facts(schema)[0]


def shared_arguments(schema: Schema, index: int) -> tuple[int, ...]:
    """The arguments whose memory a result shares by its alias set."""
    return _facts(schema)[1][index]


def written(schema: Schema) -> tuple[tuple[int, bool], ...]:
    """The arguments that are written; True where their elements are."""
    return _facts(schema)[2]


def _facts(schema: Schema) -> tuple:
    """What the alias sets of a schema say, worked out once and kept on it."""
    known = schema.__dict__.get("_alias_facts")
    if known is None:
        arguments = [(i, a) for i, a in enumerate(schema.arguments) if a.alias]
        known = schema.__dict__["_alias_facts"] = (
            tuple(i for i, a in arguments if "*" in a.alias.after and a.type != T.TENSOR),
            tuple(tuple(i for i, a in arguments if r.alias and (a.alias.before | a.alias.after)
                        & r.alias.before - {"*"}) for r in schema.returns),
            tuple((i, is_elementwise(a)) for i, a in arguments if a.alias.is_write))
    return known


def is_elementwise(a: Argument) -> bool:
    """Whether an alias set is about the elements of a list: `Tensor(a!)[]`, not `t[](a!)`."""
    return isinstance(a.type, T.ListType) and a.text.rstrip("?").endswith("]")
