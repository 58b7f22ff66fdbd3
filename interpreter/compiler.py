"""Compiles a Graph to Code, in the layout of PyTorch's interpreter.

A value lives in a register of its own, unless it is used once, by the node that comes right after
it in stack order: then it stays on the stack (`Inliner`).  The last use of a register is a MOVE, so
that its value is freed, or may be written in place (`Lifetimes`).  The last arguments of an
operator are left out if they equal the defaults in its schema.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .. import types as T
from ..errors import GraphError
from ..ir import Block, Function, Graph, Node, Value, schema_of_graph
from ..schema import Schema
from .code import CODE, FUSED, Code, Instruction, OperatorRef, Place
from .layout import Inliner, Lifetimes

PROMOTED: dict[str, str] = {
    "aten::dim": "DIM",
    "prim::dtype": "DTYPE",
    "prim::device": "DEVICE",
    "prim::is_cuda": "IS_CUDA",
    "aten::__not__": "__NOT__",
    "aten::__is__": "__IS__",
    "aten::__isnot__": "__ISNOT__",
    "prim::NumToTensor": "NUM_TO_TENSOR",
    "prim::TupleIndex": "TUPLE_INDEX",
    "prim::DictIndex": "DICT_INDEX",
    "prim::tolist": "TO_LIST",
    "prim::RaiseException": "RAISE_EXCEPTION",
    "prim::Uninitialized": "UN_INITIALIZED",
    "aten::warn": "WARN",
    "aten::wait": "WAIT",
    "prim::awaitable_wait": "WAIT",
}
"""The opcodes of node kinds that become an opcode without operands."""

COUNTED: dict[str, str] = {"prim::TupleConstruct": "TUPLE_CONSTRUCT", "aten::format": "FORMAT"}
"""The opcodes of node kinds that become an opcode whose operand is the number of inputs."""

TYPED: dict[str, str] = {
    "prim::ListConstruct": "LIST_CONSTRUCT",
    "prim::DictConstruct": "DICT_CONSTRUCT",
}
"""The opcodes of node kinds that become an opcode with the output's type and the number of
inputs."""

VARARG = ("prim::Print",)
"""Node kinds that are called by OPN even if they have no schema."""

WITHOUT_SCHEMA = (*VARARG, "prim::TupleUnpack", "prim::unchecked_cast")
"""Node kinds that are called as operators even if they have no schema.

PyTorch's lite interpreter knows prim::unchecked_cast by this name only: it has no UNCHECKED_CAST.
"""


def compile_function(function: Function) -> Code:
    """The code of a function's own graph, without running passes."""
    return compile_graph(function.graph, function.name, function.schema)


def slot_of(node: Node) -> Any:
    """The slot of the attribute that a node reads or writes."""
    owner: Any = node.inputs[0].type
    return owner.slot(node.attributes["name"])


def compile_graph(graph: Graph, name: str, schema: Schema) -> Code:
    """The code of a graph.  Calls that were not inlined become CALL or INTERFACE_CALL.

    Raises GraphError for a node that has no bytecode.
    """
    return _Emitter(graph, name, schema).run()


