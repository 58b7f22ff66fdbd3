"""Compute once what depends on constants only: weights that a module normalises or scales.

    %w : Tensor = aten::batch_norm(%weight, ...)   ->   %w : Tensor = prim::Constant[value=...]()

For frozen modules, whose weights are constants.  Not computed: nodes that draw random numbers or
have other effects, memory that is written or visible outside, and plain views of weights, which
cost nothing and which other passes know.  `Budget` limits what a file can make this pass compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .. import types as T
from ..allocations import asked_first
from ..errors import LimitError
from ..ir import Graph, Node, Value
from ..ops import table
from ..tensors import Tensor
from .alias import AliasAnalysis
from .effects import has_side_effects

SMALL = 1 << 20
"""Bytes that may be made for any graph."""

ROOM = 8
"""Working memory of an operator: at most so many times the bytes that may still be made."""

READINGS = 64
"""Bytes that operators may read: so many times the bytes that may be made."""


class Budget:
    """What may be computed for a graph.

    bytes: how many bytes all results may still have; at first twice the bytes of the weights.
    reading: how many bytes of tensors operators may still read.
    """

    def __init__(self, weights: Iterable[Tensor]) -> None:
        memory = {id(t._storage): t._storage.nbytes for t in weights}
        self.bytes = max(SMALL, 2 * sum(memory.values()))
        self.reading = READINGS * self.bytes

    def computed(self, node: Node, inputs: list[Any]) -> Tensor | None:
        """The results of the node; None if they are not known or too expensive to compute."""
        assert node.schema is not None
        operator = table.find(node.schema.name, node.schema.overload)
        self.reading -= sum(map(size_of, tensors_in(inputs)))
        if self.reading < 0 or operator is None or operator.kernel is None:
            return None
        try:
            with asked_first(self.allow, ROOM * self.bytes):
                value = operator.kernel(*inputs)
        except Exception:
            return None  # the run raises it, if it gets there
        return value if type(value) is Tensor else None

    def allow(self, size: int) -> None:
        if size > ROOM * self.bytes:
            raise LimitError(f"{size:,} bytes are too much to be computed ahead")

    def takes(self, value: Tensor) -> bool:
        """Whether there is room for one more result."""
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
    known: dict[Value, Tensor] = {}  # what depends on constants alone
    made: set[Value] = set()  # of these, what is not a view of a weight
    for node in candidates:
        inputs = [values for v in node.inputs for values in constants_of(v, known, analysis)]
        held = [v for v in (*node.inputs, *node.outputs) if v.type == T.TENSOR]
        if len(inputs) < len(node.inputs) or analysis.is_written(*held):
            continue
        is_made = not is_view(node) or any(v in made for v in node.inputs)
        if is_made and analysis.escapes(node.output):
            continue
        value = budget.computed(node, inputs)
        if value is None or is_made and not budget.takes(value):
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
    """The tensor, or a copy of it if it would keep a larger storage alive."""
    return value if value._storage.nbytes <= size_of(value) else value.clone()


def constants_of(v: Value, known: dict[Value, Tensor], analysis: AliasAnalysis) -> list[Any]:
    """The constant that a value always is, in a list; an empty list if it is not known."""
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
    """Whether the result may be memory of an input."""
    return any(r.alias is not None for r in node.schema.returns) if node.schema else False


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list):
            yield from tensors_in(value)


def size_of(t: Tensor) -> int:
    return t.numel() * t.element_size()
