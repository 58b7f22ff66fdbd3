"""Replace calls of known functions and methods by their bodies.

    %3 : Tensor = prim::CallMethod[name="forward"](%l, %x)    ->    the nodes of forward

Nodes that come from a body remember the call in `callers`, so that errors show the script stack.  A
call inside the body of the function it calls (recursion) stays, and so does a call of an interface,
and every call once the graph holds MAX_NODES nodes.
"""

from __future__ import annotations

from .. import types as T
from ..ir import Block, Function, Graph, Node, Value, clone_node

CALLS = ("prim::CallFunction", "prim::CallMethod")

MAX_NODES = 200_000
"""Size at which a graph stops growing."""


def run(graph: Graph) -> bool:
    return _Inliner(graph).block(graph.block, ())


def callee(node: Node) -> Function | None:
    """The function that a call runs, where that is known."""
    if node.kind == "prim::CallFunction":
        function = node.attributes["function"]
    elif node.kind == "prim::CallMethod" and isinstance(node.inputs[0].type, T.ClassType):
        function = node.inputs[0].type.methods.get(node.attributes["name"])
    else:
        return None
    return function if isinstance(function, Function) else None


class _Inliner:
    def __init__(self, graph: Graph):
        self.graph = graph
        self.size = sum(1 for _ in graph.walk())

    def block(self, block: Block, active: tuple[Function, ...]) -> bool:
        """Inline every call in a block; `active` are the functions whose bodies this is part of."""
        changed = False
        for node in list(block.nodes):
            changed |= self.node(node, active)
        return changed

    def node(self, node: Node, active: tuple[Function, ...]) -> bool:
        changed = False
        for inner in node.blocks:
            changed |= self.block(inner, active)
        function = callee(node)
        if function is None or function in active or function.is_defining or not has_body(function):
            return changed
        if self.size > MAX_NODES or calls_itself(function):
            return changed
        for copied in splice(node, function):
            self.node(copied, (*active, function))
            self.size += 1
        return True


def has_body(function: Function) -> bool:
    return function.is_defined or function._define is not None


def calls_itself(function: Function) -> bool:
    """Whether the function is recursive: it stays a call, wherever it is called from."""
    known = function.attributes.get(RECURSIVE)
    if known is None:
        reached: dict[Function, list[Function]] = {}
        pending = [function]
        while pending:
            caller = pending.pop()
            if caller not in reached:
                reached[caller] = callees(caller)
                pending += reached[caller]
        known = function in {f for called in reached.values() for f in called}
        if not known:
            settle(reached)
        function.attributes[RECURSIVE] = known
    return known


RECURSIVE = "recursive"
"""Attribute of a Function: whether it may call itself."""


def callees(function: Function) -> list[Function]:
    """The functions with a body that a function calls, but for those known not to be recursive.

    What those reach cannot call a caller of theirs: they would be in its cycle.
    """
    found = [callee(node) for node in function.graph.walk() if node.kind in CALLS]
    return [f for f in found if f is not None and not f.is_defining and has_body(f)
            and f.attributes.get(RECURSIVE) is not False]


def settle(reached: dict[Function, list[Function]]) -> None:
    """Mark as not recursive what calls only functions that are not, from the leaves up."""
    pending = dict(reached)
    while True:
        leaves = [f for f, called in pending.items() if all(c not in pending for c in called)]
        if not leaves:
            return
        for f in leaves:
            f.attributes[RECURSIVE] = False
            del pending[f]


def splice(call: Node, function: Function) -> list[Node]:
    """Put the body of `function` in place of `call`; returns the nodes that came."""
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
    results = [as_type(env.get(v, v), out.type, call)
               for v, out in zip(body.returns, call.outputs, strict=True)]
    call.replace_with(*results)
    return copied


def as_type(value: Value, wanted: T.Type, call: Node) -> Value:
    """The value where a `wanted` is expected; tuples are cast: unpacking asks for equal types."""
    if value.type == wanted or not any(isinstance(t, T.TupleType) for t in wanted.walk()):
        return value
    with call.graph.at(call) as graph:
        return graph.insert("prim::unchecked_cast", [value], [wanted], like=call).output


def add_callers(node: Node, context: tuple) -> None:
    node.callers = context + node.callers
    for block in node.blocks:
        for inner in block.nodes:
            add_callers(inner, context)
