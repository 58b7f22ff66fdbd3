"""Makes a straight graph of a program, with the derivatives that it asks for.

The evaluator goes through a graph as a run would. Whatever is known ahead is evaluated at once:
numbers, lists, calls, and the branches and loops that sizes and constants decide. What only a run
can compute becomes a node of the straight graph. That graph has no lists that change and no tensors
that are written: `x.add_(y)` becomes `add`, and from then on `x` is its result (writes.py). A
branch with an unknown condition stays a branch, provided that no derivative goes through it.

Steps on tensors that require a gradient are recorded in order as `Entry`s: a tape that exists while
the graph is made, but not when it runs. The backward pass (backward.py) evaluates the rules of
these steps, whose nodes come after the others. As they are recorded in the same way, second
derivatives need no further code.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from ... import budgets
from ... import types as T
from ...ir import Block, Function, Graph, Node, Value
from ...objects import ScriptObject
from ...ops import table
from ...ops.derivatives.rules import Expression, Rule, rule_of
from ...tensors import Tensor as Constant
from ...type_variables import bind_variables, has_variables, substitute
from ..effects import PASSES_ON
from ..inline import callee
from ..shape_facts import UNKNOWN
from ..shape_facts import is_known as is_fact_known
from . import asking, containers, simplify, writes
from .branches import Ended, branch
from .facts import Growing
from .values import Module, NotStraight, Object, Tensor, Unknown, is_known, mapped, tensors_in

MOST_NODES = 50_000
"""The most nodes of a straight graph. A program whose loops would unroll to more has none."""

MOST_CALLS = 50
"""The deepest nesting of calls, to stop at recursive functions."""

BACKWARD = ("backward",)
"""The family of pointwise operators for the backward pass. Their bodies are inlined, so that they
can be fused; one that is fusible itself stays."""

APART = frozenset(("aten::is_leaf", "aten::output_nr", "aten::detach_"))
"""Operators that depend on the autograd history of tensors and have no `looks_back` fact.
A recorded call of a whole program can answer them; a straight graph cannot."""


class Entry(NamedTuple):
    """A step that derivatives go through.

    arguments: as they were at that time. results: the value of each result, or a list of values.
    memory: maps a value to the tensor that owns its memory (and is no view), and to how often that
    had been written.
    """

    operator: table.Operator
    rule: Rule | None
    arguments: list[Any]
    results: list[Any]
    node: Node
    memory: dict[Value, tuple[Tensor, int]]


class Evaluator:
    """Walks a program and builds its straight graph.

    graph: the straight graph so far. records: whether steps are recorded for derivatives now. read:
    (object, attribute, value) of attributes that were assumed to be constant. seeds: the gradients
    of single numbers, which are 1. earlier: for a value that was written to a leaf, those that the
    leaf had before."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.facts = Growing(graph)
        self.entries: list[Entry] = []
        self.recorded: set[Value] = set()  # the results of entries
        self.earlier: dict[Value, tuple[Value, ...]] = {}
        self.outside: list[tuple[Tensor, Value]] = []
        self.turned: list[Tensor] = []  # that the program makes require a gradient
        self.records = True
        self.inside = 0  # how many branches that stay surround the current node
        self.local: dict[int, Any] = {}  # containers made inside of these branches
        self.lasting: dict[int, Any] = {}  # containers that attributes hold
        self.constants: dict[Any, Value] = {}
        self.attributes: dict[tuple[int, str], Any] = {}
        self.read: list[tuple[ScriptObject, str, Any]] = []
        self.seeds: list[Value] = []
        self.count = self.depth = 0
        self.at: Node | None = None
        self.is_backward = False  # new nodes then keep the forward step's place

    def left_out(self, tensors: Sequence[Tensor]) -> set[int]:
        """The ids of tensors of objects that require a gradient among those that are inactive."""
        return set()

    # Walking

    def call(self, graph: Graph, args: Sequence[Any]) -> list[Any]:
        """The results of a graph for these arguments."""
        if self.depth >= MOST_CALLS:
            raise NotStraight(f"more than {MOST_CALLS} calls are inside each other{self.place()}")
        env: dict[Value, Any] = dict(zip(graph.inputs, args, strict=True))
        self.depth += 1
        try:
            self.block(graph.block, env)
        finally:
            self.depth -= 1
        return [env[v] for v in graph.outputs]

    def function(self, function: Function, args: Sequence[Any]) -> Any:
        """The result of a function: one value, or a tuple."""
        found = self.call(function.graph, args)
        return found[0] if len(found) == 1 else tuple(found)

    def block(self, block: Block, env: dict[Value, Any]) -> None:
        for node in block.nodes:
            self.count += 1
            if self.count % 256 == 0:
                budgets.look()
            outer = self.at
            if node.span is not None and not self.is_backward:
                self.at = node
            results = self.node(node, env)
            self.at = outer
            for v, result in zip(node.outputs, results, strict=True):
                env[v] = result

    def node(self, node: Node, env: dict[Value, Any]) -> Sequence[Any]:
        """The values of a node's outputs."""
        kind = node.kind
        if kind == "prim::Constant":
            return (self.known(node.attributes.get("value"), node.output.type),)
        args = [env[v] for v in node.inputs]
        if node.schema is not None:
            operator = table.find(node.schema.name, node.schema.overload)
            if operator is None:
                raise NotStraight(f"{node.qualified_name} is not known")
            return as_results(self.operator(operator, args), len(node.outputs))
        if kind == "prim::If":
            return branch(self, node, args[0], env)
        if kind == "prim::Loop":
            return self.loop(node, args, env)
        if kind in PASSES_ON:
            return (self.cast(node, args[0]),)
        handler = containers.KINDS.get(kind)
        if handler is not None:
            return handler(self, node, args)
        if kind in ("prim::CallFunction", "prim::CallMethod"):
            function = callee(node)
            if function is not None and not function.is_defining:
                return self.call(function.graph, args)
        if kind == "prim::GetAttr":
            return (self.attribute(args[0], node.attributes["name"], node.output.type),)
        if kind == "prim::RaiseException":
            raise Ended(node, args)
        raise NotStraight(f"{kind.partition('::')[2]} is no step of a straight program")

    def cast(self, node: Node, arg: Any) -> Any:
        """The value of a node that only refines a type."""
        type = node.output.type
        if not isinstance(arg, Unknown) or arg.value.type == type:
            return arg
        made = self.insert(node.kind, [arg.value], [type])
        self.facts.node(made)
        return self.foreign(made.output)

    def foreign(self, v: Value) -> Any:
        """A value that may share its memory with objects unknown to the evaluator."""
        if isinstance(v.type, T.ClassType):
            return Object(v)
        made = self.wrapped(v)
        if isinstance(made, Tensor):
            made.is_outside = True
        return made

    def loop(self, node: Node, args: list[Any], env: dict[Value, Any]) -> list[Any]:
        """The results of a loop, which is unrolled."""
        body = node.blocks[0]
        count, goes_on, *carried = args
        turn = 0
        while True:
            if not (is_known(count) and is_known(goes_on)):
                raise NotStraight(f"how often a loop turns depends on elements{place(node)}")
            if not goes_on or turn >= count:
                return carried
            if self.count > MOST_NODES:
                raise NotStraight(f"a loop makes more than {MOST_NODES} steps{place(node)}")
            env.update(zip(body.parameters, [turn, *carried], strict=True))
            self.block(body, env)
            goes_on, *carried = (env[v] for v in body.returns)
            turn += 1

    def attribute(self, owner: Any, name: str, type: T.Type) -> Any:
        """The value of an attribute.
        For a known object it is the value that the attribute has now."""
        if isinstance(owner, Object):
            v = self.insert("prim::GetAttr", [owner.value], [type], attributes={"name": name})
            self.facts.node(v)
            return self.foreign(v.output)
        if not isinstance(owner, Module):
            raise NotStraight(f"the attribute {name} of an object that is not known is read")
        key = id(owner.found), name
        if key not in self.attributes:
            value = owner.found.get(name)
            if isinstance(value, (Constant, ScriptObject)):
                made = self.emit_first("prim::GetAttr", [owner.value], type, {"name": name})
                self.attributes[key] = (
                    Module(made, value)
                    if isinstance(value, ScriptObject)
                    else self.tensor(made, value)
                )
            else:
                self.read.append((owner.found, name, value))
                self.attributes[key] = self.lasts(self.known(value, type))
        return self.attributes[key]

    def lasts(self, made: Any) -> Any:
        """Note that an attribute holds a container, and those in it; returns the container."""
        if isinstance(made, (list, dict)):
            self.lasting[id(made)] = made
        if isinstance(made, (list, tuple, dict)):
            for part in made.values() if isinstance(made, dict) else made:
                self.lasts(part)
        return made

    # Operators

    def operator(self, operator: table.Operator, args: list[Any]) -> Any:
        """The result of an operator: one value, or a tuple of several."""
        name = operator.name
        if name in asking.SPECIAL:
            return asking.SPECIAL[name](self, args)
        if name == "aten::tensor" and args[-1] is not False:
            return asking.leaf(self, operator, args)
        if operator.facts.looks_back or name in APART:
            raise NotStraight(f"{name} looks at what tensors remember")
        schema = operator.schema
        if containers.is_generic(operator):
            return containers.run(self, operator, args)
        if schema.is_mutable:
            return writes.write(self, operator, args)
        gives_tensors = any(T.TENSOR in r.type.walk() for r in schema.returns)
        if not gives_tensors and is_known(args) and not operator.facts.effect:
            if not self.inside:
                return containers.computed(operator, args)
            try:
                return containers.computed(operator, args)
            except NotStraight:  # the run raises the error if it gets here
                results = self.emit(operator, args)
                return results[0] if len(results) == 1 else tuple(results)
        if name == "aten::result_type":
            known = self.facts.of_types(operator, args, self.value)
            if known is not None:
                return known
        if gives_tensors and is_known(args):
            made = containers.made_ahead(operator, args)
            if made is not None:
                return self.known(made, T.TENSOR)
        simple = simplify.simplified(self, operator, args)
        if simple is not None:
            return simple
        active = self.records and any(t.active for t in tensors_in(args))
        rule = rule_of(operator) if active else None
        is_inlined = operator.makers[:1] == BACKWARD and not operator.facts.fusible
        if operator.is_composite and (active and rule is None or is_inlined):
            return self.function(operator.compile_body(), args)
        if rule is not None and rule.instead is not None:
            return self.instead(rule.instead, args)
        results = self.emit(operator, args)
        if active and gives_tensors and not (rule and rule.is_none):
            self.note(operator, rule, args, results)
        writes.note_views(self, operator, args, results)
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, name: str, *args: Any) -> Any:
        """The result of the operator with a qualified name; missing arguments are defaults."""
        operator = table.find(*name.split(".")) if "." in name else table.find(name)
        assert operator is not None, name
        rest = [a.default_value for a in operator.schema.arguments[len(args) :]]
        return self.operator(operator, [*args, *rest])

    def instead(self, expression: Expression, args: list[Any]) -> Any:
        schema = expression.rule.operator.schema
        taken = [args[schema.index(name)] for name in expression.names]  # type: ignore[index]
        return self.function(expression.compiled(), taken)

    def note(
        self, operator: table.Operator, rule: Rule | None, args: list[Any], results: list[Any]
    ) -> None:
        """Record a step that derivatives go through."""
        found = False
        if any(isinstance(r, Unknown) and T.TENSOR in r.value.type.walk() for r in results):
            raise NotStraight(f"how many tensors there are is not known{self.place()}")
        for t in tensors_in(results):
            dtype = self.facts.dtype(t.value)
            if dtype is None or dtype.kind in "fc":
                t.active = found = True
        if not found:
            return
        if self.inside:
            raise NotStraight(f"a derivative goes through a branch{self.place()}")
        values = [mapped(r, lambda t: t.value if isinstance(t, Tensor) else None) for r in results]
        node = next(tensors_in(results)).value.node
        frozen = mapped(args, self.frozen)
        held = [*tensors_in(args), *tensors_in(results)]
        memory = {self.value(t): (t.root, t.root.writes) for t in held}
        self.entries.append(Entry(operator, rule, frozen, values, node, memory))
        self.recorded.update(t.value for t in tensors_in(results))

    def frozen(self, part: Any) -> Any:
        """The tensor as it is now: later writes do not change the copy."""
        return Tensor(self.value(part), part.active) if isinstance(part, Tensor) else part

    # Nodes

    def emit(self, operator: table.Operator, args: list[Any]) -> list[Any]:
        """Insert a node for an operator and return its results."""
        schema = operator.schema
        inputs = [
            self.materialized(a, T.ANY if s is None else s.type)
            for a, s in zip_longest(args, schema.arguments)  # more arguments: schema.is_vararg
        ]
        types = [r.type for r in schema.returns]
        if any(map(has_variables, types)):
            found: dict[str, T.Type] = {}
            for v, a in zip(inputs, schema.arguments):
                bind_variables(a.type, v.type, found)
            types = [substitute(t, found) for t in types]
        node = self.insert(operator.name, inputs, types, schema=schema)
        self.facts.node(node)
        results = [self.wrapped(v) for v in node.outputs]
        has_effect = operator.facts.effect or operator.facts.random or schema.takes_generator
        if is_known(results) and results and not has_effect:
            node.destroy()
        return results

    def insert(self, kind: str, inputs: Any, types: Any, **more: Any) -> Node:
        if self.count > MOST_NODES:
            raise NotStraight(f"there are more than {MOST_NODES} steps")
        return self.graph.insert(kind, inputs, types, like=self.at, **more)

    def emit_first(self, kind: str, inputs: list[Value], type: T.Type, attributes: Any) -> Value:
        """Insert a node at the start of the graph, where all others may use it."""
        first = self.graph.block.start.next
        while inputs and first.kind in ("prim::Constant", "prim::GetAttr"):
            first = first.next
        with self.graph.at(first):
            return self.insert(kind, inputs, [type], attributes=attributes).output

    def wrapped(self, v: Value) -> Any:
        """The output of a node in the evaluator's representation."""
        if v.type == T.TENSOR:
            return Tensor(v)
        fact = self.facts.get(v)
        if is_fact_known(fact):
            return mapped(listed(fact, v.type), lambda part: part)
        if isinstance(v.type, T.ListType) and isinstance(fact, tuple):
            if v.type.element == T.TENSOR:
                node = self.insert("prim::ListUnpack", [v], [T.TENSOR] * len(fact))
                self.facts.node(node)
                return [Tensor(out) for out in node.outputs]
            if v.type.element == T.INT:
                return [
                    part if type(part) is int else self.run("aten::__getitem__.t", Unknown(v), i)
                    for i, part in enumerate(fact)
                ]
        return Unknown(v)

    def known(self, value: Any, type: T.Type) -> Any:
        """A constant in the evaluator's representation."""
        if isinstance(value, Constant):
            v = self.constant(value, T.TENSOR)
            found = self.attributes.get((id(value), ""))
            if found is None:
                found = self.attributes[id(value), ""] = self.tensor(v, value)
            return found
        if isinstance(value, (list, tuple, dict)):
            return mapped(value, lambda part: self.known(part, type))
        if isinstance(value, ScriptObject):
            raise NotStraight("an object is a constant")
        return value

    def tensor(self, v: Value, value: Constant | None = None) -> Tensor:
        """A tensor whose memory others hold: an argument or a constant."""
        from ..shape_facts import tensor_facts

        fact = UNKNOWN if value is None else tensor_facts(value._size, value.dtype)
        self.facts.put(v, fact)
        made = Tensor(v, is_outside=True)
        self.outside.append((made, v))
        return made

    def constant(self, value: Any, type: T.Type) -> Value:
        key = (id(value) if isinstance(value, Constant) else (type_key(value), repr(value)), type)
        found = self.constants.get(key)
        if found is None:
            found = self.emit_first("prim::Constant", [], type, {"value": value})
            self.constants[key] = found
            self.facts.node(found.node)
        return found

    def value(self, tensor: Tensor) -> Value:
        """The value that now holds the elements of a tensor."""
        return writes.current(self, tensor)

    def materialized(self, value: Any, type: T.Type) -> Value:
        """A value of the graph for one of the evaluator."""
        if isinstance(value, Tensor):
            return self.value(value)
        if isinstance(value, Unknown):
            return value.value
        if value is None:
            return self.constant(None, T.NONE)
        inner = T.without_none(type)
        if isinstance(value, list):
            if not isinstance(inner, T.ListType):
                inner = T.ListType(guessed(value))
            if is_known(value) and T.TENSOR not in inner.walk():
                return self.constant(value, concrete(inner, value))
            items = [self.materialized(part, inner.element) for part in value]
            if has_variables(inner):
                inner = T.ListType(items[0].type)
            return self.composed("prim::ListConstruct", items, inner)
        if isinstance(value, tuple):
            types = inner.elements if isinstance(inner, T.TupleType) else (T.ANY,) * len(value)
            items = [self.materialized(part, t) for part, t in zip(value, types)]
            if not isinstance(inner, T.TupleType):
                inner = T.TupleType(tuple(v.type for v in items))
            return self.composed("prim::TupleConstruct", items, inner)
        if isinstance(value, dict):
            if not isinstance(inner, T.DictType):
                raise NotStraight("a dict is passed on")
            items = [
                self.materialized(part, t)
                for pair in value.items()
                for part, t in zip(pair, (inner.key, inner.value))
            ]
            return self.composed("prim::DictConstruct", items, inner)
        return self.constant(value, scalar_type(value))

    def composed(self, kind: str, items: list[Value], type: T.Type) -> Value:
        node = self.insert(kind, items, [type])
        self.facts.node(node)
        return node.output

    def place(self) -> str:
        return "" if self.at is None else place(self.at)


