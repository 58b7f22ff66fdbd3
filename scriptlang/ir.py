"""The intermediate representation: Graph, Block, Node, Value, Function.  Its rules: irverify.py.

SSA with nested blocks, as PyTorch's.  A Block has parameters, nodes in order and returns;
`prim::If` has two blocks, `prim::Loop` one.  A value may be used where its definition dominates:
later in the same block, or anywhere inside blocks of later nodes.

    graph(%x : Tensor, %n : int):
      %2 : int = prim::Constant[value=2]()
      %3 : Tensor = aten::mul(%x, %2)
      return (%3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import budgets
from . import types as T
from .building import alone
from .errors import GraphError
from .schema import Argument, Schema
from .source import Span
from .types import constant_type


class Value:
    """A value of the graph: the output of a node, or a parameter of a block.

    `uses` are (node, input index) pairs; for returns of a block the node is the block's `returns`
    node.  `name` is a hint for printing, possibly empty.
    """

    __slots__ = ("name", "node", "type", "uses")

    def __init__(self, node: Node, type: T.Type, name: str = "") -> None:
        self.node = node
        self.type = type
        self.name = name
        self.uses: list[tuple[Node, int]] = []

    @property
    def is_parameter(self) -> bool:
        return self.node.kind == "prim::Param"

    @property
    def index(self) -> int:
        """Position among the outputs of its node."""
        return next(i for i, v in enumerate(self.node.outputs) if v is self)

    @property
    def constant(self) -> Any:
        """The value of a constant; raises ValueError for another value (see `is_constant`)."""
        if not self.is_constant:
            raise ValueError(f"{self!r} is not a constant")
        return self.node.attributes["value"]

    @property
    def is_constant(self) -> bool:
        return self.node.kind == "prim::Constant"

    def replace_all_uses_with(self, other: Value) -> None:
        """Let every use of this value use `other`."""
        for node, i in self.uses:
            node.inputs[i] = other
            other.uses.append((node, i))
        self.uses = []

    def __repr__(self) -> str:
        return f"%{self.name or hex(id(self))[-5:]} : {self.type}"


class Node:
    """One operation.  `kind` is a qualified name; `attributes` are plain Python values by name.

    `schema` is the operator's schema where the kind names an operator.  `span` is the source it
    came from; `callers` the (function name, call span) pairs of the calls it was inlined through,
    outermost first.  `block` is None while it is not in a graph.
    """

    __slots__ = (
        "_place",
        "attributes",
        "block",
        "blocks",
        "callers",
        "graph",
        "inputs",
        "kind",
        "next",
        "outputs",
        "prev",
        "schema",
        "span",
    )

    def __init__(self, graph: Graph, kind: str, span: Span | None = None) -> None:
        self.graph = graph
        self.kind = kind
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.blocks: list[Block] = []
        self.attributes: dict[str, Any] = {}
        self.schema: Schema | None = None
        self.span = span
        self.callers: tuple[tuple[str, Span | None], ...] = ()
        self.block = self.prev = self.next = None  # type: ignore[assignment]

    # Declared as whoever meets a node finds them: all but new and unlinked nodes are in a block.
    block: Block
    prev: Node
    next: Node
    _place: float

    def __repr__(self) -> str:
        outs = ", ".join(map(repr, self.outputs))
        return f"{outs} = {self.qualified_name}({', '.join('%' + v.name for v in self.inputs)})"

    @property
    def qualified_name(self) -> str:
        """Kind with the overload: `aten::add.Tensor`."""
        return self.schema.qualified_name if self.schema else self.kind

    @property
    def output(self) -> Value:
        """The only output."""
        if len(self.outputs) != 1:
            raise ValueError(f"{self.kind} has {len(self.outputs)} outputs")
        return self.outputs[0]

    def argument(self, name: str) -> Value:
        """The input that stands for the schema's argument of that name."""
        i = self.schema.index(name) if self.schema else None
        if i is None:
            raise KeyError(f"{self.qualified_name} has no argument {name!r}")
        return self.inputs[i]

    def add_input(self, value: Value) -> None:
        value.uses.append((self, len(self.inputs)))
        self.inputs.append(value)

    def insert_input(self, index: int, value: Value) -> None:
        rest = self.inputs[index:]
        self.remove_inputs(index)
        for v in (value, *rest):
            self.add_input(v)

    def replace_input(self, index: int, value: Value) -> None:
        self.inputs[index].uses.remove((self, index))
        self.inputs[index] = value
        value.uses.append((self, index))

    def remove_input(self, index: int) -> None:
        rest = self.inputs[index + 1 :]
        self.remove_inputs(index)
        for v in rest:
            self.add_input(v)

    def remove_inputs(self, start: int = 0) -> None:
        """Drop all inputs from `start` on."""
        for i in range(start, len(self.inputs)):
            uses = self.inputs[i].uses
            if uses[-1] == (self, i):  # constants have many uses; sweeps go backwards
                uses.pop()
            else:
                uses.remove((self, i))
        del self.inputs[start:]

    def add_output(self, type: T.Type, name: str = "") -> Value:
        value = Value(self, type, name)
        self.outputs.append(value)
        return value

    def remove_output(self, index: int) -> None:
        if self.outputs[index].uses:
            raise GraphError(f"output {index} of {self!r} is still used")
        del self.outputs[index]

    def add_block(self) -> Block:
        block = Block(self.graph, self)
        self.blocks.append(block)
        return block

    def insert_before(self, other: Node) -> Node:
        """Place this (unplaced) node before `other`; returns it."""
        return self._link(other.block, other.prev, other)

    def insert_after(self, other: Node) -> Node:
        """Place this (unplaced) node after `other`; returns it."""
        return self._link(other.block, other, other.next)

    def _link(self, block: Block, prev: Node, next: Node) -> Node:
        if self.block is not None:
            raise GraphError(f"{self!r} is already in a block")
        self.block, self.prev, self.next = block, prev, next
        prev.next = next.prev = self
        if next is block.end:
            self._place = prev._place + GAP
        else:
            self._place = (prev._place + next._place) // 2
            if self._place == prev._place:
                block.number()
        return self

    def unlink(self) -> Node:
        """Take the node out of its block, keeping inputs and uses; returns it."""
        self.prev.next, self.next.prev = self.next, self.prev
        self.block = self.prev = self.next = None  # type: ignore[assignment]
        return self

    def move_before(self, other: Node) -> None:
        self.unlink().insert_before(other)

    def move_after(self, other: Node) -> None:
        self.unlink().insert_after(other)

    def replace_with(self, *values: Value) -> None:
        """Let `values` stand for the outputs, then destroy the node."""
        for old, new in zip(self.outputs, values, strict=True):
            old.replace_all_uses_with(new)
            if not new.name:
                new.name = old.name
        self.destroy()

    def destroy(self) -> None:
        """Remove the node and everything inside it.  Its outputs must be unused."""
        for v in self.outputs:
            if v.uses:
                raise GraphError(f"{v!r} of {self!r} is still used by {v.uses[0][0]!r}")
        for block in reversed(self.blocks):
            block.clear()
        self.blocks.clear()
        self.remove_inputs()
        if self.block is not None:
            self.unlink()

    def is_before(self, other: Node) -> bool:
        """Whether this node runs before `other` where one dominates the other's block."""
        a, b = self, other
        owner: Node | None
        while a.block is not b.block:
            if b.block.depth > a.block.depth or b.block.depth == a.block.depth:
                owner = b.block.owner
                if owner is None:
                    return False
                b = owner
            else:
                owner = a.block.owner
                if owner is None:
                    return False
                a = owner
            if a is b:
                return False
        return a._place < b._place and b is not a.block.end


