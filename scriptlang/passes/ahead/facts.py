"""Shapes and dtypes of the values of a straight graph, found while it grows."""

from __future__ import annotations

import math
from typing import Any

from ... import types as T
from ...dtypes import DType
from ...ir import Graph, Node, Value
from ...ops import table
from ...ops.calling import functions
from ...ops.shared.generator import default_generator
from ...tensors import Tensor
from ..shape_facts import Fact, TensorFacts, fact_of, is_known
from ..shape_rules import rule_of
from ..shapes import Names, Propagation
from . import values as V


class Nothing:
    """Stands for the alias analysis of a graph that writes no list and resizes no tensor."""

    written = 0

    def of(self, value: Any) -> int:
        return 0

    def seen(self, places: int) -> int:
        return 0

    def reached(self, values: Any) -> int:
        return 0

    def is_written(self, *values: Value) -> bool:
        return False


class Growing(Propagation):
    """The facts of a growing graph; `node` is called for each node that is appended."""

    def __init__(self, graph: Graph) -> None:
        analysis: Any = Nothing()
        self.graph, self.analysis = graph, analysis
        self.facts: dict[Value, Fact] = {}
        self.known, self.made = {}, {}
        self.outer = self.home = None
        self.depth = self.reshaped = 0
        self.names = Names(())

    def tensor(self, value: Value) -> TensorFacts:
        fact = self.get(value)
        return fact if isinstance(fact, TensorFacts) else TensorFacts(None, None, -1)

    def dtype(self, value: Value) -> DType | None:
        return self.tensor(value).dtype

    def shape(self, value: Value) -> tuple[Any, ...] | None:
        return self.tensor(value).shape

    def node(self, node: Node) -> None:
        super().node(node)
        if any(map(self.is_open, node.outputs)):
            self.try_out(node)

    def of_types(self, operator: table.Operator, args: list[Any], value: Any) -> Any:
        """The result of an operator that only looks at dtypes and ranks; None if unknown."""
        made = []
        for arg in args:
            if not isinstance(arg, V.Tensor):
                made.append(arg)
                continue
            fact = self.tensor(value(arg))
            if fact.dtype is None or not isinstance(fact.rank, int) or fact.rank < 0:
                return None
            made.append(functions.zeros([1] * fact.rank, dtype=fact.dtype.code))
        kernel: Any = operator.kernel
        return kernel(*made) if not any(map(is_left, made)) else None

    def is_open(self, v: Value) -> bool:
        """Whether something about an output is unknown: a shape, or the length of a list."""
        if v.type == T.TENSOR:
            return self.shape(v) is None
        return v.type == T.ListType(T.TENSOR) and not isinstance(self.get(v), tuple)

    def try_out(self, node: Node) -> None:
        """Find the facts of an operator without a rule by running it on zeros.
        All sizes have to be known, and only they may decide the sizes of the results."""
        schema = node.schema
        if schema is None or schema.is_mutable:
            return
        operator = table.find(schema.name, schema.overload)
        if operator is None or operator.facts.effect or operator.facts.dynamic_shape:
            return
        if operator.kernel is None:
            return
        facts = [self.get(v) for v in node.inputs]
        if not all(map(is_exact, facts)) or rule_of(schema.name, schema.overload) is not None:
            return
        if sum(map(elements, facts)) > MOST_ELEMENTS:
            return
        result = tried(operator.kernel, facts)
        if result is None:
            return
        results = result if len(node.outputs) > 1 else (result,)
        for v, r in zip(node.outputs, results, strict=True):
            if isinstance(r, (Tensor, list)):
                self.put(v, fact_of(r))


def tried(kernel: Any, facts: list[Fact]) -> Any:
    """The result of a kernel for zeros, or for identity matrices if it rejects zeros; else None."""
    state = default_generator.snapshot()
    try:
        for diagonal in (0, 1):
            try:
                return kernel(*(example(f, diagonal) for f in facts))
            except Exception:
                continue  # the kernel rejects such elements
        return None
    finally:
        default_generator.restore(state)


def is_left(value: Any) -> bool:
    return isinstance(value, V.Unknown)


MOST_ELEMENTS = 1 << 20
"""The most elements of all tensors on which an operator is tried."""


def is_exact(fact: Fact) -> bool:
    """Whether everything except the elements is known."""
    if isinstance(fact, TensorFacts):
        return fact.is_exact and fact.dtype is not None
    if isinstance(fact, tuple):
        return all(map(is_exact, fact))
    return is_known(fact)


def elements(fact: Fact) -> int:
    if isinstance(fact, tuple):
        return sum(map(elements, fact))
    shape: Any = fact.shape or () if isinstance(fact, TensorFacts) else (0,)
    return math.prod(shape)


def example(fact: Fact, diagonal: int) -> Any:
    """A value that has the facts.
    Tensors are zeros, with `diagonal` on the diagonal of matrices."""
    if isinstance(fact, tuple):
        return [example(part, diagonal) for part in fact]
    if isinstance(fact, TensorFacts):
        assert fact.dtype is not None
        assert fact.shape is not None
        made = functions.zeros(list(fact.shape), dtype=fact.dtype.code)
        if diagonal and len(fact.shape) >= 2:
            functions.diagonal(made, 0, -2, -1).fill_(diagonal)
        return made
    return fact