def place(node: Node) -> str:
    return f", at {node.span.place}" if node.span is not None else ""


def as_results(result: Any, count: int) -> Sequence[Any]:
    """The result of an operator as a sequence with one item per output of its node."""
    if count == 1:
        return (result,)
    return result if count else ()


def listed(fact: Any, type: T.Type) -> Any:
    """A fact as a value; a fact is a tuple where the type says list."""
    inner = T.without_none(type)
    if isinstance(fact, tuple):
        if isinstance(inner, T.ListType):
            return [listed(part, inner.element) for part in fact]
        if isinstance(inner, T.TupleType):
            return tuple(listed(part, t) for part, t in zip(fact, inner.elements))
    return fact


def type_key(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(type_key, value))
    return type(value)


def scalar_type(value: Any) -> T.Type:
    from ...objects import Device
    from ...types import constant_type

    if isinstance(value, Device):
        return T.DEVICE
    try:
        return constant_type(value)
    except TypeError:
        raise NotStraight(f"a {type(value).__name__} is passed on") from None


def guessed(value: list[Any]) -> T.Type:
    """The element type of a list, found from its elements."""
    if not value:
        return T.TENSOR
    if isinstance(value[0], Tensor):
        return T.TENSOR
    if isinstance(value[0], list):
        return T.ListType(guessed(value[0]))
    return value[0].value.type if isinstance(value[0], Unknown) else scalar_type(value[0])


def concrete(type: T.ListType, value: list[Any]) -> T.Type:
    return type if not has_variables(type) else T.ListType(guessed(value))
