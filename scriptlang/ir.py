"""The intermediate representation: Graph, Block, Node, Value, Function. irverify.py checks it.

It is in SSA form with nested blocks, like PyTorch's. A Block has parameters, ordered nodes and
returned values; `prim::If` has two blocks, `prim::Loop` one. A value may be used where its
definition dominates the use: later in the same block, or anywhere inside blocks of later nodes.

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
    """A value of the graph: an output of a node, or a parameter of a block.

    `uses` are (node, input index) pairs; if a block returns the value, the node is the block's
    `end`. `name` is a hint for printing; it may be empty.
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
        """The index among the outputs of its node."""
        return next(i for i, v in enumerate(self.node.outputs) if v is self)

    @property
    def constant(self) -> Any:
        """The value of a constant. Raises ValueError if it is none (see `is_constant`)."""
        if not self.is_constant:
            raise ValueError(f"{self!r} is not a constant")
        return self.node.attributes["value"]

    @property
    def is_constant(self) -> bool:
        return self.node.kind == "prim::Constant"

    def replace_all_uses_with(self, other: Value) -> None:
        """Replace every use of this value by `other`."""
        for node, i in self.uses:
            node.inputs[i] = other
            other.uses.append((node, i))
        self.uses = []

    def __repr__(self) -> str:
        return f"%{self.name or hex(id(self))[-5:]} : {self.type}"


class Node:
    """One operation. `kind` is a qualified name; `attributes` are plain Python values by name.

    schema: the operator's schema if the kind is an operator, else None. span: the source that the
    node comes from. callers: the (function name, call span) pairs of the calls through which it was
    inlined, outermost first. block: None while the node is not in a graph.
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

    # Not Optional, since only new and unlinked nodes are outside of a block.
    block: Block
    prev: Node
    next: Node
    _place: float

    def __repr__(self) -> str:
        outs = ", ".join(map(repr, self.outputs))
        return f"{outs} = {self.qualified_name}({', '.join('%' + v.name for v in self.inputs)})"

    @property
    def qualified_name(self) -> str:
        """The kind with the overload: `aten::add.Tensor`."""
        return self.schema.qualified_name if self.schema else self.kind

    @property
    def output(self) -> Value:
        """The only output. Raises ValueError if there are none or several."""
        if len(self.outputs) != 1:
            raise ValueError(f"{self.kind} has {len(self.outputs)} outputs")
        return self.outputs[0]

    def argument(self, name: str) -> Value:
        """The input for the schema's argument with that name. Raises KeyError if there is none."""
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
        """Remove all inputs from index `start` on."""
        for i in range(start, len(self.inputs)):
            uses = self.inputs[i].uses
            if uses[-1] == (self, i):  # fast path: constants have many uses, and sweeps go backward
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
        """Insert this node, which is in no block, before `other`; returns it."""
        return self._link(other.block, other.prev, other)

    def insert_after(self, other: Node) -> Node:
        """Insert this node, which is in no block, after `other`; returns it."""
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
        """Take the node out of its block but keep its inputs and uses; returns it."""
        self.prev.next, self.next.prev = self.next, self.prev
        self.block = self.prev = self.next = None  # type: ignore[assignment]
        return self

    def move_before(self, other: Node) -> None:
        self.unlink().insert_before(other)

    def move_after(self, other: Node) -> None:
        self.unlink().insert_after(other)

    def replace_with(self, *values: Value) -> None:
        """Replace the outputs by `values`, then destroy the node."""
        for old, new in zip(self.outputs, values, strict=True):
            old.replace_all_uses_with(new)
            if not new.name:
                new.name = old.name
        self.destroy()

    def destroy(self) -> None:
        """Remove the node and everything inside it. Raises GraphError if an output is used."""
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
        """Whether this node runs before `other`, if the block of one contains that of the other."""
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
"""The distance between the numbers of appended nodes, so that others fit between."""


class Block:
    """A sequence of nodes with parameters and returned values.

    `start` and `end` are sentinel nodes: the outputs of `start` are the parameters (`prim::Param`),
    and the inputs of `end` are the returned values (`prim::Return`).
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
        """Renumber the nodes in order, with gaps between the numbers."""
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
        """The nodes in order; the current one may be destroyed or moved during the iteration."""
        node = self.start.next
        while node is not self.end:
            following = node.next
            yield node
            node = following if node.next is None or node.block is not self else node.next

    @property
    def nodes_reversed(self) -> Iterator[Node]:
        """The nodes from last to first; the current one may be destroyed."""
        node = self.end.prev
        while node is not self.start:
            preceding = node.prev
            yield node
            node = preceding

    def walk(self) -> Iterator[Node]:
        """All nodes, including those in nested blocks, which come after their owner."""
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
        """Destroy all nodes and remove the returned values."""
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
    """A function body: one block, and the insertion point that `insert` uses."""

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
        """All nodes of the graph; nodes come before those inside them."""
        return self.block.walk()

    def walk_all(self) -> Iterator[Node]:
        """Like `walk`, but including the graphs that nodes hold (the bodies of forks)."""
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
        """`with graph.at(node):` inserts before the node; with a block, at its end."""
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
        """A new node that is in no block. It takes its span and callers from `like`."""
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
        """Like `create`, but the node is placed at the insertion point."""
        node = self.create(kind, inputs, outputs, span, attributes, schema, like)
        return node.insert_before(self.insert_point)

    def constant(
        self,
        value: Any,
        type: T.Type | None = None,
        span: Span | None = None,
        like: Node | None = None,
    ) -> Value:
        """Insert a constant; its type is that of the value unless given."""
        node = self.insert(
            "prim::Constant", (), (type or constant_type(value),), span, {"value": value}, like=like
        )
        return node.output

    def copy(self) -> Graph:
        """A deep copy; the values of constants are shared."""
        new = Graph(self.name)
        env: dict[Value, Value] = {}
        clone_block(self.block, new.block, env)
        return new


class InsertPoint:
    """A context manager that moves a graph's insertion point and restores it."""

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
    """A copy of `node` for `graph`, in no block; `env` maps inputs, and gets the outputs."""
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

    define: if given, it is called once to make the graph (`define(function)` sets `.graph`).
    schema: has to be known before the body, so that calls can be type-checked while it is compiled.
    attributes, direct: what passes and engines have made from the graph; `direct` is the fast path
    of calls. budget: that of the archive from which the function comes, else None.
    """

    __slots__ = ("__dict__", "__weakref__", "direct")

    # Not Optional, since a function that is called has a schema.
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
        """A native engine's program that was made without the graph; None if there is none, or if
        the graph has changed."""
        return None

    def forget(self) -> None:
        """Drop everything that was made from the graph, before the graph is replaced."""
        self.attributes.clear()
        self.direct = None

    @property
    def is_defined(self) -> bool:
        return self._graph is not None

    def ensure_defined(self) -> None:
        """Make the graph if necessary. For a body that needs itself, `is_defining` is set."""
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
"""The attribute of a Function with the graph that engines run instead of its own."""


def schema_of_graph(name: str, graph: Graph) -> Schema:
    """A schema from the inputs and outputs of a graph, for functions without one."""
    arguments = tuple(Argument(v.name or f"arg{i}", v.type) for i, v in enumerate(graph.inputs))
    return Schema(name, "", arguments, tuple(Argument("", v.type) for v in graph.outputs))
