"""The work of the nodes of a graph, computed from known shapes without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import types as T
from ..dtypes import DType
from ..ir import Graph, Node, Value
from ..passes.shape_facts import Fact, TensorFacts
from .observer import is_observed
from .work import bytes_of, flops_of


@dataclass(frozen=True)
class Work:
    """The work of one node.

    name: the name of the result. gives: its type with shape. flops, bytes: None if sizes are
    unknown."""

    name: str
    operator: str
    gives: str
    flops: int | None
    bytes: int | None


def work_in(shaped: Any) -> Iterator[Work]:
    """The work of each operator of a ShapedGraph. The body of a loop counts once."""
    for node in shaped.graph.walk():
        if is_observed(node):
            flops, count = work_of(node, shaped.facts)
            gives = ", ".join(shaped.type_text(v) for v in node.outputs)
            name = ", ".join(f"%{v.name}" for v in node.outputs if v.name)
            yield Work(name, node.qualified_name, gives, flops, count)


def work_of(node: Node, facts: Mapping[Value, Fact]) -> tuple[int | None, int | None]:
    """Return (FLOPs, bytes) of a node; None if a shape is unknown."""
    inputs, outputs = tensors_in(node.inputs, facts), tensors_in(node.outputs, facts)
    if inputs is None or outputs is None:
        return None, None
    group = node.attributes.get("Subgraph")
    nodes = group.walk() if isinstance(group, Graph) else ()
    inside = [n.qualified_name for n in nodes if n.kind != "prim::Constant"]
    taken, given = [s for _, s in inputs], [s for _, s in outputs]
    return flops_of(node.qualified_name, taken, given, inside), bytes_of([*inputs, *outputs])


Tensors = list[tuple[DType, tuple[int, ...]]]


def tensors_in(values: Sequence[Value], facts: Mapping[Value, Fact]) -> Tensors | None:
    """The tensors among values, including those in lists; None if the shape of one is unknown."""
    found: Tensors = []
    for v in values:
        fact = facts.get(v)
        if v.type == T.ListType(T.TENSOR):
            parts = fact if isinstance(fact, tuple) else (None,)
        elif T.without_none(v.type) == T.TENSOR:
            if fact is None and v.type != T.TENSOR:
                continue  # an Optional that is None
            parts = (fact,)
        else:
            continue
        for part in parts:
            if not isinstance(part, TensorFacts) or not part.is_exact or part.dtype is None:
                return None
            found.append((part.dtype, tuple(map(int, part.shape or ()))))  # type: ignore[arg-type]
    return found
