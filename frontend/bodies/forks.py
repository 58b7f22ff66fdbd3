"""`fork` and `_awaitable`: the call that they start becomes a separate graph.

While a function is emitted, a fork is a node with a block, so that closures can read the variables
of the function.  `lift` then replaces the block by a `Subgraph` attribute, whose inputs are the
outer values that the block used:

    %f : Future[Tensor] = prim::fork()            %f : Future[Tensor] = prim::fork_0(%x)
      block0():                              ->   with prim::fork_0 = graph(%x : Tensor):
        %y : Tensor = aten::neg(%x)                 %y : Tensor = aten::neg(%x)
        -> (%y)                                     return (%y)
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Block, Graph, Node, Value, clone_block

from ..values.sugared import SugaredValue
from .calls import arguments

if TYPE_CHECKING:
    from .emitter import Emitter

KINDS: dict[str, Callable[[T.Type], T.Type]] = {
    "prim::fork": T.FutureType,
    "prim::awaitable": lambda t: T.RRefLikeType("Await", t),
}
"""Kind of a node whose body runs as a separate call -> function from its result type to that of
the node."""


def emit_fork(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    """`fork(f, *args, **kwargs)`: a Future for a call, which may run in parallel."""
    return _deferred(e, node, "fork", "prim::fork")


def emit_awaitable(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    """`_awaitable(f, *args, **kwargs)`: a call that runs when its result is first needed."""
    return _deferred(e, node, "_awaitable", "prim::awaitable")


def _deferred(e: Emitter, node: ast.Call, name: str, kind: str) -> SugaredValue:
    span = e.span(node)
    if not node.args or isinstance(node.args[0], ast.Starred):
        raise CompileError(
            f"{name} takes a function and its arguments",
            span,
            f"write {name}(f, x) for a call of f(x)",
        )
    callee = e.expr(node.args[0])
    rest = ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)
    args, kwargs = arguments(e, rest)
    made = e.b.insert(kind, (), (), span)
    with e.block(made.add_block()):
        result = callee.call(e.b, args, kwargs, span).value(e.b, span)
        made.blocks[0].add_return(result)
    made.add_output(KINDS[kind](result.type))
    return e.simple(made.output)


def lift(graph: Graph) -> None:
    """Replace the block of every fork in the graph by a Subgraph, inner forks first."""
    for node in reversed([n for n in graph.walk() if n.kind in KINDS and n.blocks]):
        _lift_node(node)


def _lift_node(node: Node) -> None:
    block = node.blocks[0]
    inner = Graph(node.graph.name)
    env: dict[Value, Value] = {}
    captured = captures(block)
    for v in captured:
        env[v] = inner.block.add_parameter(v.type, v.name)
    for v in constants_around(block):
        env[v] = inner.constant(v.constant, v.type, v.node.span)
    clone_block(block, inner.block, env)
    new = node.graph.create(
        node.kind, captured, [node.output.type], attributes={"Subgraph": inner}, like=node
    )
    new.output.name = node.output.name
    new.insert_before(node)
    node.output.replace_all_uses_with(new.output)
    node.destroy()


def captures(block: Block) -> list[Value]:
    """The outer values that a block uses, without constants, in the order of their first use."""
    return [v for v in _from_outside(block) if not v.is_constant]


def constants_around(block: Block) -> list[Value]:
    """The outer constants that a block uses, in the order of their first use."""
    return [v for v in _from_outside(block) if v.is_constant]


def _from_outside(block: Block) -> list[Value]:
    nodes = list(block.walk())
    own = {v for n in nodes for v in n.outputs}
    own |= {v for n in nodes for b in n.blocks for v in b.parameters}
    ends = [block.end, *(b.end for n in nodes for b in n.blocks)]
    used = (v for n in (*nodes, *ends) for v in n.inputs)
    return list(dict.fromkeys(v for v in used if v not in own))