GAP = 1 << 32
"""How far apart nodes at the end of a block are numbered: others come between them."""


class Block:
    """A sequence of nodes with parameters and returned values.

    `start` and `end` are sentinel nodes: `start.outputs` are the parameters (kind `prim::Param`),
    `end.inputs` the returned values (kind `prim::Return`).
    """

    __slots__ = ("end", "graph", "owner", "start")

    def __init__(self, graph: Graph, owner: Node | None) -> None:
        self.graph = graph
        self.owner = owner
        self.start = Node(graph, "prim::Param")
        self.end = Node(graph, "prim::Return")
        self.start.block = self.end.block = self
        self.start._place, self.end._place = 0, float("inf")
        self.start.next, self.end.prev = self.end, self.start

    def number(self) -> None:
        """Give the nodes numbers that grow, with room between them."""
        for i, node in enumerate(self.nodes, 1):
            node._place = i * GAP

    @property
    def parameters(self) -> list[Value]:
        return self.start.outputs

    @property
    def returns(self) -> list[Value]:
        return self.end.inputs

    @property
    def depth(self) -> int:
        depth, block = 0, self
        while block.owner is not None:
            depth, block = depth + 1, block.owner.block
        return depth

    @property
    def nodes(self) -> Iterator[Node]:
        """The nodes in order; the one at hand may be destroyed or moved while iterating."""
        node = self.start.next
        while node is not self.end:
            following = node.next
            yield node
            node = following if node.next is None or node.block is not self else node.next

    @property
    def nodes_reversed(self) -> Iterator[Node]:
        """The nodes from last to first; the one at hand may be destroyed."""
        node = self.end.prev
        while node is not self.start:
            preceding = node.prev
            yield node
            node = preceding

    def walk(self) -> Iterator[Node]:
        """Every node, those inside nested blocks after their owner."""
        block, node = self, self.start.next
        pending: list[tuple[Block, Node | None, Node]] = []
        while True:
            if node is not block.end:
                following = node.next
                yield node
                if not node.blocks:
                    node = following if node.next is None or node.block is not block else node.next
                    continue
                pending.append((block, node, following))
                pending += [(inner, None, following) for inner in reversed(node.blocks)]
            if not pending:
                return
            block, owner, following = pending.pop()
            if owner is None:
                node = block.start.next
            else:
                node = following if owner.next is None or owner.block is not block else owner.next

    def add_parameter(self, type: T.Type, name: str = "") -> Value:
        return self.start.add_output(type, name)

    def add_return(self, value: Value) -> None:
        self.end.add_input(value)

    def append(self, node: Node) -> Node:
        return node.insert_before(self.end)

    def clear(self) -> None:
        """Destroy every node and forget the returns."""
        self.end.remove_inputs()
        for node in self.nodes_reversed:
            for v in node.outputs:
                v.uses = []
            node.destroy()

    def is_inside(self, other: Block) -> bool:
        """Whether this block is `other` or nested in it."""
        block = self
        while block is not other:
            if block.owner is None:
                return False
            block = block.owner.block
        return True