class _Emitter:
    def __init__(self, graph: Graph, name: str, schema: Schema) -> None:
        self.graph = graph
        self.code = Code(name, schema)
        self.inlined = Inliner(graph).nodes
        self.lifetimes = Lifetimes(graph)
        self.registers: dict[Value, int] = {}
        self.tables: dict[str, dict[Any, int]] = {
            "operators": {},
            "constants": {},
            "types": {},
            "functions": {},
            "interfaces": {},
        }
        self.place = Place()

    def run(self) -> Code:
        self.block(self.graph.block)
        self.emit("RET")
        schema = self.code.schema
        for t in (a.type for a in (*schema.arguments, *schema.returns)):
            self.named_inside(t)
        self.code.register_size = len(self.code.register_types)
        return self.code

    def emit(self, op: str, x: int = 0, n: int = 0) -> int:
        """Append an instruction; return its index."""
        self.code.instructions.append(Instruction(op, x, n))
        self.code.places.append(self.place)
        return len(self.code.instructions) - 1

    def patch(self, at: int) -> None:
        """Make the jump at `at` go to the next instruction that is emitted."""
        old = self.code.instructions[at]
        self.code.instructions[at] = old._replace(x=len(self.code.instructions) - at)

    def intern(self, table: str, key: Any, item: Any) -> int:
        """The index of `item` in a table of the code.  It is appended if its key is new."""
        known = self.tables[table]
        if key not in known:
            known[key] = len(known)
            getattr(self.code, table).append(item)
        return known[key]

    def type_index(self, t: T.Type) -> int:
        self.named_inside(t)
        return self.intern("types", t, t)

    def named_inside(self, t: T.Type) -> None:
        """List the named tuples inside `t` before `t`, since readers learn their fields from the
        table of types."""
        for part in reversed(list(t.walk())):
            if part is not t and isinstance(part, T.TupleType) and part.name:
                self.intern("types", part, part)

    def constant_index(self, value: Any) -> int:
        return self.intern("constants", constant_key(value), value)

    # Blocks and values

    def block(self, block: Block) -> None:
        """Emit a block, which pops its parameters and pushes its results."""
        self.store(block.start)
        for node in block.nodes:
            if node.kind != "prim::Constant" and node not in self.inlined:
                self.node(node)
                self.store(node)
        for v in block.returns:
            self.load(v, block)

    def store(self, node: Node) -> None:
        """Pop the outputs of a node into new registers; drop values that are not used any more."""
        outputs = node.outputs
        if len(outputs) == 1 and not outputs[0].uses:
            self.emit("DROP")
        elif outputs:
            first = len(self.code.register_types) + 1
            for v in outputs:
                self.code.register_types.append(v.type)
                self.registers[v] = len(self.code.register_types)
            if len(outputs) == 1:
                self.emit("STORE", first)
            else:
                self.emit("STOREN", first, len(outputs))
            for v in outputs:
                if not v.uses:
                    self.emit("DROPR", self.registers[v])
        for v in self.lifetimes.dead_after.get(node, ()):
            self.emit("DROPR", self.registers[v])

    def load(self, v: Value, block: Block) -> None:
        """Push a value for a use in `block`."""
        if v.is_constant and isinstance(v.constant, (list, dict)) and not v.constant:
            # A reader infers the type of a constant list or dict from its elements, which an empty
            # one does not have.
            kind = "LIST_CONSTRUCT" if isinstance(v.constant, list) else "DICT_CONSTRUCT"
            self.emit(kind, self.type_index(v.type), 0)
        elif v.node.kind == "prim::Constant":
            self.emit("LOADC", self.constant_index(v.constant))
        elif v.node in self.inlined:
            self.node(v.node)
        else:
            moved = self.lifetimes.use_is_last(v, block)
            self.emit("MOVE" if moved else "LOAD", self.registers[v])

    def inputs(self, node: Node, count: int | None = None) -> None:
        for v in node.inputs if count is None else node.inputs[:count]:
            self.load(v, node.block)
        for v in () if count is None else node.inputs[count:]:
            self.skip(v, node.block)

    def skip(self, v: Value, block: Block) -> None:
        """Leave out an argument, which must be a constant."""
        if v.node.kind != "prim::Constant":
            raise GraphError(f"{v!r} is not a constant and cannot be left out")

    def node(self, node: Node) -> None:
        """Emit a node: its inputs are pushed, and its outputs stay on the stack."""
        outer, self.place = self.place, Place(node.span, node.callers)
        handler = HANDLERS.get(node.kind)
        if handler is not None:
            handler(self, node)
        elif node.kind in PROMOTED:
            self.inputs(node)
            self.emit(PROMOTED[node.kind])
        elif node.kind in COUNTED:
            self.inputs(node)
            self.emit(COUNTED[node.kind], len(node.inputs))
        elif node.kind in TYPED:
            self.inputs(node)
            self.emit(TYPED[node.kind], self.type_index(node.output.type), len(node.inputs))
        else:
            self.operator(node)
        self.place = outer

    # Nodes

    def operator(self, node: Node) -> None:
        schema = node.schema
        is_language = node.kind.startswith("prim::") and "named_by_archive" not in node.attributes
        if schema is None and is_language and node.kind not in WITHOUT_SCHEMA:
            place = f" ({node.span.place})" if node.span else ""
            raise GraphError(f"{node.kind} has no bytecode{place}")
        if node.kind in VARARG or (schema is not None and schema.is_vararg):
            self.inputs(node)
            ref = OperatorRef(node.kind, schema.overload if schema else "", None)
            self.emit("OPN", self.intern("operators", ref, ref), len(node.inputs))
            return
        given = len(node.inputs) if schema is None else arguments_needed(node)
        self.inputs(node, given)
        ref = OperatorRef(node.kind, schema.overload if schema else "", given)
        self.emit("OP", self.intern("operators", ref, ref))

    def conditional(self, node: Node) -> None:
        self.inputs(node)
        over_then = self.emit("JF")
        self.block(node.blocks[0])
        over_else = self.emit("JMP")
        self.patch(over_then)
        self.block(node.blocks[1])
        self.patch(over_else)

    def loop(self, node: Node) -> None:
        self.emit("LOADC", self.constant_index(0))
        self.inputs(node)
        head = self.emit("LOOP", 0, len(node.inputs))
        self.block(node.blocks[0])
        back = self.emit("JMP")
        self.code.instructions[back] = Instruction("JMP", head - back)
        self.patch(head)

    def tuple_construct(self, node: Node) -> None:
        self.inputs(node)
        t: Any = node.output.type
        if t.name:
            self.emit("NAMED_TUPLE_CONSTRUCT", self.type_index(t), len(node.inputs))
        else:
            self.emit("TUPLE_CONSTRUCT", len(node.inputs))

    def tuple_slice(self, node: Node) -> None:
        self.inputs(node)
        begin, end = node.attributes["beg"], node.attributes["end"]
        self.emit("TUPLE_SLICE", begin, end - begin)

    def list_unpack(self, node: Node) -> None:
        self.inputs(node)
        self.emit("LIST_UNPACK", len(node.outputs))

    def isinstance_(self, node: Node) -> None:
        self.inputs(node)
        types = tuple(node.attributes["types"])
        for t in types:
            self.named_inside(t)
        rows = (
            [self.intern("types", (types, i), t) for i, t in enumerate(types)]
            if len(types) > 1
            else [self.type_index(types[0])]
        )
        self.emit("ISINSTANCE", rows[0], len(types))

    def create_object(self, node: Node) -> None:
        self.emit("CREATE_OBJECT", self.type_index(node.output.type))

    def get_attribute(self, node: Node) -> None:
        self.inputs(node)
        self.emit("GET_ATTR", slot_of(node))

    def set_attribute(self, node: Node) -> None:
        self.inputs(node)
        self.emit("SET_ATTR", slot_of(node))

    def call_function(self, node: Node) -> None:
        self.inputs(node)
        self.call(node.attributes["function"])

    def call(self, function: Function) -> None:
        self.emit("CALL", self.intern("functions", function, function))

    def fork(self, node: Node) -> None:
        """Emit a fork or awaitable, a call whose body is a graph in the node."""
        self.inputs(node)
        body = forked_function(node, self.code.name)
        op = "FORK" if node.kind == "prim::fork" else "AWAITABLE"
        self.emit(op, self.intern("functions", body, body), len(node.inputs))

    def fused(self, node: Node) -> None:
        """Emit a fused group, a call of the operators in the node's graph, which an engine may run
        in one loop."""
        self.inputs(node)
        body = fused_function(node, self.code.name)
        self.emit("FUSED", self.intern("functions", body, body), len(node.inputs))

    def nowait(self, node: Node) -> None:
        """Emit a future that has its value: a fork of a function that returns its argument."""
        self.inputs(node)
        body = Graph()
        body.block.add_return(body.block.add_parameter(node.inputs[0].type, "x"))
        name = f"{self.code.name}.nowait"
        function = Function(name, schema_of_graph(name, body), body)
        self.emit("FORK", self.intern("functions", function, function), 1)

    def call_method(self, node: Node) -> None:
        self.inputs(node)
        name = node.attributes["name"]
        owner: Any = node.inputs[0].type
        if isinstance(owner, T.InterfaceType):
            self.intern("interfaces", owner, owner)
            self.emit("INTERFACE_CALL", self.constant_index(name), len(node.inputs))
        else:
            self.call(owner.methods[name])

    def enter(self, node: Node) -> None:
        self.inputs(node)
        manager: Any = node.inputs[0].type
        self.call(manager.methods["__enter__"])

    def leave(self, node: Node) -> None:
        manager: Any = node.inputs[0].type
        method = manager.methods["__exit__"]
        self.inputs(node)
        for _ in method.schema.arguments[1:]:
            self.emit("LOADC", self.constant_index(None))
        self.call(method)


