"""Graphs with the interface of torch.jit: `nodes()`, `inputs()` and `kind()` are methods.

    for node in m.graph.nodes():
        print(node.kind(), [v.debugName() for v in node.inputs()])

A view wraps an `ir.Graph`, its attribute `ir`; whatever the view does not define is taken from that
(`walk`, `block`). Graphs can only be read: PyTorch's methods that insert, move or remove raise
AttributeError with the reason.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from .. import types as T
from ..ir import Block, Graph, Value
from ..irtext import Printer, print_graph
from ..tensors import Tensor

READ_ONLY = "graphs are shown, not changed; change the Python code and script it again"
NO_INNER = "an inner part of PyTorch"

REFUSED = {
    **dict.fromkeys(
        (
            "addInput",
            "appendNode",
            "createClone",
            "createCudaFusionGroup",
            "createFusionGroup",
            "eraseInput",
            "eraseOutput",
            "insertConstant",
            "insertGraph",
            "insertNode",
            "insertPoint",
            "insert_point_guard",
            "makeMultiOutputIntoTuple",
            "permuteInputs",
            "prependNode",
            "registerOutput",
            "setInsertPoint",
            "addBlock",
            "addOutput",
            "copyAttributes",
            "copyMetadata",
            "destroy",
            "insertAfter",
            "insertBefore",
            "moveAfter",
            "moveBefore",
            "removeAllInputs",
            "removeAttribute",
            "removeInput",
            "replaceAllUsesWith",
            "replaceAllUsesAfterNodeWith",
            "replaceInput",
            "replaceInputWith",
            "setDebugName",
            "setType",
            "setTypeAs",
            "inferTypeFrom",
            "addInputToBlock",
            "addNode",
            "c_",
            "f_",
            "fs_",
            "g_",
            "gs_",
            "i_",
            "is_",
            "ival_",
            "s_",
            "ss_",
            "t_",
            "ts_",
            "ty_",
            "tys_",
            "z_",
            "zs_",
            "create",
            "with_device",
            "with_dtype",
            "with_sizes",
        ),
        READ_ONLY,
    ),
    **dict.fromkeys(("_export_onnx", "_pretty_print_onnx"), "there is no export to ONNX"),
    **dict.fromkeys(
        (
            "alias_db",
            "dump_alias_db",
            "_pybind11_conduit_v1_",
            "cconv",
            "pyname",
            "pyobj",
            "scalar_args",
            "global_print_source_ranges",
            "set_global_print_source_ranges",
            "getModuleHierarchy",
        ),
        NO_INNER,
    ),
}
"""Attributes of torch._C's Graph, Node, Value and Block that views lack, and why."""


class _View:
    """A view of a part of a graph; views of the same part are equal."""

    def __init__(self, ir: Any, graph: GraphView) -> None:
        self.ir, self._graph = ir, graph

    def __getattr__(self, name: str) -> Any:
        if name in REFUSED:
            raise AttributeError(f"{type(self).__name__} has no {name}: {REFUSED[name]}")
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.ir, name)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _View) and self.ir is other.ir

    def __hash__(self) -> int:
        return id(self.ir)


