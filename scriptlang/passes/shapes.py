"""Shapes, dtypes and sizes of the values of a graph, before it runs.

    facts = propagate(graph, {graph.inputs[0]: tensor_facts((symbol("s0"), 3, 8, 8), float32)})
    facts[v]        TensorFacts(...), a size, a tuple of facts, ... or UNKNOWN (shape_facts.py)

Sizes are integers or expressions of symbols. Each unknown size is a new symbol, so that equal sizes
can be recognised. Branches are joined, loops are followed to a fixed point, and the consequences of
checks (`if x.dim() != 4: raise`) are known after them. Rules for operators are in shape_rules.
Every fact holds in every run that reaches its value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from .. import types as T
from ..dtypes import DType
from ..ir import Block, Graph, Node, Value
from ..ops import table
from ..schema import Schema
from .alias import AliasAnalysis
from .effects import FUSED, PASSES_ON, always_raises, has_side_effects, is_opaque, is_random
from .shape_facts import (
    NOTHING,
    UNKNOWN,
    Fact,
    TensorFacts,
    Unknown,
    fact_of,
    is_known,
    is_size,
    map_sizes,
    same,
)
from .shape_rules import Call, Rule, Several, rule_of
from .shape_rules.types import kernel_types
from .sizes import Expression, Size, Symbol, TooLong, sub, substitute, symbol, symbols_of

MOST_TURNS = 12
"""How often the body of a loop is visited; facts that still change after that become unknown."""

MOST_CALLS = 8
"""How many nested calls of functions are followed."""


def propagate(graph: Graph, inputs: Mapping[Value, Fact] | None = None) -> Mapping[Value, Fact]:
    """The facts of all values of a graph, including those in blocks and in fused groups."""
    return Propagation(graph, inputs or {}).facts


SOME: dict[T.Type, Any] = {T.FLOAT: 0.5, T.INT: 1, T.BOOL: True}
"""A number of each type, for what depends on the types of numbers alone."""


class Propagation:
    """The facts of one graph, while they are being found.

    known: symbols whose value is determined by a check at the current node. made: symbols by what
    they stand for, so that visiting a node twice gives the same symbols.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[Value, Fact],
        outer: Propagation | None = None,
        home: Block | None = None,
    ) -> None:
        self.graph = graph
        self.facts: dict[Value, Fact] = {}
        self.known: dict[Symbol, int] = {}
        self.made: dict[Hashable, Expression] = {}
        self.outer, self.home = outer, home
        self.depth: int = outer.depth + 1 if outer else 0
        self.names: Names = outer.names if outer else Names(inputs.values())
        self.analysis = AliasAnalysis(graph)
        self.reshaped = 0
        for node in graph.walk():
            if may_reshape(node):
                self.reshaped |= self.analysis.writes(node)
        for v in graph.inputs:
            self.put(v, inputs.get(v, UNKNOWN))
        self.block(graph.block)

    # Facts

    def get(self, v: Value) -> Fact:
        """The fact of a value, with the symbols that checks have determined replaced."""
        fact = self.facts.get(v, UNKNOWN)
        if not self.known or fact is UNKNOWN or fact is NOTHING:
            return fact
        fact = map_sizes(fact, self.settled)
        if isinstance(fact, TensorFacts) and fact.shape is None and isinstance(fact.rank, int):
            shape = tuple(self.make(v, (v, "size", d)) for d in range(fact.rank))
            fact = TensorFacts(shape, fact.dtype, fact.rank)
        return fact

    def settled(self, size: Size) -> Size:
        found = substitute(size, self.known.get)
        return size if found is None else found

    def put(self, v: Value, fact: Fact) -> None:
        """Store a fact. Tensors and ints always get one, with new symbols if nothing is known."""
        if fact is NOTHING:
            self.facts[v] = fact
            return
        if memory_changes(self, v, fact):
            fact = UNKNOWN
        self.facts[v] = self.completed(v, fact, v.type, ())

    def completed(self, v: Value, fact: Fact, t: T.Type, path: tuple[Any, ...]) -> Fact:
        if t == T.TENSOR:
            if not isinstance(fact, TensorFacts):
                return TensorFacts(None, None, self.make(v, (v, "rank", path)))
            if fact.shape is None and fact.rank == -1:
                return TensorFacts(None, fact.dtype, self.make(v, (v, "rank", path)))
        elif t == T.INT and fact is UNKNOWN:
            return self.make(v, (v, "int", path), None)
        elif isinstance(t, T.TupleType):
            if fact is UNKNOWN:
                fact = (UNKNOWN,) * len(t.elements)
            if isinstance(fact, tuple) and len(fact) == len(t.elements):
                return tuple(
                    self.completed(v, f, e, (*path, i))
                    for i, (f, e) in enumerate(zip(fact, t.elements))
                )
        elif isinstance(t, T.ListType) and isinstance(fact, tuple):
            return tuple(self.completed(v, f, t.element, (*path, i)) for i, f in enumerate(fact))
        return fact

    def make(self, v: Value, key: Hashable, at_least: int | None = 0) -> Expression:
        """The symbol for a property of a value; the same key always gives the same symbol."""
        found = self.made.get(key)
        if found is None:
            home = self.home or v.node.block
            found = self.made[key] = self.names.new(at_least, home)
        return found

    # Walking

    def block(self, block: Block) -> None:
        known = dict(self.known)
        for node in block.nodes:
            self.node(node)
        self.known = known

    def node(self, node: Node) -> None:
        if node.kind == "prim::If":
            self.branch(node)
        elif node.kind == "prim::Loop":
            self.loop(node)
        elif node.blocks:
            self.unknown(node)
            for block in node.blocks:
                for v in block.parameters:
                    self.put(v, UNKNOWN)
                self.block(block)
        else:
            try:
                results = self.results(node)
            except (Unknown, TooLong):
                results = None
            if results is None or len(results) != len(node.outputs):
                self.unknown(node)
            else:
                for v, fact in zip(node.outputs, results):
                    self.put(v, fact)

    def unknown(self, node: Node) -> None:
        for v in node.outputs:
            self.put(v, UNKNOWN)

    def branch(self, node: Node) -> None:
        condition = self.get(node.inputs[0])
        taken = [
            block
            for block, truth in zip(node.blocks, (True, False))
            if condition is UNKNOWN or condition is truth
        ]
        for block, truth in zip(node.blocks, (True, False)):
            known = dict(self.known)
            self.learn(node.inputs[0], truth)
            self.block(block)
            self.known = known
        ending = [b for b in taken if not always_raises(b)] or taken
        if len(ending) == 1:
            self.learn(node.inputs[0], ending[0] is node.blocks[0])
        for i, v in enumerate(node.outputs):
            facts = [self.get(b.returns[i]) for b in ending]
            fact = facts[0]
            for other in facts[1:]:
                fact = self.join(fact, other, v, ())
            self.put(v, fact)

    def learn(self, condition: Value, truth: bool) -> None:
        """Note what follows from a condition being true or false."""
        node = condition.node
        if node.kind == "aten::__not__":
            self.learn(node.inputs[0], not truth)
        elif node.kind == ("aten::__and__" if truth else "aten::__or__"):
            for v in node.inputs:
                self.learn(v, truth)
        elif node.kind == ("aten::eq" if truth else "aten::ne") and len(node.inputs) == 2:
            a, b = map(self.get, node.inputs)
            if is_size(a) and is_size(b):
                self.settle(sub(a, b))

    def settle(self, zero: Size) -> None:
        """Note that a size is 0, if that determines a symbol."""
        if isinstance(zero, int) or len(zero.terms) != 1:
            return
        ((term, k),) = zero.terms
        if len(term) == 1 and isinstance(term[0], Symbol) and zero.constant % k == 0:
            self.known[term[0]] = -zero.constant // k

    def loop(self, node: Node) -> None:
        body = node.blocks[0]
        carried = [self.get(v) for v in node.inputs[2:]]
        turn = body.parameters[0]
        for _ in range(MOST_TURNS):
            self.put(turn, self.make(turn, (turn, "turn")))
            for v, fact in zip(body.parameters[1:], carried):
                self.put(v, fact)
            carried = [self.facts[v] for v in body.parameters[1:]]
            self.block(body)
            after = [
                self.join(a, self.get(b), v, ())
                for a, b, v in zip(carried, body.returns[1:], body.parameters[1:])
            ]
            if all(map(same, after, carried)):
                break
            carried = after
        else:
            carried = [UNKNOWN] * len(carried)
            for v in body.parameters[1:]:
                self.put(v, UNKNOWN)
            self.block(body)
        for v, fact in zip(node.outputs, carried):
            self.put(v, self.outside(fact, body, v, ()))

    def outside(self, fact: Fact, body: Block, v: Value, path: tuple[Any, ...]) -> Fact:
        """The part of a fact that holds after a loop. Symbols made in the loop body mean something
        else in each iteration, so they are replaced by new ones."""
        if is_size(fact):
            if all(s.home is None or not s.home.is_inside(body) for s in symbols_of(fact)):
                return fact
            return self.make(v, (v, "out", path), 0 if "size" in path else None)
        if isinstance(fact, tuple):
            return tuple(self.outside(f, body, v, (*path, i)) for i, f in enumerate(fact))
        if isinstance(fact, TensorFacts):
            shape = fact.shape and tuple(
                self.outside(s, body, v, (*path, i, "size")) for i, s in enumerate(fact.shape)
            )
            return TensorFacts(
                shape, fact.dtype, self.outside(fact.rank, body, v, (*path, "rank", "size"))
            )
        return fact

    def join(self, a: Fact, b: Fact, v: Value, path: tuple[Any, ...]) -> Fact:
        """What is known about a value that has one fact or the other."""
        if same(a, b) or b is NOTHING:
            return a
        if a is NOTHING:
            return b
        if is_size(a) and is_size(b):
            return self.make(v, (v, "join", path), 0 if "size" in path else None)
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return tuple(self.join(x, y, v, (*path, i)) for i, (x, y) in enumerate(zip(a, b)))
        if isinstance(a, TensorFacts) and isinstance(b, TensorFacts):
            dtype = a.dtype if a.dtype is b.dtype else None
            rank = self.join(a.rank, b.rank, v, (*path, "rank", "size"))
            if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
                return TensorFacts(None, dtype, rank)
            shape = tuple(
                self.join(x, y, v, (*path, i, "size"))
                for i, (x, y) in enumerate(zip(a.shape, b.shape))
            )
            return TensorFacts(shape, dtype, len(shape))
        return UNKNOWN

    # Nodes

    def results(self, node: Node) -> list[Fact] | None:
        """The facts of a node's outputs. If nothing is known, it returns None or raises Unknown."""
        kind = node.kind
        if kind == "prim::Constant":
            return [fact_of(node.attributes["value"])]
        if kind == "prim::Uninitialized":
            return [NOTHING]
        inputs = [self.get(v) for v in node.inputs]
        if kind in PASSES_ON:
            return inputs[:1]
        if kind in ("prim::ListConstruct", "prim::TupleConstruct"):
            return [tuple(inputs)]
        if kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            return list(inputs[0]) if isinstance(inputs[0], tuple) else None
        if kind == "prim::TupleIndex":
            return (
                [inputs[0][inputs[1]]]
                if isinstance(inputs[0], tuple)
                and is_known(inputs[1])
                and -len(inputs[0]) <= inputs[1] < len(inputs[0])
                else None
            )
        if kind == "prim::TupleSlice":
            beg, end = node.attributes["beg"], node.attributes["end"]
            return [inputs[0][beg:end]] if isinstance(inputs[0], tuple) else None
        body = called(node)
        if body is not None:
            return self.call(node, body, inputs)
        if node.schema is None or is_opaque(node):
            return None
        return self.operator(node, inputs)

    def call(self, node: Node, body: Graph, inputs: list[Fact]) -> list[Fact] | None:
        """The results of calling a graph.
        Facts inside it are kept if it is a subgraph of the node."""
        if self.depth >= MOST_CALLS or len(body.inputs) != len(inputs):
            return None
        inner = Propagation(body, dict(zip(body.inputs, inputs)), self, self.home or node.block)
        if "Subgraph" in node.attributes:
            self.facts.update(inner.facts)
        return [inner.get(v) for v in body.outputs]

    def operator(self, node: Node, inputs: list[Fact]) -> list[Fact] | None:
        schema = node.schema
        assert schema is not None
        if any(fact is NOTHING for fact in inputs):  # no run gets here
            return None
        operator = table.find(schema.name, schema.overload)
        form = operator.form if operator is not None else None
        if schema.is_mutable:
            if may_reshape(node) or len(node.outputs) != 1 or not written_first(schema):
                return None
            fact = inputs[0]
            return [
                TensorFacts(fact.shape, fact.dtype, fact.rank)
                if isinstance(fact, TensorFacts)
                else UNKNOWN
            ]
        if form is not None:  # copies of views, and writes on copies
            if form.kind in ("on_copy", "on_row_major_copy"):
                fact = inputs[0]
                return [TensorFacts(fact.shape, fact.dtype, fact.rank)]
            schema = form.base.schema
        constants = self.computed(node, inputs)
        if constants is not None:
            return constants
        rule = rule_of(schema.name, schema.overload)
        if rule is not None:
            return self.by_rule(rule, Call(node, schema, inputs, self.fresh_of(node)), node)
        if operator is not None and operator.is_composite and not is_random(node):
            return self.call(node, operator.compile_body().graph, inputs)
        return None

    def fresh_of(self, node: Node) -> Callable[..., Any]:
        """A function that makes the symbols of a node, in the order in which its rule asks."""
        count = iter(range(1 << 20))
        v: Any = node.outputs[0] if node.outputs else None
        return lambda: self.make(v, (v, "fresh", next(count)))

    def computed(self, node: Node, inputs: list[Fact]) -> list[Fact] | None:
        """The results of an operator on known values; None if tensors are involved or it fails."""
        if (
            not inputs
            or not all(map(is_known, inputs))
            or has_side_effects(node)
            or any(T.TENSOR in v.type.walk() for v in (*node.inputs, *node.outputs))
            or node.kind == "aten::hash"
        ):
            return None
        assert node.schema is not None
        operator = table.find(node.schema.name, node.schema.overload)
        if operator is None or operator.kernel is None or huge(node, inputs):
            return None
        try:
            result = operator.kernel(*(list_of(f) for f in inputs))
        except Exception:
            return None
        return [fact_of(r) for r in (result if len(node.outputs) > 1 else (result,))]

    def by_rule(self, rule: Rule, call: Call, node: Node) -> list[Fact] | None:
        try:
            result = rule.run(call)
        except (Unknown, ArithmeticError, LookupError, ValueError):
            result = None  # the operator fails for these sizes
        count = len(node.outputs)
        results = list(result) if isinstance(result, Several) else [result] * min(count, 1)
        if result is None:
            results = [None] * count
        if len(results) != count:
            return None
        types = self.types(rule.dtype, call, count, node)
        return [self.finished(r, v, t, rule, call) for r, v, t in zip(results, node.outputs, types)]

    def types(self, policy: Any, call: Call, count: int, node: Node) -> tuple[Any, ...]:
        if policy == "kernel":
            facts = list(call.facts)
            for i, v in enumerate(node.inputs):
                if facts[i] is UNKNOWN:  # a number's class is enough
                    facts[i] = SOME.get(v.type, UNKNOWN)
            return kernel_types(call.schema, facts, count)
        policy = policy if isinstance(policy, tuple) else (policy,) * count
        if len(policy) != count:
            return (None,) * count
        found = [f.dtype for f in call.tensors]
        meant = {"first": found[0] if found else None, "any": one_type(found, call)}
        return tuple(meant.get(p, p) if isinstance(p, str) else p for p in policy)

    def finished(self, result: Any, v: Value, dtype: Any, rule: Rule, call: Call) -> Fact:
        """The fact of a result: a tensor gets its dtype, and at least its rank."""
        if v.type != T.TENSOR:  # rules for tensors say nothing about numbers
            return result if result is not None and rule.dtype is None else UNKNOWN
        if isinstance(result, TensorFacts):
            if dtype is not None:
                result = TensorFacts(result.shape, dtype, result.rank, result.value)
            return result
        if result is not None:
            return TensorFacts(tuple(result), dtype, len(result))
        rank = self.rank(rule.ranks, call, v)
        if isinstance(rank, int) and rank >= 0:
            shape = tuple(self.make(v, (v, "size", d)) for d in range(rank))
            return TensorFacts(shape, dtype, rank)
        return TensorFacts(None, dtype, rank)

    def rank(self, policy: str | None, call: Call, v: Value) -> Size:
        """The rank of a result with unknown sizes; -1 if the rank is unknown too."""
        if isinstance(policy, int):
            return policy
        ranks = [f.rank for f in call.tensors]
        if ranks and (policy == "first" or policy == "meet" and len(set(ranks)) == 1):
            return ranks[0]
        return -1


