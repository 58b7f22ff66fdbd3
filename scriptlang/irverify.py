"""The verifier of the IR: its invariants, as a table of constraints for each kind of node.

`verify(graph)` checks a graph and the graphs in its attributes, and raises GraphError for the first
node that violates an invariant. There are four kinds of them:

- the links between nodes, blocks, values and their uses are consistent;
- dominance: a value is used after its definition, in the same block or in nested ones;
- an operator's inputs and outputs fit its schema;
- a node of the language (`prim::If`, `prim::GetAttr`, ...) satisfies the constraints in `KINDS`.

A constraint is a function of a node that returns why the node violates it, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from . import types as T
from .errors import GraphError
from .ir import Block, Function, Graph, Node, Value
from .schema import Schema
from .type_variables import fits as fits_variables
from .type_variables import substitute

Constraint = Callable[[Node], "str | None"]
Pattern = object
"""What type an operand needs: a Type (subtypes fit), a class of types, or a predicate whose
docstring describes it in error messages."""


def verify(graph: Graph) -> None:
    """Check all invariants of the IR. Raises GraphError for the first node that violates one."""
    _verify_block(graph, graph.block, set())


def _fail(node: Node, why: str) -> NoReturn:
    place = f" ({node.span.place})" if node.span else ""
    raise GraphError(f"{why}: {node!r}{place}")


def _verify_block(graph: Graph, block: Block, outer: set[Value]) -> None:
    scope = outer.union(block.parameters)
    prev = block.start
    for node in block.nodes:
        if node.prev is not prev or node.block is not block or node.graph is not graph:
            _fail(node, "broken links")
        prev = node
        _verify_node(graph, node, scope)
        scope.update(node.outputs)
    _verify_uses(block.end, scope)


def _verify_node(graph: Graph, node: Node, scope: set[Value]) -> None:
    _verify_uses(node, scope)
    _verify_results(node)
    for block in node.blocks:
        if block.owner is not node:
            _fail(node, "a block belongs to another node")
        _verify_block(graph, block, scope)
    for constraint in KINDS.get(node.kind, (fits_schema,)):
        why = constraint(node)
        if why:
            _fail(node, why)
    for value in node.attributes.values():
        if isinstance(value, Graph):
            verify(value)


def _verify_uses(node: Node, scope: set[Value]) -> None:
    for i, v in enumerate(node.inputs):
        if v not in scope:
            _fail(node, f"input {i} ({v!r}) does not dominate its use")
        if (node, i) not in v.uses:
            _fail(node, f"input {i} ({v!r}) does not list this use")


def _verify_results(node: Node) -> None:
    for v in node.outputs:
        if v.node is not node:
            _fail(node, "an output belongs to another node")
        for user, i in v.uses:
            if i >= len(user.inputs) or user.inputs[i] is not v:
                _fail(node, f"use list of {v!r} is stale")


# Patterns of types


def fits(t: T.Type, pattern: Pattern) -> bool:
    """Whether a type fits a pattern."""
    if isinstance(pattern, T.Type):
        return T.is_subtype(t, pattern)
    if isinstance(pattern, type):
        return isinstance(t, pattern)
    assert callable(pattern)
    return bool(pattern(t))


def describe(pattern: Pattern) -> str:
    if isinstance(pattern, T.Type):
        return pattern.annotation
    if isinstance(pattern, type):
        name = pattern.__name__.removesuffix("Type").lower()
        return f"{'an' if name[0] in 'aeiou' else 'a'} {name} type"
    return str(pattern.__doc__)


def anything(t: T.Type) -> bool:
    """any type"""
    return True


def an_object(t: T.Type) -> bool:
    """a class or an interface"""
    return isinstance(t, (T.ClassType, T.InterfaceType))


# Constraints


def operands(*patterns: Pattern, rest: Pattern | None = None) -> Constraint:
    """The inputs fit these patterns; if `rest` is given, any number of further ones fit it."""

    def check(node: Node) -> str | None:
        return _listed("input", [v.type for v in node.inputs], patterns, rest)

    return check


def results(*patterns: Pattern, rest: Pattern | None = None) -> Constraint:
    """The outputs fit these patterns; if `rest` is given, any number of further ones fit it."""

    def check(node: Node) -> str | None:
        return _listed("output", [v.type for v in node.outputs], patterns, rest)

    return check


def _listed(
    what: str, types: list[T.Type], patterns: tuple[Pattern, ...], rest: Pattern | None
) -> str | None:
    if len(types) < len(patterns) or (rest is None and len(types) > len(patterns)):
        more = " or more" if rest else ""
        return f"{len(types)} {what}s where {len(patterns)}{more} belong"
    wanted = (*patterns, *[rest] * (len(types) - len(patterns)))
    for i, (t, pattern) in enumerate(zip(types, wanted)):
        if not fits(t, pattern):
            return f"{what} {i} is {t.annotation}, not {describe(pattern)}"
    return None


def attribute(name: str, cls: type | tuple[type, ...] = object) -> Constraint:
    """The node has an attribute with this name and Python class."""

    def check(node: Node) -> str | None:
        if name not in node.attributes:
            return f"there is no attribute `{name}`"
        if not isinstance(node.attributes[name], cls):
            return f"attribute `{name}` is {node.attributes[name]!r}"
        return None

    return check


def blocks(*counts: int) -> Constraint:
    """The number of blocks is one of these."""

    def check(node: Node) -> str | None:
        if len(node.blocks) in counts:
            return None
        return f"{len(node.blocks)} blocks where {' or '.join(map(str, counts))} belong"

    return check


def _each(what: str, values: Iterable[Value], wanted: Iterable[T.Type]) -> str | None:
    """The reason why values do not fit a list of types, or None."""
    values, types = list(values), list(wanted)
    if len(values) != len(types):
        return f"{what}: {len(values)} values for {len(types)}"
    for v, t in zip(values, types):
        if not T.is_subtype(v.type, t):
            return f"{what}: {v!r} is no {t}"
    return None


def _types(values: Iterable[Value]) -> list[T.Type]:
    return [v.type for v in values]


def fits_schema(node: Node) -> str | None:
    """The inputs and outputs of an operator fit its schema.

    A node without a schema is an unknown operator: it raises an error when it runs.
    """
    s = node.schema
    if s is None:
        return None
    if node.kind != s.name:
        return f"the kind differs from the schema {s}"
    count = len(s.arguments)
    if len(node.inputs) < count or (len(node.inputs) > count and not s.is_vararg):
        return f"{len(node.inputs)} inputs for {s}"
    if len(node.outputs) < len(s.returns) or (
        len(node.outputs) > len(s.returns) and not s.is_varret
    ):
        return f"{len(node.outputs)} outputs for {s}"
    variables: dict[str, T.Type] = {}
    for argument, v in zip(s.arguments, node.inputs):
        if not fits_variables(v.type, argument.type, variables):
            return f"argument `{argument.name}` of {s} is {v.type.annotation}"
    for i, (returned, v) in enumerate(zip(s.returns, node.outputs)):
        wanted = substitute(returned.type, variables)
        if not T.is_subtype(v.type, wanted) and not T.is_subtype(wanted, v.type):
            return f"output {i} of {s} is {v.type.annotation}"
    return None


def branches_return_the_outputs(node: Node) -> str | None:
    for block in node.blocks:
        if block.parameters:
            return "a branch has parameters"
        why = _each("branch", block.returns, _types(node.outputs))
        if why:
            return why
    return None


def carries_its_variables(node: Node) -> str | None:
    body = node.blocks[0]
    if not body.parameters or body.parameters[0].type != T.INT:
        return "the first parameter of a loop's body is the int trip number"
    if not body.returns or body.returns[0].type != T.BOOL:
        return "the first return of a loop's body is the bool condition"
    carried = _types(body.parameters[1:])
    return (
        _each("carried into the loop", node.inputs[2:], carried)
        or _each("carried around the loop", body.returns[1:], carried)
        or _each("carried out of the loop", body.returns[1:], _types(node.outputs))
    )


def names_an_attribute(node: Node) -> str | None:
    owner, name = node.inputs[0].type, node.attributes["name"]
    if not isinstance(owner, T.ClassType) or owner.slot(name) is None:
        return f"{owner.annotation} has no attribute {name!r}"
    return None


def reads_its_type(node: Node) -> str | None:
    declared = _attribute(node).type
    if T.is_subtype(declared, node.output.type):
        return None
    return f"the attribute is {declared.annotation}, the output {node.output.type.annotation}"


def stores_its_type(node: Node) -> str | None:
    return _each("stored", node.inputs[1:], [_attribute(node).type])


def _attribute(node: Node) -> T.Attribute:
    owner: Any = node.inputs[0].type
    found: T.Attribute | None = owner.attribute(node.attributes["name"])
    assert found is not None
    return found


def makes_a_list(node: Node) -> str | None:
    t = node.output.type
    if not isinstance(t, T.ListType):
        return f"the output is {t.annotation}, not a list"
    return _each("element", node.inputs, [t.element] * len(node.inputs))


def makes_a_dict(node: Node) -> str | None:
    t = node.output.type
    if not isinstance(t, T.DictType) or len(node.inputs) % 2:
        return "keys and values by turns make a dict"
    return _each("entry", node.inputs, [t.key, t.value] * (len(node.inputs) // 2))


def makes_a_tuple(node: Node) -> str | None:
    t = node.output.type
    if not isinstance(t, T.TupleType):
        return f"the output is {t.annotation}, not a tuple"
    return _each("element", node.inputs, t.elements)


def unpacks_a_tuple(node: Node) -> str | None:
    taken: Any = node.inputs[0].type
    return _each("element", node.outputs, taken.elements)


def unpacks_a_list(node: Node) -> str | None:
    taken: Any = node.inputs[0].type
    return _each("element", node.outputs, [taken.element] * len(node.outputs))


def makes_an_object(node: Node) -> str | None:
    made = node.output.type
    return None if isinstance(made, T.ClassType) else f"{made.annotation} is no class"


def reads_an_enum(node: Node) -> str | None:
    taken: Any = node.inputs[0].type
    wanted, made = taken.value, node.output.type
    return None if made == wanted else f"the values are {wanted.annotation}, not {made.annotation}"


def calls_a_function(node: Node) -> str | None:
    return _call(node, node.attributes["function"].schema, node.inputs)


def calls_a_method(node: Node) -> str | None:
    owner: Any = node.inputs[0].type
    name = node.attributes["name"]
    method = owner.methods.get(name)
    if method is None:  # the call raises when it runs
        return None
    return _call(node, getattr(method, "schema", method), node.inputs)


def _call(node: Node, schema: Schema | None, inputs: list[Value]) -> str | None:
    if schema is None:  # compiling it later checks the call
        return None
    return _each(f"argument of {schema.name}", inputs, [a.type for a in schema.arguments]) or _each(
        f"result of {schema.name}", node.outputs, [r.type for r in schema.returns]
    )


def runs_its_graph(node: Node) -> str | None:
    """A fork or awaitable has a block while it is built, and later a Subgraph with its inputs."""
    inner: Any = node.attributes.get("Subgraph")
    if inner is None:
        return None if len(node.blocks) == 1 else "it has neither a block nor a Subgraph"
    why = _each("argument", node.inputs, _types(inner.inputs))
    return why or _each("result", inner.outputs, [_promised(node.output.type)])


def _promised(t: T.Type) -> T.Type:
    return t.contained[0] if t.contained else T.ANY


def holds_its_graph(node: Node) -> str | None:
    """A fused group has a Subgraph with its inputs and outputs."""
    inner = node.attributes["Subgraph"]
    why = _each("argument", node.inputs, _types(inner.inputs))
    return why or _each("result", inner.outputs, _types(node.outputs))


KINDS: Mapping[str, tuple[Constraint, ...]] = {
    "prim::Constant": (operands(), results(anything), attribute("value")),
    "prim::Uninitialized": (operands(), results(anything)),
    "prim::If": (operands(T.BOOL), blocks(2), branches_return_the_outputs),
    "prim::Loop": (operands(T.INT, T.BOOL, rest=anything), blocks(1), carries_its_variables),
    "prim::GetAttr": (
        operands(T.ClassType),
        results(anything),
        attribute("name", str),
        names_an_attribute,
        reads_its_type,
    ),
    "prim::SetAttr": (
        operands(T.ClassType, anything),
        results(),
        attribute("name", str),
        names_an_attribute,
        stores_its_type,
    ),
    "prim::ListConstruct": (results(T.ListType), makes_a_list),
    "prim::DictConstruct": (results(T.DictType), makes_a_dict),
    "prim::TupleConstruct": (results(T.TupleType), makes_a_tuple),
    "prim::TupleUnpack": (operands(T.TupleType), unpacks_a_tuple),
    "prim::TupleSlice": (
        operands(T.TupleType),
        results(T.TupleType),
        attribute("beg", int),
        attribute("end", int),
    ),
    "prim::ListUnpack": (operands(T.ListType), unpacks_a_list),
    "prim::CreateObject": (operands(), results(T.ClassType), makes_an_object),
    "prim::CallFunction": (attribute("function", Function), calls_a_function),
    "prim::CallMethod": (
        operands(an_object, rest=anything),
        attribute("name", str),
        calls_a_method,
    ),
    "prim::isinstance": (operands(anything), results(T.BOOL), attribute("types")),
    "prim::unchecked_cast": (operands(anything), results(anything)),
    "prim::EnumName": (operands(T.EnumType), results(T.STR)),
    "prim::EnumValue": (operands(T.EnumType), results(anything), reads_an_enum),
    "prim::fork": (results(T.FutureType), runs_its_graph),
    "prim::awaitable": (results(T.RRefLikeType), runs_its_graph),
    "scriptlang::fused_pointwise": (attribute("Subgraph", Graph), holds_its_graph),
}
"""The constraints of node kinds that a schema does not fully describe.
Each may rely on the earlier ones. All other kinds are operators (`fits_schema`)."""