class _Holder(_View):
    """A view of something that contains nodes and values: a graph or a block."""

    @property
    def _block(self) -> Block:
        raise NotImplementedError

    def nodes(self) -> Iterator[NodeView]:
        return (NodeView(n, self._graph) for n in self._block.nodes)

    def inputs(self) -> Iterator[ValueView]:
        return (ValueView(v, self._graph) for v in self._block.parameters)

    def outputs(self) -> Iterator[ValueView]:
        return (ValueView(v, self._graph) for v in self._block.returns)

    def findNode(self, kind: str, recurse: bool = True) -> NodeView | None:
        """The first node of that kind, or None; `recurse` also searches nested blocks."""
        return next(self._found(kind, recurse), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[NodeView]:
        return list(self._found(kind, recurse))

    def _found(self, kind: str, recurse: bool) -> Iterator[NodeView]:
        nodes = self._block.walk() if recurse else self._block.nodes
        return (NodeView(n, self._graph) for n in nodes if n.kind == kind)

    def param_node(self) -> NodeView:
        return NodeView(self._block.start, self._graph)

    def return_node(self) -> NodeView:
        return NodeView(self._block.end, self._graph)


class GraphView(_Holder):
    """A function's graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, self)

    @property
    def _block(self) -> Block:
        return self.ir.block

    @cached_property
    def _printer(self) -> Printer:
        return Printer(self.ir)

    def copy(self) -> GraphView:
        return GraphView(self.ir.copy())

    def _repr_html_(self) -> builtins.str:
        """The HTML that notebooks show: a drawing."""
        from ..pictures.notebook import graph_html

        return graph_html(self.ir)

    def lint(self) -> None:
        """Check the invariants of the IR. Raises GraphError if one is violated."""
        from ..irverify import verify

        verify(self.ir)

    def str(self, print_source_ranges: bool = True) -> str:
        """The text of the graph; without source locations if `print_source_ranges` is False."""
        text = print_graph(self.ir)
        if print_source_ranges:
            return text
        return "\n".join(line.partition(" # ")[0] for line in text.split("\n"))

    def __str__(self) -> builtins.str:
        return print_graph(self.ir)

    __repr__ = __str__


class BlockView(_Holder):
    """A block of a node: a branch, or the body of a loop."""

    @property
    def _block(self) -> Block:
        return self.ir

    def owningNode(self) -> NodeView | None:
        return None if self.ir.owner is None else NodeView(self.ir.owner, self._graph)

    paramNode, returnNode = _Holder.param_node, _Holder.return_node


class NodeView(_View):
    """A node: one operation."""

    def kind(self) -> str:
        return self.ir.kind

    def inputs(self) -> Iterator[ValueView]:
        return (ValueView(v, self._graph) for v in self.ir.inputs)

    def outputs(self) -> Iterator[ValueView]:
        return (ValueView(v, self._graph) for v in self.ir.outputs)

    def input(self) -> ValueView:
        """The only input."""
        return self._only(self.ir.inputs, "inputs")

    def output(self) -> ValueView:
        """The only output."""
        return self._only(self.ir.outputs, "outputs")

    def _only(self, values: list[Value], what: str) -> ValueView:
        if len(values) != 1:
            raise RuntimeError(f"{self.ir.kind} has {len(values)} {what}, not one")
        return ValueView(values[0], self._graph)

    def inputsAt(self, i: int) -> ValueView:
        return ValueView(self.ir.inputs[i], self._graph)

    def outputsAt(self, i: int) -> ValueView:
        return ValueView(self.ir.outputs[i], self._graph)

    def inputsSize(self) -> int:
        return len(self.ir.inputs)

    def outputsSize(self) -> int:
        return len(self.ir.outputs)

    def namedInput(self, name: str) -> ValueView:
        """The input for an argument of the schema. Raises RuntimeError if there is none."""
        try:
            return ValueView(self.ir.argument(name), self._graph)
        except KeyError as error:
            raise RuntimeError(error.args[0]) from None

    def hasMultipleOutputs(self) -> bool:
        return len(self.ir.outputs) > 1

    def hasUses(self) -> bool:
        return any(v.uses for v in self.ir.outputs)

    def blocks(self) -> Iterator[BlockView]:
        return (BlockView(b, self._graph) for b in self.ir.blocks)

    def owningBlock(self) -> BlockView:
        return BlockView(self.ir.block, self._graph)

    def prev(self) -> NodeView:
        return NodeView(self.ir.prev, self._graph)

    def isBefore(self, other: NodeView) -> bool:
        return self.ir.is_before(other.ir)

    def isAfter(self, other: NodeView) -> bool:
        return other.ir.is_before(self.ir)

    def findNode(self, kind: str, recurse: bool = True) -> NodeView | None:
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[NodeView]:
        """The nodes of that kind in the blocks of this one."""
        return [n for b in self.blocks() for n in b.findAllNodes(kind, recurse)]

    def schema(self) -> str:
        """The text of the schema; "(no schema)" without one, as in PyTorch."""
        return "(no schema)" if self.ir.schema is None else str(self.ir.schema)

    def matches(self, schema: str) -> bool:
        return self.ir.schema is not None and str(self.ir.schema) == schema

    def scopeName(self) -> str:
        """The scope in which the node was traced; always empty, since there are no scopes."""
        return ""

    def sourceRange(self) -> str:
        """The place in the source, with an excerpt."""
        span = self.ir.span
        return "" if span is None else f"{span.place}\n{span.excerpt()}"

    def mustBeNone(self) -> bool:
        return self.ir.kind == "prim::Constant" and self.ir.attributes.get("value") is None

    def isNondeterministic(self) -> bool:
        from ..passes.effects import is_random

        return is_random(self.ir)

    # Attributes

    def _attributes(self) -> dict[str, Any]:
        return {
            k: v
            for k, v in self.ir.attributes.items()
            if not (self.ir.kind == "prim::Constant" and v is None)
        }

    def attributeNames(self) -> list[str]:
        return list(self._attributes())

    def hasAttribute(self, name: str) -> bool:
        return name in self._attributes()

    def hasAttributes(self) -> bool:
        return bool(self._attributes())

    def kindOf(self, name: str) -> str:
        """The method that returns an attribute: `i`, `f`, `s`, `t`, `is`, ..., `ival`."""
        return attribute_kind(self._attribute(name))

    def _attribute(self, name: str) -> Any:
        found = self._attributes()
        if name not in found:
            raise RuntimeError(f"required keyword attribute '{name}' is undefined")
        return found[name]

    def _typed(self, kind: str, name: str) -> Any:
        value = self._attribute(name)
        if attribute_kind(value) != kind:
            raise RuntimeError(
                f"required keyword attribute '{name}' has the wrong type: it is "
                f"given by {attribute_kind(value)}({name!r})"
            )
        return int(value) if kind == "i" else value

    def ival(self, name: str) -> Any:
        return self._attribute(name)

    def __str__(self) -> str:
        from ..irtext import Printer

        printer = self._graph._printer
        if self.ir.kind in ("prim::Param", "prim::Return"):
            outs = ", ".join(map(printer.definition, self.ir.outputs))
            return f"{outs} = {self.ir.kind}({', '.join(map(printer.use, self.ir.inputs))})\n"
        lines = list(Printer.node(printer, self.ir, ""))
        for i, inner in enumerate(self.ir.blocks):
            lines.append(f"  block{i}({', '.join(map(printer.definition, inner.parameters))}):")
            lines += printer.body(inner, "    ")
            lines.append(f"    -> ({', '.join(map(printer.use, inner.returns))})")
        return "\n".join(lines) + "\n"

    __repr__ = __str__


def attribute_kind(value: Any) -> str:
    """PyTorch's letters for the kind of an attribute."""
    for cls, kind in (
        (bool, "i"),
        (int, "i"),
        (float, "f"),
        (complex, "c"),
        (str, "s"),
        (Tensor, "t"),
        (T.Type, "ty"),
        (Graph, "g"),
    ):
        if isinstance(value, cls):
            return kind
    if isinstance(value, (list, tuple)) and value:
        kinds = {attribute_kind(v) for v in value}
        if len(kinds) == 1 and kinds <= set(SEVERAL):
            return SEVERAL[kinds.pop()]
    return "ival"


SEVERAL = {"i": "is", "f": "fs", "s": "ss", "t": "ts", "ty": "tys", "g": "gs", "c": "zs"}
"""The letters for a list of values, by those for one value."""

for _kind in ("i", "f", "s", "t", "ty", "g", "c", *SEVERAL.values()):
    setattr(NodeView, _kind, lambda self, name, _k=_kind: self._typed(_k, name))
setattr(NodeView, "z", lambda self, name: self._typed("c", name))  # noqa: B010


class Use:
    """A use of a value: the node, and the index of the input."""

    def __init__(self, user: NodeView, offset: int) -> None:
        self.user, self.offset = user, offset


class ValueView(_View):
    """A value: an output of a node, or a parameter."""

    def debugName(self) -> str:
        return self._graph._printer.names[self.ir]

    def type(self) -> TypeView:
        return TypeView(self.ir.type)

    def node(self) -> NodeView:
        return NodeView(self.ir.node, self._graph)

    def offset(self) -> int:
        """The index of the value among its node's outputs."""
        return self.ir.index

    def uses(self) -> list[Use]:
        return [Use(NodeView(n, self._graph), i) for n, i in self.ir.uses]

    def unique(self) -> int:
        """A number that is unique in the graph."""
        return list(self._graph._printer.names).index(self.ir)

    def toIValue(self) -> Any:
        """The value of a constant; None for other values."""
        return self.ir.constant if self.ir.is_constant else None

    def isCompleteTensor(self) -> bool:
        return False

    def requires_grad(self) -> bool:
        return False

    requiresGrad = requires_grad

    def __repr__(self) -> str:
        return f"{self.debugName()} defined in ({self.node()})"


class TypeView:
    """A type with the interface of torch._C.Type."""

    def __init__(self, type: T.Type) -> None:
        self.ir = type

    def __getattr__(self, name: str) -> Any:
        if name in REFUSED:
            raise AttributeError(f"a type has no {name}: {REFUSED[name]}")
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.ir, name)

    def kind(self) -> str:
        return TYPE_KINDS.get(self.ir) or CLASS_KINDS.get(type(self.ir), type(self.ir).__name__)

    def str(self) -> str:
        return str(self.ir)

    @property
    def annotation_str(self) -> builtins.str:
        return self.ir.annotation

    def containedTypes(self) -> list[TypeView]:
        return [TypeView(t) for t in self.ir.contained]

    def getElementType(self) -> TypeView:
        """The only contained type. Raises RuntimeError unless there is exactly one."""
        if len(self.ir.contained) != 1:
            raise RuntimeError(f"{self.ir.annotation} holds {len(self.ir.contained)} types")
        return TypeView(self.ir.contained[0])

    def isSubtypeOf(self, other: TypeView) -> bool:
        return T.is_subtype(self.ir, other.ir if isinstance(other, TypeView) else other)

    def is_interface_type(self) -> bool:
        return isinstance(self.ir, T.InterfaceType)

    def requires_grad(self) -> bool:
        return False

    def undefined(self) -> None:
        """Returns None: the types of tensors contain no shapes or dtypes."""

    scalarType = sizes = strides = dim = dtype = device = undefined
    symbolic_sizes = varyingSizes = contiguous = undefined

    def __eq__(self, other: Any) -> bool:
        return self.ir == getattr(other, "ir", other)

    def __hash__(self) -> int:
        return hash(self.ir)

    def __str__(self) -> builtins.str:
        return str(self.ir)

    __repr__ = __str__