class Graph:
    """A function body: one block, and an insertion point that `create` and `insert` work at."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.block = Block(self, None)
        self.insert_point: Node = self.block.end

    @property
    def inputs(self) -> list[Value]:
        return self.block.parameters

    @property
    def outputs(self) -> list[Value]:
        return self.block.returns

    @property
    def nodes(self) -> Iterator[Node]:
        return self.block.nodes

    def walk(self) -> Iterator[Node]:
        """Every node of the graph, outer before inner."""
        return self.block.walk()

    def walk_all(self) -> Iterator[Node]:
        """`walk`, and into the graphs that nodes hold (the bodies of forks)."""
        for node in self.walk():
            yield node
            for value in node.attributes.values():
                if isinstance(value, Graph):
                    yield from value.walk_all()

    def __str__(self) -> str:
        from .irtext import print_graph

        return print_graph(self)

    __repr__ = __str__

    def at(self, point: Node | Block) -> InsertPoint:
        """`with graph.at(node):` inserts before the node, or at the end of a block."""
        return InsertPoint(self, point.end if isinstance(point, Block) else point)

    def create(
        self,
        kind: str,
        inputs: Iterable[Value] = (),
        outputs: Iterable[T.Type] = (),
        span: Span | None = None,
        attributes: dict[str, Any] | None = None,
        schema: Schema | None = None,
        like: Node | None = None,
    ) -> Node:
        """A node that is not yet placed.  `like` gives its place in the source and its callers."""
        node = Node(self, kind, span)
        for v in inputs:
            node.add_input(v)
        for t in outputs:
            node.add_output(t)
        if attributes:
            node.attributes.update(attributes)
        node.schema = schema
        if like is not None:
            node.span, node.callers = like.span, like.callers
        return node

    def insert(
        self,
        kind: str,
        inputs: Iterable[Value] = (),
        outputs: Iterable[T.Type] = (),
        span: Span | None = None,
        attributes: dict[str, Any] | None = None,
        schema: Schema | None = None,
        like: Node | None = None,
    ) -> Node:
        """`create`, placed at the insertion point."""
        node = self.create(kind, inputs, outputs, span, attributes, schema, like)
        return node.insert_before(self.insert_point)

    def constant(
        self,
        value: Any,
        type: T.Type | None = None,
        span: Span | None = None,
        like: Node | None = None,
    ) -> Value:
        """A constant at the insertion point; the type is that of the value unless given."""
        node = self.insert(
            "prim::Constant", (), (type or constant_type(value),), span, {"value": value}, like=like
        )
        return node.output

    def copy(self) -> Graph:
        """A deep copy; constants share their values."""
        new = Graph(self.name)
        env: dict[Value, Value] = {}
        clone_block(self.block, new.block, env)
        return new


class InsertPoint:
    """Context manager that moves a graph's insertion point and puts it back."""

    def __init__(self, graph: Graph, point: Node) -> None:
        self.graph, self.point = graph, point

    def __enter__(self) -> Graph:
        self.saved, self.graph.insert_point = self.graph.insert_point, self.point
        return self.graph

    def __exit__(self, *_: object) -> None:
        self.graph.insert_point = self.saved


