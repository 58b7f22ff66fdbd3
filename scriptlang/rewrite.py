"""Local rewrite rules: pairs of expressions over operators.

    Rule("double_negation", "x: int", "aten.neg(aten.neg(x))", "x")
    Rule("len_of_size", "x: Tensor", "aten.len(aten.size(x))", "aten.dim(x)")
    Rule("inner_relu", "x: Tensor", "aten.relu((y := aten.relu(x)))", "y")

`before` and `after` are Python expressions: calls of `aten.name(...)` or `prim.name(...)`,
literals, which match constants, and variables. A variable matches any value of its type in
`parameters`; if it is used twice, both uses have to be the same value (or equal constants).
`Const[int]` only matches constants. Trailing arguments that are left out match their defaults. `(y
:= pattern)` names an inner value.

A rule must preserve the value for all inputs that its condition accepts; tests/passes/test_rules.py
applies each rule to samples and compares. `why_not` returns the reason why a rule does not apply to
a node. The expressions are parsed when a node of the rule's kind is first met, so that tables of
rules cost nothing at import.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from . import logs, type_text
from . import types as T
from .building import made_once
from .ir import Graph, Node, Value
from .records import field, record
from .schema import Argument, Schema
from .type_variables import fits, substitute

Overloads = Callable[[str], Iterable[Schema]]


@record(frozen=True)
class Rule:
    """A rule that replaces `before` by `after`.

    condition: takes a Match and returns None if the rule may apply, else the reason why not.
    gives: if `after` is an existing value, what `before` returns: "object" (that value itself),
    "memory" (another tensor with its memory), or "value" (an equal value with its own memory).
    samples: values of variables for the test of the rule, if the default ones for the types do not
    fit.
    """

    name: str
    parameters: str
    before: str
    after: str
    condition: Callable[[Match], str | None] | None = None
    gives: str = "value"
    samples: dict[str, tuple[Any, ...]] = field(default_factory=dict, compare=False)

    @property
    def kind(self) -> str:
        """The kind of node that the rule replaces."""
        return "::".join(self.before[: self.before.index("(")].split(".")[:2])

    @made_once
    def variables(self) -> dict[str, tuple[T.Type, bool]]:
        """The variables: name -> (type, whether it has to be a constant)."""
        head: Any = ast.parse(f"def f({self.parameters}): ...").body[0]
        found = {}
        for a in head.args.args:
            text = ast.unparse(a.annotation)
            constant = text.startswith("Const[")
            found[a.arg] = type_text.parse_annotation(text[6:-1] if constant else text), constant
        return found

    @made_once
    def pattern(self) -> ast.expr:
        return ast.parse(self.before, mode="eval").body

    @made_once
    def result(self) -> ast.expr:
        return ast.parse(self.after, mode="eval").body

    def match(self, node: Node) -> Match | str:
        """The match of the rule at a node, or the reason why there is none."""
        match = Match(self, node)
        pattern: Any = self.pattern
        why = match.call(pattern, node)
        if why is None and self.condition is not None:
            why = self.condition(match)
        return match if why is None else why


class Match:
    """A match of a rule: `match["x"]` is the value of a variable, `nodes` are the matched nodes."""

    def __init__(self, rule: Rule, node: Node) -> None:
        self.rule = rule
        self.node = node
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def constant(self, name: str) -> Any:
        """The constant value of a variable."""
        return self.values[name].constant

    def call(self, pattern: ast.Call, node: Node) -> str | None:
        """Match a call with a node; returns the reason if it fails."""
        kind, overload = kind_of(pattern)
        if node.kind != kind:
            return f"{node.kind} is not {kind}"
        if overload is not None and (node.schema is None or node.schema.overload != overload):
            return f"{node.qualified_name} is not {kind}.{overload}"
        if len(node.outputs) != 1 or len(pattern.args) > len(node.inputs):
            return f"{node.kind} has other arguments than {ast.unparse(pattern)}"
        self.nodes.append(node)
        given = set(range(len(pattern.args)))
        for at, sub in enumerate(pattern.args):
            why = self.value(sub, node, at)
            if why:
                return why
        for keyword in pattern.keywords:
            i = node.schema.index(keyword.arg or "") if node.schema else None
            if i is None:
                return f"{node.qualified_name} has no argument {keyword.arg}"
            given.add(i)
            why = self.value(keyword.value, node, i)
            if why:
                return why
        return self.rest_is_default(node, given)

    def rest_is_default(self, node: Node, given: set[int]) -> str | None:
        for i, v in enumerate(node.inputs):
            if i not in given:
                default = node.schema.arguments[i].default if node.schema else ...
                if not (v.is_constant and same_constant(v.constant, default)):
                    return f"{argument_of(node, i)} is not its default"
        return None

    def value(self, pattern: ast.expr, node: Node, i: int) -> str | None:
        """Match an expression with an input of a node."""
        v = node.inputs[i]
        if isinstance(pattern, ast.Call):
            kind, _ = kind_of(pattern)
            if v.node.kind != kind:
                return f"{argument_of(node, i)} is not made by {kind}, but {maker_of(v)}"
            return self.call(pattern, v.node)
        if isinstance(pattern, ast.NamedExpr):
            return self.value(pattern.value, node, i) or self.bind(pattern.target.id, v)
        if isinstance(pattern, ast.Name):
            type, constant = self.rule.variables[pattern.id]
            if constant and not v.is_constant:
                return f"{argument_of(node, i)} is not a constant"
            if not T.is_subtype(v.type, type):
                return f"{argument_of(node, i)} has the type {v.type}, not {type}"
            return self.bind(pattern.id, v)
        wanted = literal(pattern)
        if v.is_constant and same_constant(v.constant, wanted):
            return None
        return f"{argument_of(node, i)} is not the constant {wanted!r}"

    def bind(self, name: str, v: Value) -> str | None:
        known = self.values.setdefault(name, v)
        if (
            known is v
            or known.is_constant
            and v.is_constant
            and same_constant(known.constant, v.constant)
        ):
            return None
        return f"{name} stands for two different values"

    def build(self, overloads: Overloads) -> Value:
        """Insert the nodes of `after` before the matched node, and return their result."""
        with self.node.graph.at(self.node) as graph:
            return build(
                graph, self.rule.result, self.values, overloads, self.node.output.type, self.node
            )


def argument_of(node: Node, i: int) -> str:
    """An input of a node, for people."""
    if node.schema is None or i >= len(node.schema.arguments):
        return f"input {i} of {node.kind}"
    return f"argument '{node.schema.arguments[i].name}' of {node.kind}"


def maker_of(v: Value) -> str:
    """What makes a value, for people."""
    return "comes in from outside" if v.is_parameter else f"by {v.node.kind}"


@cache
def literal(pattern: ast.expr) -> Any:
    """The value of a literal in a rule. It is cached for good, like the rules."""
    return ast.literal_eval(pattern)


@cache
def kind_of(call: ast.Call) -> tuple[str, str | None]:
    """('aten::add', 'Scalar') for `aten.add.Scalar(...)`; the overload is None if missing."""
    parts: list[str] = []
    at = call.func
    while isinstance(at, ast.Attribute):
        parts.append(at.attr)
        at = at.value
    assert isinstance(at, ast.Name)
    parts.append(at.id)
    overload = parts[-3] if len(parts) > 2 else None
    return f"{parts[-1]}::{parts[-2]}", overload


def build(
    graph: Graph,
    expr: ast.expr,
    values: dict[str, Value],
    overloads: Overloads,
    type: T.Type | None = None,
    like: Node | None = None,
) -> Value:
    """Insert the nodes of an expression; `type` is that of the result without a schema."""
    if isinstance(expr, ast.Name):
        if expr.id not in values:
            raise ValueError(f"{expr.id} is none of the variables {', '.join(values)} of the rule")
        return values[expr.id]
    if isinstance(expr, ast.NamedExpr):
        return build(graph, expr.value, values, overloads, type, like)
    if not isinstance(expr, ast.Call):
        value = ast.literal_eval(expr)
        return graph.constant(value, T.ListType(T.INT) if value == [] else None, like=like)
    kind, overload = kind_of(expr)
    given = [build(graph, a, values, overloads, None, like) for a in expr.args]
    named = {
        k.arg: build(graph, k.value, values, overloads, None, like)
        for k in expr.keywords
        if k.arg is not None
    }
    for schema in overloads(kind):
        if overload is not None and schema.overload != overload:
            continue
        inputs = fill(graph, schema, given, named, like)
        if inputs is not None:
            variables: dict[str, T.Type] = {}
            for v, a in zip(inputs, schema.arguments):
                fits(v.type, a.type, variables)
            outputs = [substitute(r.type, variables) for r in schema.returns]
            return graph.insert(kind, inputs, outputs, schema=schema, like=like).output
    if not any(True for _ in overloads(kind)) and type is not None and not named:
        return graph.insert(kind, given, [type], like=like).output
    raise ValueError(f"no overload of {kind} takes ({', '.join(str(v.type) for v in given)})")


def fill(
    graph: Graph, schema: Schema, given: list[Value], named: dict[str, Value], like: Node | None
) -> list[Value] | None:
    """The arguments of a schema, with defaults filled in; None if they do not fit."""
    variables: dict[str, T.Type] = {}
    found: list[Value | None] = []
    if len(given) > len(schema.arguments) or any(schema.index(n) is None for n in named):
        return None
    for i, a in enumerate(schema.arguments):
        v = given[i] if i < len(given) else named.get(a.name)
        if v is None and not a.has_default or v is not None and not fits(v.type, a.type, variables):
            return None
        found.append(v)
    return [
        v
        if v is not None
        else graph.constant(a.default, T.NONE if a.default is None else default_type(a), like=like)
        for v, a in zip(found, schema.arguments)
    ]


def default_type(argument: Argument) -> T.Type | None:
    """The type of a default's constant; None means that of its value, except for containers."""
    t = T.without_none(argument.type)
    return t if isinstance(t, (T.ListType, T.DictType)) else None


