"""Computes once what depends on constants only, such as weights that a module normalises.

    %w : Tensor = aten::batch_norm(%weight, ...)   ->   %w : Tensor = prim::Constant[value=...]()

This is for frozen modules, whose weights are constants. Not computed are nodes that draw random
numbers or have other effects, memory that is written or visible outside, and plain views of
weights, which cost nothing and which other passes know. `Budget` limits how much this pass
computes, since programs may come from untrusted files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .. import logs
from .. import types as T
from ..allocations import asked_first
from ..errors import LimitError
from ..ir import Graph, Node, Value
from ..ops import table
from ..ops.calling.kernels import numpy_only
from ..tensors import Tensor
from .alias import AliasAnalysis
from .conditions import unwritten
from .effects import has_side_effects

NAME = "fold_weights"

SMALL = 1 << 20
"""The bytes of results that any graph may have."""

ROOM = 8
"""The working memory of an operator is limited to this many times the bytes still available."""

READINGS = 64
"""Operators may read at most this many times the bytes of results that are available."""


class Budget:
    """How much may still be computed for a graph.

    bytes: how many bytes further results may have; at first twice the bytes of the weights, or
    SMALL.
    reading: how many bytes of tensors operators may still read.
    """

    def __init__(self, weights: Iterable[Tensor]) -> None:
        memory = {id(t._storage): t._storage.nbytes for t in weights}
        self.bytes = max(SMALL, 2 * sum(memory.values()))
        self.reading = READINGS * self.bytes

    def computed(self, node: Node, inputs: list[Any]) -> Tensor | None:
        """The result of the node; None if it is no tensor, too expensive, or an error."""
        assert node.schema is not None
        operator = table.find(node.schema.name, node.schema.overload)
        self.reading -= sum(map(size_of, tensors_in(inputs)))
        if self.reading < 0 or operator is None or operator.kernel is None:
            return None
        try:
            with numpy_only(), asked_first(self.allow, ROOM * self.bytes):
                value = operator.kernel(*inputs)
        except Exception:
            return None  # the run raises the error, if it gets here
        return value if type(value) is Tensor else None

    def allow(self, size: int) -> None:
        if size > ROOM * self.bytes:
            raise LimitError(f"{size:,} bytes are too much to be computed ahead")

    def takes(self, value: Tensor) -> bool:
        """Whether one more result fits; its bytes are subtracted."""
        if size_of(value) > self.bytes:
            return False
        self.bytes -= size_of(value)
        return True


def run(graph: Graph) -> bool:
    candidates = [n for n in graph.walk() if may_fold(n)]
    if not candidates:
        return False
    analysis = AliasAnalysis(graph)
    budget = Budget(tensors_in(v.constant for n in candidates for v in n.inputs if v.is_constant))
    known: dict[Value, Tensor] = {}  # the values that depend on constants alone
    made: set[Value] = set()  # those of them that are not just views of weights
    for node in candidates:
        inputs = [values for v in node.inputs for values in constants_of(v, known, analysis)]
        held = [v for v in (*node.inputs, *node.outputs) if v.type == T.TENSOR]
        if len(inputs) < len(node.inputs):
            continue  # most nodes: it is no miss
        is_made = not is_view(node) or any(v in made for v in node.inputs)
        why = unwritten(analysis, *held)
        if why is None and is_made and analysis.escapes(node.output):
            why = "code outside would see that the result is the same tensor each time"
        if logs.missed(node, NAME, why):
            continue
        value = budget.computed(node, inputs)
        if value is None or is_made and not budget.takes(value):
            logs.missed(node, NAME, "it fails, has no kernel, or its result is too large to keep")
            continue
        known[node.output] = value
        if is_made:
            made.add(node.output)
    for v in made:
        with graph.at(v.node):
            constant = graph.constant(alone(known[v]), v.type, like=v.node)
        v.replace_all_uses_with(constant)
        v.node.destroy()
    return bool(made)


def alone(value: Tensor) -> Tensor:
    """The tensor itself, or a copy if the tensor would keep a larger storage alive."""
    return value if value._storage.nbytes <= size_of(value) else value.clone()


def constants_of(v: Value, known: dict[Value, Tensor], analysis: AliasAnalysis) -> list[Any]:
    """The constant that a value always is, in a list; an empty list if it is unknown."""
    if v in known:
        return [known[v]]
    if v.is_constant:
        return [v.constant]
    if (
        v.node.kind == "prim::ListConstruct"
        and not v.is_parameter
        and all(i.is_constant for i in v.node.inputs)
        and not analysis.is_written(v)
    ):
        return [[i.constant for i in v.node.inputs]]
    return []


def may_fold(node: Node) -> bool:
    schema = node.schema
    return (
        not node.blocks
        and schema is not None
        and not schema.is_mutable
        and len(node.outputs) == 1
        and node.output.type == T.TENSOR
        and not has_side_effects(node)
    )


def is_view(node: Node) -> bool:
    """Whether the result may share memory with an input."""
    return any(r.alias is not None for r in node.schema.returns) if node.schema else False


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list):
            yield from tensors_in(value)


def size_of(t: Tensor) -> int:
    return t.numel() * t.element_size()