HANDLERS: dict[str, Callable[[_Emitter, Node], None]] = {
    "prim::If": _Emitter.conditional,
    "prim::Loop": _Emitter.loop,
    "prim::TupleConstruct": _Emitter.tuple_construct,
    "prim::TupleSlice": _Emitter.tuple_slice,
    "prim::ListUnpack": _Emitter.list_unpack,
    "prim::isinstance": _Emitter.isinstance_,
    "prim::CreateObject": _Emitter.create_object,
    "prim::GetAttr": _Emitter.get_attribute,
    "prim::SetAttr": _Emitter.set_attribute,
    "prim::CallFunction": _Emitter.call_function,
    "prim::CallMethod": _Emitter.call_method,
    "prim::Enter": _Emitter.enter,
    "prim::Exit": _Emitter.leave,
    "prim::fork": _Emitter.fork,
    "prim::awaitable": _Emitter.fork,
    "prim::awaitable_nowait": _Emitter.nowait,
    "scriptlang::fused_pointwise": _Emitter.fused,
}
"""The methods that emit node kinds that are neither plain operators nor in the tables above."""

_forked: weakref.WeakKeyDictionary[Graph, Function] = weakref.WeakKeyDictionary()


def forked_function(node: Node, caller: str) -> Function:
    """The function of the graph that a fork or awaitable runs, made once for each graph."""
    graph = node.attributes["Subgraph"]
    if graph not in _forked:
        name = f"{caller}.{node.kind.partition('::')[2]}"
        _forked[graph] = Function(name, schema_of_graph(name, graph), graph)
    return _forked[graph]