def same_constant(a: Any, b: Any) -> bool:
    """Whether two constants are the same value of the same type (0.0 and -0.0 are not)."""
    return type(a) is type(b) and (a is b or repr(a) == repr(b))


Guard = Callable[[Match, "Value | None"], "str | None"]
"""Takes (match, existing value that would now share memory, or None); returns why memory forbids
the rewrite, or None."""


class RuleSet:
    """Rules by the kind of node they replace; for each node, the first one that applies is used."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self.by_kind: dict[str, list[Rule]] = {}
        for rule in self.rules:
            self.by_kind.setdefault(rule.kind, []).append(rule)

    def apply(self, graph: Graph, overloads: Overloads, guard: Guard) -> bool:
        """Apply the rules once at every node of the graph; returns whether any rule applied."""
        changed = False
        for node in list(graph.walk()):
            for rule in self.by_kind.get(node.kind, ()) if node.block is not None else ():
                told = tell(rule, node, overloads, guard) if logs.topics else None
                if why_not(rule, node, overloads, guard, fire=True) is None:
                    changed = True
                    logs.say("rules", f"{rule.name} fires at {told}")
                    break
        return changed


def tell(rule: Rule, node: Node, overloads: Overloads, guard: Guard) -> str:
    """The location of a node. If the rule does not apply there, that is logged."""
    place = logs.place_of(node)
    why = why_not(rule, node, overloads, guard)
    if "misses" in logs.topics:
        logs.missed(node, rule.name, why)
    elif "rules" in logs.topics and why is not None and isinstance(rule.match(node), Match):
        logs.say("rules", f"{rule.name} does not fire at {place}: {why}")
    return place


def why_not(
    rule: Rule, node: Node, overloads: Overloads, guard: Guard, fire: bool = False
) -> str | None:
    """Why a rule does not apply to a node; None if it does.
    With `fire`, the node is rewritten too."""
    match = rule.match(node)
    if isinstance(match, str):
        return match
    existing = match.values.get(rule.after)
    if rule.gives == "memory" and any(user.schema is None for user, _ in node.output.uses):
        return "code outside would see that it is no other tensor"
    why = None
    if existing is None or rule.gives != "object":
        why = guard(match, existing if rule.gives == "value" else None)
    if why is not None or not fire:
        return why
    result = existing if existing is not None else match.build(overloads)
    if not T.is_subtype(result.type, node.output.type):
        return f"{result.type} is no {node.output.type}"
    node.replace_with(result)
    return None