def one_type(found: list[DType | None], call: Call) -> DType | None:
    """The dtype of tensors that must have the same one; only the tensor that is added to a fused
    layer may have another."""
    if call.has("added") and isinstance(call["added"], TensorFacts):
        return found[0] if len(set(found)) == 1 else None
    return next((t for t in found if t is not None), None)


class Names:
    """Makes symbols with names that are not taken."""

    def __init__(self, given: Iterable[Fact]) -> None:
        self.taken: set[str] = set()
        for fact in given:
            map_sizes(fact, self.note)
        self.count = 0

    def note(self, size: Size) -> Size:
        self.taken |= {s.name for s in symbols_of(size)}
        return size

    def new(self, at_least: int | None, home: Block | None) -> Expression:
        while True:
            name = f"s{self.count}" if at_least is not None else f"n{self.count}"
            self.count += 1
            if name not in self.taken:
                return symbol(name, at_least, home)


def memory_changes(state: Propagation, v: Value, fact: Fact) -> bool:
    """Whether a later write to a list, or to the shape or number of a tensor, could make a fact
    wrong."""
    if fact is UNKNOWN or is_size(fact) or v.is_constant and not isinstance(fact, TensorFacts):
        return False
    analysis = state.analysis
    if isinstance(fact, TensorFacts):
        return (
            bool(state.reshaped and analysis.seen(analysis.of(v)) & state.reshaped)
            or fact.value is not None
            and analysis.is_written(v)
        )
    if not isinstance(fact, tuple):
        return False
    if state.reshaped and analysis.reached([v]) & state.reshaped:
        return True
    return isinstance(T.without_none(v.type), T.ListType) and bool(
        analysis.seen(analysis.of(v)) & analysis.written
    )


