"""Graphs run node by node, with every value shown to a watcher; facts compared with what is seen.

`Comparison(facts)` takes each value where it is made and says what a fact got wrong.  A symbol is
what the first value that shows it says; in a loop, those of the body are forgotten each turn.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from scriptlang.interpreter.values import is_instance

from scriptlang.ir import Block, Graph, Node, Value
from scriptlang.ops import table
from scriptlang.passes.shape_facts import UNKNOWN, TensorFacts, is_size
from scriptlang.passes.sizes import Symbol, substitute
from scriptlang.tensors import Tensor

Watcher = Callable[[Value, Any], None]


UNINITIALIZED = object()
"""The value of what has none that counts."""


class NotRun(Exception):
    """A node that this small interpreter does not know."""


def run(graph: Graph, args: list, watch: Watcher, turn: Callable[[Block], None]) -> list:
    """The outputs of a graph; turn: called before each turn of a loop with its body."""
    values: dict[Value, Any] = dict(zip(graph.inputs, args, strict=True))
    for v, value in values.items():
        watch(v, value)
    with np.errstate(all="ignore"):
        return Run(values, watch, turn).block(graph.block)


class Run:
    """One run; `values` are those computed so far."""

    def __init__(self, values: dict[Value, Any], watch: Watcher, turn: Callable[[Block], None]):
        self.values, self.watch, self.turn = values, watch, turn

    def set(self, v: Value, value: Any) -> None:
        self.values[v] = value
        self.watch(v, value)

    def block(self, block: Block) -> list:
        for node in block.nodes:
            results = self.node(node)
            for v, value in zip(node.outputs, results, strict=True):
                self.set(v, value)
        return [self.values[v] for v in block.returns]

    def node(self, node: Node) -> list:
        inputs = [self.values[v] for v in node.inputs]
        if node.kind == "prim::Constant":
            value = node.attributes["value"]
            return [list(value) if type(value) is list else value]
        if node.kind == "prim::If":
            return self.block(node.blocks[0 if inputs[0] else 1])
        if node.kind == "prim::Loop":
            return self.loop(node.blocks[0], *inputs)
        if node.kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            return list(inputs[0])
        if node.kind in SIMPLE:
            return [SIMPLE[node.kind](node, *inputs)]
        if node.kind == "scriptlang::fused_pointwise":
            body = node.attributes["Subgraph"]
            self.values.update(zip(body.inputs, inputs))
            return self.block(body.block)
        return self.operator(node, inputs)

    def operator(self, node: Node, inputs: list) -> list:
        operator = node.schema and table.find(node.schema.name, node.schema.overload)
        if operator is None or operator.kernel is None:
            raise NotRun(node.kind)
        result = operator.kernel(*inputs)
        return [result] if len(node.outputs) == 1 else list(result or ())

    def loop(self, body: Block, most: int, condition: bool, *carried) -> list:
        carried, i = list(carried), 0
        while condition and i < most:
            self.turn(body)
            for v, value in zip(body.parameters, [i, *carried]):
                self.set(v, value)
            condition, *carried = self.block(body)
            i += 1
        return carried


def raised(node: Node, *inputs):
    raise NotRun(f"the program raises {inputs[0] if inputs else ''}")


SIMPLE = {
    "prim::ListConstruct": lambda node, *v: list(v),
    "prim::TupleConstruct": lambda node, *v: node.output.type.make(v),
    "prim::DictConstruct": lambda node, *v: dict(zip(v[::2], v[1::2])),
    "prim::TupleIndex": lambda node, v, i: v[i],
    "prim::TupleSlice": lambda node, v: v[node.attributes["beg"] : node.attributes["end"]],
    "prim::unchecked_cast": lambda node, v: v,
    "prim::unchecked_unwrap_optional": lambda node, v: v,
    "prim::Uninitialized": lambda node: UNINITIALIZED,
    "prim::GetAttr": lambda node, v: v.get(node.attributes["name"]),
    "prim::isinstance": lambda node, v: any(is_instance(v, t) for t in node.attributes["types"]),
    "prim::RaiseException": raised,
}


class Comparison:
    """What facts got wrong, and how much they say of tensors.

    wrong: texts.  seen, exact: tensors, and those whose shape the facts give wholly (as numbers
    or symbols); typed: those whose type they give.
    """

    def __init__(self, facts):
        self.facts = facts
        self.bound: dict[Symbol, int] = {}
        self.wrong: list[str] = []
        self.seen: dict[Value, bool] = {}
        self.shaped: set[Value] = set()
        self.numbers: set[Value] = set()
        self.typed: set[Value] = set()

    def turn(self, body: Block) -> None:
        self.bound = {
            s: n for s, n in self.bound.items() if s.home is None or not s.home.is_inside(body)
        }

    def __call__(self, v: Value, value: Any) -> None:
        fact = self.facts.get(v, UNKNOWN)
        if isinstance(value, Tensor) and not v.is_constant:
            self.seen[v] = True
            if isinstance(fact, TensorFacts):
                if fact.shape is not None:
                    self.shaped.add(v)
                if fact.is_exact:
                    self.numbers.add(v)
                if fact.dtype is not None:
                    self.typed.add(v)
        why = self.compare(fact, value)
        if why:
            self.wrong.append(f"{v.node.kind} %{v.name}: {fact}: {why}")

    def compare(self, fact: Any, value: Any) -> str | None:
        if fact is UNKNOWN or value is UNINITIALIZED:
            return None
        if isinstance(fact, TensorFacts):
            return self.tensor(fact, value)
        if isinstance(fact, tuple):
            if not isinstance(value, (list, tuple)) or len(value) != len(fact):
                return f"is {value!r}"
            return next((w for f, v in zip(fact, value) if (w := self.compare(f, v))), None)
        if is_size(fact):
            return self.size(fact, value)
        return (
            None
            if type(fact) is type(value) and (fact == value or fact != fact)
            else f"is {value!r}"
        )

    def tensor(self, fact: TensorFacts, value: Any) -> str | None:
        if not isinstance(value, Tensor):
            return f"is a {type(value).__name__}"
        if fact.dtype is not None and fact.dtype is not value.dtype:
            return f"has type {value.dtype}"
        if fact.shape is not None and len(fact.shape) != value.dim():
            return f"has shape {value._size}"
        pairs = [(fact.rank, value.dim()), *zip(fact.shape or (), value._size)]
        if fact.value is not None:
            pairs.append((fact.value, int(value.item())))
        if any(self.size(s, n) for s, n in pairs):
            return f"has shape {value._size}; { ({str(k): v for k, v in self.bound.items()}) }"
        return None

    def size(self, size: Any, n: Any) -> str | None:
        if type(n) is not int:
            return f"is {n!r}"
        if not isinstance(size, int):
            (term, k), *more = size.terms
            if (
                not more
                and len(term) == 1
                and isinstance(term[0], Symbol)
                and (n - size.constant) % k == 0
            ):
                self.bound.setdefault(term[0], (n - size.constant) // k)
            size = substitute(size, self.bound.get)
        if isinstance(size, int):
            return None if size == n else f"is {n}, not {size}"
        return None