TYPE_KINDS: dict[T.Type, str] = {
    T.TENSOR: "TensorType",
    T.INT: "IntType",
    T.FLOAT: "FloatType",
    T.BOOL: "BoolType",
    T.STR: "StringType",
    T.NONE: "NoneType",
    T.NUMBER: "NumberType",
    T.ANY: "AnyType",
    T.COMPLEX: "ComplexType",
    T.DEVICE: "DeviceObjType",
    T.GENERATOR: "GeneratorType",
    T.STORAGE: "StorageType",
    T.STREAM: "StreamObjType",
    T.QUANTIZER: "QuantizerType",
    T.CAPSULE: "CapsuleType",
    T.ANY_LIST: "AnyListType",
    T.ANY_TUPLE: "AnyTupleType",
    T.ANY_CLASS: "AnyClassType",
    T.ANY_ENUM: "AnyEnumType",
}
CLASS_KINDS = {
    T.ListType: "ListType",
    T.OptionalType: "OptionalType",
    T.DictType: "DictType",
    T.TupleType: "TupleType",
    T.UnionType: "UnionType",
    T.ClassType: "ClassType",
    T.InterfaceType: "InterfaceType",
    T.EnumType: "EnumType",
    T.FutureType: "FutureType",
    T.VarType: "VarType",
}
"""PyTorch's names for kinds of types."""


class ConstMap:
    """The constants of a function's code: `consts.c0`, `consts["c0"]`."""

    def __init__(self, values: list[Any]) -> None:
        self.const_mapping = {f"c{i}": value for i, value in enumerate(values)}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["const_mapping"][name]
        except KeyError:
            raise AttributeError(f"the code has no constant {name!r}") from None

    def __getitem__(self, name: str) -> Any:
        return self.const_mapping[name]

    def __repr__(self) -> str:
        return f"ConstMap({self.const_mapping})"


class DebugState:
    """The interface of PyTorch's executor state: here a single graph, which always runs."""

    fallback = None

    def __init__(self, graph: GraphView) -> None:
        self.graph = graph
        self.execution_plans: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<DebugState of {self.graph.ir.name}>"
