"""Compute once what is made of constants alone: weights that a module normalises or scales.

    %w : Tensor = aten::batch_norm(%weight, ...)   ->   %w : Tensor = prim::Constant[value=...]()

For frozen modules, whose weights are constants.  Left alone: what draws random numbers or has other
effects, memory that is written or that code outside may see, results much larger than what they are
made of, and views of weights as such, which cost nothing and which other passes know.
"""

from __future__ import annotations

from typing import Iterator

from .. import types as T
from ..ir import Graph, Node, Value
from ..ops import table
from ..tensors import Tensor
from .alias import AliasAnalysis
from .effects import has_side_effects

SMALL = 1 << 16
"""Bytes that a result may have whatever it is made of."""


def run(graph: Graph) -> bool:
    candidates = [n for n in graph.walk() if may_fold(n)]
    if not candidates:
        return False
    analysis = AliasAnalysis(graph)
    known: dict[Value, Tensor] = {}                  # what depends on constants alone
    made: set[Value] = set()                         # of these, what is not a view of a weight
    for node in candidates:
        inputs = [values for v in node.inputs for values in constants_of(v, known, analysis)]
        held = [v for v in (*node.inputs, *node.outputs) if v.type == T.TENSOR]
        if len(inputs) < len(node.inputs) or analysis.is_written(*held):
            continue
        is_made = not is_view(node) or any(v in made for v in node.inputs)
        value = None if is_made and analysis.escapes(node.output) else computed(node, inputs)
        if value is not None:
            known[node.output] = value
            if is_made:
                made.add(node.output)
    for v in made:
        with graph.at(v.node):
            constant = graph.constant(known[v].contiguous(), v.type, like=v.node)
        v.replace_all_uses_with(constant)
        v.node.destroy()
    return bool(made)


def constants_of(v: Value, known: dict[Value, Tensor], analysis: AliasAnalysis) -> list:
    """The value that a value always has, as a list of one; empty where that is not known."""
    if v in known:
        return [known[v]]
    if v.is_constant:
        return [v.constant]
    if v.node.kind == "prim::ListConstruct" and not v.is_parameter and \
            all(i.is_constant for i in v.node.inputs) and not analysis.is_written(v):
        return [[i.constant for i in v.node.inputs]]
    return []


def may_fold(node: Node) -> bool:
    schema = node.schema
    return (not node.blocks and schema is not None and not schema.is_mutable
            and len(node.outputs) == 1 and node.output.type == T.TENSOR
            and not has_side_effects(node))


def is_view(node: Node) -> bool:
    """Whether the result may be memory of an input."""
    return any(r.alias is not None for r in node.schema.returns)


def computed(node: Node, inputs: list) -> Tensor | None:
    """What the node gives; None where no one knows, or where that is too large."""
    operator = table.find(node.schema.name, node.schema.overload)
    if operator is None or operator.kernel is None:
        return None
    try:
        value = operator.kernel(*inputs)
    except Exception:
        return None                                  # the run raises it, if it gets there
    if type(value) is not Tensor:
        return None
    given = sum(size_of(t) for t in tensors_in(inputs))
    return value if size_of(value) <= max(SMALL, 2 * given) else None


def tensors_in(values: list) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list):
            yield from tensors_in(value)


def size_of(t: Tensor) -> int:
    return t.numel() * t.element_size()
