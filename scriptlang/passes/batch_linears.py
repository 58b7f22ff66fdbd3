"""Joins linear layers of the same input, such as those for query, key and value, to one product.

    %q = aten::linear(%x, %wq, %bq)             %y = aten::linear(%x, %w, %b)    w, b: all rows
    %k = aten::linear(%x, %wk, %bk)       ->    %l = aten::split_with_sizes(%y, [...], -1)
    %v = aten::linear(%x, %wv, %bv)             %q, %k, %v = prim::ListUnpack(%l)

The input is packed once, and threads share one product. Large products gain nothing by that, and
tiny ones lose (docs/performance/memory.md), so they are left alone. The results are views with gaps
between their rows. So layers are only joined if no use of their results can show that: each use
computes new elements, moves dimensions, or changes the shape (a view becomes a reshape, which
copies where it has to). Layers with which something can be fused are left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import logs
from .. import types as T
from ..ir import Graph, Node, Value
from ..ops import table
from ..tensors import Tensor
from .alias import AliasAnalysis
from .conditions import unwritten
from .fuse import Chain, is_overload, product_of

ELEMENTS = range(1 << 14, (1 << 18) + 1)
"""The sizes of a weight, in elements, for which joining pays."""

NAME = "batch_linears"

MOVES = ("aten::permute", "aten::transpose", "aten::unsqueeze")
"""Operators that only reorder dimensions; the uses of their results are checked too."""

VIEW = "aten::view"


def run(graph: Graph) -> bool:
    groups = []
    for group in layers_by_input(graph):
        if len(group) > 1:
            groups.append(group)
        else:
            logs.missed(group[0], NAME, "no other layer of its kind has its input")
    if not groups:
        return False
    analysis = AliasAnalysis(graph)
    changed = False
    for group in groups:
        fitting = [
            n
            for n in group
            if not logs.missed(n, NAME, why_apart(n) or unwritten(analysis, n.inputs[0], n.output))
        ]
        if len(fitting) > 1:
            join(fitting)
            changed = True
    return changed


def why_apart(layer: Node) -> str | None:
    """Why a layer is not joined to others of its input."""
    chain = Chain(layer).nodes
    if len(chain) > 1:
        return f"{chain[1].kind} after it can be fused with it"
    return None if hides_layout(layer.output) else "a use of its result could tell gaps in memory"


def why_does_not_pay(weight: Tensor, bias: Tensor | None) -> str | None:
    if weight.numel() not in ELEMENTS:
        return (
            f"its weight has {weight.numel()} elements; it pays for {ELEMENTS[0]} to {ELEMENTS[-1]}"
        )
    if not weight.dtype.is_floating_point:
        return "its weight is not of floats"
    if bias is not None and bias.dtype is not weight.dtype:
        return "its bias has another element type than its weight"
    return None


def layers_by_input(graph: Graph) -> list[list[Node]]:
    """Small linear layers with constant weights, by block, input, dtype and input features."""
    found: dict[tuple[Any, ...], list[Node]] = {}
    for node in graph.walk():
        product = product_of(node) if node.kind == "aten::linear" else None
        if product is not None:
            x, w, _, b = product
            if not logs.missed(node, NAME, why_does_not_pay(w.constant, b.constant)):
                key = (node.block, x, w.constant.dtype, w.constant._size[1])
                found.setdefault(key, []).append(node)
    return list(found.values())


def hides_layout(v: Value, is_moved: bool = False) -> bool:
    """Whether no use of a value can show that there are gaps between its rows.

    is_moved: whether its dimensions were reordered; a view of it may then fail.
    """
    for user, _ in v.uses:
        if computes(user):
            continue
        if user.kind in MOVES and hides_layout(user.output, True):
            continue
        if (
            user.kind == "aten::reshape"
            or user.kind == VIEW
            and not is_moved
            and is_overload(user, "")
        ) and hides_layout(user.output, is_moved):
            continue
        return False
    return True


def computes(node: Node) -> bool:
    """Whether a node's result is independent of the memory layout of its inputs."""
    facts = table.facts_of(node.schema)
    return facts.fusible and node.kind != "aten::to" or facts.layout == "hides"


def join(layers: list[Node]) -> None:
    """Replace the layers by one linear layer, at the place of the first, and a split."""
    first = layers[0]
    graph = first.graph
    weights = [n.inputs[1].constant._array for n in layers]
    sizes = [len(w) for w in weights]
    biases = [n.inputs[2].constant for n in layers]
    bias = None
    if any(b is not None for b in biases):
        bias = Tensor._wrap(
            np.concatenate(
                [
                    np.zeros(n, weights[0].dtype) if b is None else b._array
                    for n, b in zip(sizes, biases)
                ]
            )
        )
    split = table.schema_of("aten::split_with_sizes")
    with graph.at(first):
        w = graph.constant(Tensor._wrap(np.concatenate(weights)), T.TENSOR, like=first)
        b = graph.constant(bias, T.NONE if bias is None else T.TENSOR, like=first)
        whole = graph.insert(
            "aten::linear", [first.inputs[0], w, b], [T.TENSOR], schema=first.schema, like=first
        ).output
        length = graph.constant(sizes, T.ListType(T.INT), like=first)
        last = graph.constant(-1, T.INT, like=first)
        parts = graph.insert(
            "aten::split_with_sizes",
            [whole, length, last],
            [T.ListType(T.TENSOR)],
            schema=split,
            like=first,
        ).output
        unpacked = graph.insert("prim::ListUnpack", [parts], [T.TENSOR] * len(layers), like=first)
    for node, part in zip(layers, unpacked.outputs):
        node.replace_with(part)
        reshape_views(part)


def reshape_views(v: Value) -> None:
    """Replace views of a tensor with gaps by reshapes."""
    reshape = table.schema_of("aten::reshape")
    for user, _ in list(v.uses):
        if user.kind == VIEW:
            with user.graph.at(user) as graph:
                new = graph.insert(
                    "aten::reshape", user.inputs, [T.TENSOR], schema=reshape, like=user
                ).output
            user.replace_with(new)
            reshape_views(new)
        elif user.kind == "aten::reshape":
            reshape_views(user.output)