def may_reshape(node: Node) -> bool:
    """Whether a node may change the shape or dtype of an existing tensor."""
    if node.blocks:
        return False
    if is_opaque(node):
        return True
    schema = node.schema
    if schema is None or not schema.is_mutable:
        return False
    operator = table.find(schema.name, schema.overload)
    return operator is None or operator.may_reshape


def written_first(schema: Schema) -> bool:
    """Whether an operator is an in-place operator that writes its first argument only
    (`x.add_(y)`)."""
    return schema.name.endswith("_") and [i for i, _ in schema.written] == [0]


def called(node: Node) -> Graph | None:
    """The graph that a node calls, if it is known."""
    body = node.attributes.get("Subgraph")
    if isinstance(body, Graph):
        return body if node.kind == FUSED else None
    function = node.attributes.get("function") if node.kind == "prim::CallFunction" else None
    if function is None or not function.is_defined:
        return None
    return function.graph


def list_of(fact: Fact) -> Any:
    """The value of a known fact; all tuples become lists."""
    return [list_of(f) for f in fact] if isinstance(fact, tuple) else fact


def huge(node: Node, inputs: list[Fact]) -> bool:
    """Whether an int input may make the result a very long string or list."""
    grows = any(v.type == T.STR or isinstance(v.type, T.ListType) for v in node.outputs)
    return grows and any(type(f) is int and f > 1024 for f in inputs)
