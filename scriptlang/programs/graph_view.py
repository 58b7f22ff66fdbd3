"""Graphs as users of torch.jit look at them: `nodes()`, `inputs()`, `kind()` are methods.

    for node in m.graph.nodes():
        print(node.kind(), [v.debugName() for v in node.inputs()])

A view shows an `ir.Graph`, which is its `ir`; what the view does not define is the graph's own
(`walk`, `block`).  Graphs are looked at, not changed: PyTorch's methods that insert, move or remove
are refused by name.
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
"""Names of torch._C's Graph, Node, Value and Block that views have not -> why."""


class _View:
    """What shows something of a graph; two views of one thing are equal."""

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
    """What has nodes and values: a graph or a block."""

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
        """The first node of that kind, in nested blocks, too, unless `recurse` is False."""
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
        """What notebooks show: a drawing."""
        from ..pictures.notebook import graph_html

        return graph_html(self.ir)

    def lint(self) -> None:
        """Check the rules of the IR.  Raises GraphError where one is broken."""
        from ..irverify import verify

        verify(self.ir)

    def str(self, print_source_ranges: bool = True) -> str:
        """The text; without the places in the source, if asked for."""
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
    """One operation."""

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
        """The input that stands for an argument of the schema.  Raises RuntimeError."""
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
        """The schema's text; PyTorch's says "(no schema)" where there is none, too."""
        return "(no schema)" if self.ir.schema is None else str(self.ir.schema)

    def matches(self, schema: str) -> bool:
        return self.ir.schema is not None and str(self.ir.schema) == schema

    def scopeName(self) -> str:
        """Where the node was traced; programs that are scripted have no scopes."""
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
        """The method that gives an attribute: `i`, `f`, `s`, `t`, `is`, ..., `ival`."""
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
    """PyTorch's letter for a kind of attribute."""
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
"""Letters of one value -> that of a list of them."""

for _kind in ("i", "f", "s", "t", "ty", "g", "c", *SEVERAL.values()):
    setattr(NodeView, _kind, lambda self, name, _k=_kind: self._typed(_k, name))
setattr(NodeView, "z", lambda self, name: self._typed("c", name))  # noqa: B010


class Use:
    """A use of a value: the node, and which of its inputs it is."""

    def __init__(self, user: NodeView, offset: int) -> None:
        self.user, self.offset = user, offset


class ValueView(_View):
    """A value: what a node gives, or a parameter."""

    def debugName(self) -> str:
        return self._graph._printer.names[self.ir]

    def type(self) -> TypeView:
        return TypeView(self.ir.type)

    def node(self) -> NodeView:
        return NodeView(self.ir.node, self._graph)

    def offset(self) -> int:
        """Which of the outputs of its node it is."""
        return self.ir.index

    def uses(self) -> list[Use]:
        return [Use(NodeView(n, self._graph), i) for n, i in self.ir.uses]

    def unique(self) -> int:
        """A number that no other value of the graph has."""
        return list(self._graph._printer.names).index(self.ir)

    def toIValue(self) -> Any:
        """The value of a constant; None for others."""
        return self.ir.constant if self.ir.is_constant else None

    def isCompleteTensor(self) -> bool:
        return False

    def requires_grad(self) -> bool:
        return False

    requiresGrad = requires_grad

    def __repr__(self) -> str:
        return f"{self.debugName()} defined in ({self.node()})"


class TypeView:
    """A type, as torch._C.Type shows it."""

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
        """The only type inside.  Raises RuntimeError where there is another number of them."""
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
        """Tensors have no facts in their types: nothing is known."""

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
"""Types -> what PyTorch calls their kind."""


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
    """What PyTorch shows of its executor: here one graph, which is always run."""

    fallback = None

    def __init__(self, graph: GraphView) -> None:
        self.graph = graph
        self.execution_plans: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<DebugState of {self.graph.ir.name}>"
