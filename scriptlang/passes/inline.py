"""Replaces calls of known functions and methods by their bodies.

    %3 : Tensor = prim::CallMethod[name="forward"](%l, %x)    ->    the nodes of forward

Nodes that come from a body remember the call in `callers`, so that errors show the script stack.
These calls are not inlined: calls of recursive functions, calls of interfaces, calls inside
MAX_DEPTH others, and all calls once the graph has MAX_NODES nodes. The size of a function after
inlining is computed first (`inlined_size`). So a program that exceeds its budget is rejected at
once, even if it is a few short functions that each call the next one twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import budgets
from .. import types as T
from ..ir import Function, Graph, Node, Value, clone_node

CALLS = ("prim::CallFunction", "prim::CallMethod")

MAX_NODES = 200_000
"""The size at which a graph stops growing."""

MAX_DEPTH = 200
"""The most nested calls. Each inlined node stores all calls that lead to it."""


Instead = Callable[[Function], Function]


def run(graph: Graph, instead: Instead | None = None) -> bool:
    """instead: gives the function whose body is put in for a call of another one."""
    own, calls = measured(graph)
    if not calls:
        return False
    inlined = own + sum(inlined_size(f) for f in calls if may_inline(f))
    budget = budgets.current()
    if budget is not None:
        budget.allow("graph_nodes", inlined - own)
    added = put_in(graph, own, instead)
    budgets.spend("graph_nodes", added or 0)
    return added is not None


def measured(graph: Graph) -> tuple[int, list[Function]]:
    """Return (number of nodes of a graph, the function of each call in it)."""
    count, calls = 0, []
    for node in graph.walk():
        count += 1
        if node.kind in CALLS:
            function = callee(node)
            if function is not None:
                calls.append(function)
    return count, calls


def put_in(graph: Graph, size: int, instead: Instead | None = None) -> int | None:
    """Inline calls in a graph of `size` nodes; returns the number of added nodes, or None if no
    call was replaced."""
    added, changed = 0, False
    pending = [*graph.block.nodes][::-1]
    while pending:
        node = pending.pop()
        for inner in reversed(node.blocks):
            pending += [*inner.nodes][::-1]
        function = callee(node) if node.kind in CALLS else None
        if (
            function is None
            or size + added > MAX_NODES
            or len(node.callers) >= MAX_DEPTH
            or not may_inline(function)
        ):
            continue
        copied = splice(node, function if instead is None else instead(function))
        added, changed = added + len(copied), True
        pending += reversed(copied)
        budgets.look()
    return added if changed else None


def callee(node: Node) -> Function | None:
    """The function that a call runs if it is known, else None."""
    if node.kind == "prim::CallFunction":
        function = node.attributes["function"]
    elif node.kind == "prim::CallMethod" and isinstance(node.inputs[0].type, T.ClassType):
        function = node.inputs[0].type.methods.get(node.attributes["name"])
    else:
        return None
    return function if isinstance(function, Function) else None


def may_inline(function: Function) -> bool:
    """Whether calls of a function may be inlined: it has a body and is not recursive."""
    return not function.is_defining and has_body(function) and not calls_itself(function)


def has_body(function: Function) -> bool:
    return function.is_defined or function._define is not None


def calls_itself(function: Function) -> bool:
    """Whether the function is recursive; calls of it are never inlined."""
    if RECURSIVE not in function.attributes:
        settle(function)
    return function.attributes[RECURSIVE]


def inlined_size(function: Function) -> int:
    """The number of nodes of a function that is not recursive, after all calls are inlined."""
    calls_itself(function)
    return function.attributes[SIZE]


RECURSIVE, SIZE = "recursive", "inlined_size"
"""Attributes of a Function: whether it is recursive, and its `inlined_size`."""


def settle(function: Function) -> None:
    """Compute RECURSIVE and SIZE of a function and of all that it may reach.

    This is Tarjan's algorithm for strongly connected components: `low` is the earliest function on
    the path to f that can be reached from f.
    """
    number: dict[Function, int] = {}
    low: dict[Function, int] = {}
    sizes: dict[Function, tuple[int, list[Function]]] = {}
    way: list[Function] = []
    open_: set[Function] = set()
    pending: list[tuple[Function, Iterator[Function]]] = []

    def enter(f: Function) -> None:
        number[f] = low[f] = len(number)
        sizes[f] = own, calls = measured(f.graph)
        way.append(f)
        open_.add(f)
        pending.append((f, iter(dict.fromkeys(calls))))
        budgets.look()

    enter(function)
    while pending:
        f, called = pending[-1]
        for g in called:
            if g.is_defining or not has_body(g) or RECURSIVE in g.attributes:
                continue
            if g not in low:
                enter(g)
                break
            if g in open_:
                low[f] = min(low[f], number[g])
        else:
            pending.pop()
            if pending:
                low[pending[-1][0]] = min(low[pending[-1][0]], low[f])
            if low[f] == number[f]:
                close(f, way, open_, sizes)


def close(
    f: Function,
    way: list[Function],
    open_: set[Function],
    sizes: dict[Function, tuple[int, list[Function]]],
) -> None:
    """Pop a strongly connected component, `f` and the functions after it, off the stack."""
    circle = [way.pop()]
    while circle[-1] is not f:
        circle.append(way.pop())
    open_.difference_update(circle)
    for g in circle:
        own, calls = sizes[g]
        g.attributes[RECURSIVE] = len(circle) > 1 or g in calls
        g.attributes[SIZE] = own
    if not f.attributes[RECURSIVE]:
        own, calls = sizes[f]
        f.attributes[SIZE] = own + sum(
            g.attributes[SIZE] for g in calls if g.attributes.get(RECURSIVE) is False
        )


def splice(call: Node, function: Function) -> list[Node]:
    """Replace `call` by the body of `function`; returns the inserted nodes."""
    graph, body = call.graph, function.graph.block
    context = (*call.callers, (function.name, call.span))
    env: dict[Value, Value] = {}
    for parameter, given in zip(body.parameters, call.inputs, strict=True):
        env[parameter] = as_type(given, parameter.type, call)
    copied = []
    for node in body.nodes:
        new = clone_node(node, graph, env).insert_before(call)
        copied.append(new)
        add_callers(new, context)
    results = [
        as_type(env.get(v, v), out.type, call)
        for v, out in zip(body.returns, call.outputs, strict=True)
    ]
    call.replace_with(*results)
    return copied


def as_type(value: Value, wanted: T.Type, call: Node) -> Value:
    """The value with the type `wanted`. Tuples get a cast, since unpacking needs equal types."""
    if value.type == wanted or not any(isinstance(t, T.TupleType) for t in wanted.walk()):
        return value
    with call.graph.at(call) as graph:
        return graph.insert("prim::unchecked_cast", [value], [wanted], like=call).output


def add_callers(node: Node, context: tuple[Any, ...]) -> None:
    node.callers = context + node.callers
    for block in node.blocks:
        for inner in block.nodes:
            add_callers(inner, context)