def clone_block(
    source: Block,
    target: Block,
    env: dict[Value, Value],
    parameters: bool = True,
    returns: bool = True,
) -> None:
    """Copy the nodes of `source` to the end of `target`; `env` maps values, and is extended."""
    if parameters:
        for v in source.parameters:
            env[v] = target.add_parameter(v.type, v.name)
    for node in source.nodes:
        target.append(clone_node(node, target.graph, env))
    if returns:
        for v in source.returns:
            target.add_return(env.get(v, v))


def clone_node(node: Node, graph: Graph, env: dict[Value, Value]) -> Node:
    """A copy of `node` for `graph`, not placed; `env` maps its inputs and gains its outputs."""
    new = Node(graph, node.kind, node.span)
    new.schema, new.callers = node.schema, node.callers
    new.attributes = dict(node.attributes)
    for v in node.inputs:
        new.add_input(env.get(v, v))
    for v in node.outputs:
        env[v] = new.add_output(v.type, v.name)
    for block in node.blocks:
        clone_block(block, new.add_block(), env)
    return new


class Function:
    """A named graph with a schema; its body may be made on first use.

    `define`, when given, is called once to make the graph (`define(function)` sets `.graph`).
    `schema` must be known before the body, so that calls type-check while it is being compiled.
    `attributes` and `direct` are what passes and engines have made of the graph; `direct` is what
    an engine's Callers run.  `budget` is that of the archive that it came from, or was made of,
    None for others.
    """

    __slots__ = ("__dict__", "__weakref__", "direct")

    # Declared as whoever calls a function finds it: one that is called has a schema.
    schema: Schema

    def __init__(
        self,
        name: str,
        schema: Schema | None = None,
        graph: Graph | None = None,
        define: Callable[[Function], None] | None = None,
        budget: budgets.Budget | None = None,
    ) -> None:
        self.name = name
        self.schema = schema  # type: ignore[assignment]
        self._graph = graph
        self._define = define
        self.budget = budget
        self.is_defining = False
        self.attributes: dict[str, Any] = {}
        self.direct: Any = None

    @property
    def graph(self) -> Graph:
        self.ensure_defined()
        return self._graph  # type: ignore[return-value]  # a body that needs its own: None

    @graph.setter
    def graph(self, graph: Graph) -> None:
        self._graph = graph

    def ready(self) -> Any:
        """A program of the native engine that was made without the graph; None where there is
        none, and once the graph has become another one."""
        return None

    def forget(self) -> None:
        """Drop what was made of the graph, before it becomes another one."""
        self.attributes.clear()
        self.direct = None

    @property
    def is_defined(self) -> bool:
        return self._graph is not None

    def ensure_defined(self) -> None:
        """Make the graph if it is not there yet.  A body that needs itself finds `is_defining`."""
        if self._graph is None:
            self._make_graph()

    @alone
    def _make_graph(self) -> None:
        if self._graph is not None or self.is_defining:
            return
        if self._define is None:
            raise GraphError(f"function {self.name} has no body")
        self.is_defining = True
        try:
            with budgets.use(self.budget, self.name):
                self._define(self)
        finally:
            self.is_defining = False
        if self._graph is None:
            raise GraphError(f"the definition of {self.name} made no graph")

    def __repr__(self) -> str:
        return f"<function {self.schema or self.name}>"


OPTIMIZED = "optimized_graph"
"""Attribute of a Function that holds the graph that engines run in place of its own."""


def schema_of_graph(name: str, graph: Graph) -> Schema:
    """A schema from the inputs and outputs of a graph, for functions made without one."""
    arguments = tuple(Argument(v.name or f"arg{i}", v.type) for i, v in enumerate(graph.inputs))
    return Schema(name, "", arguments, tuple(Argument("", v.type) for v in graph.outputs))