def fused_function(node: Node, caller: str) -> Function:
    """The function of a fused group, compiled without running passes.  It has the name of its
    caller, since script stacks show its operators as part of the caller."""
    graph = node.attributes["Subgraph"]
    function = Function(caller, schema_of_graph(caller, graph), graph)
    function.attributes[CODE] = function.attributes[FUSED] = compile_function(function)
    return function


def constant_key(value: Any) -> Any:
    """The key by which equal constants share an entry: type and value of plain values, identity of
    others."""
    if isinstance(value, (float, complex)):
        return (type(value), repr(value))  # keeps 0.0 and -0.0 apart
    if value is None or isinstance(value, (bool, int, str)):
        return (type(value), value)
    return id(value)


def arguments_needed(node: Node) -> int:
    """How many arguments a call has to pass: the others, at the end, are constants that equal the
    defaults.  If the schema ends in `out` arguments, all are passed.
    """
    assert node.schema is not None
    arguments, count = node.schema.arguments, len(node.inputs)
    if (
        arguments
        and arguments[-1].kwarg_only
        and arguments[-1].alias
        and arguments[-1].alias.is_write
    ):
        return count
    while (
        count
        and arguments[count - 1].has_default
        and is_default(node.inputs[count - 1], arguments[count - 1].default)
    ):
        count -= 1
    return count


def is_default(v: Value, default: Any) -> bool:
    """Whether a value is the constant that a schema gives as default."""
    return v.is_constant and same_constant(v.constant, default)


def same_constant(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same_constant, a, b))
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    return (a is None or isinstance(a, (bool, int, str))) and a == b
