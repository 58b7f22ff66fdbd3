"""Replaces the named padding of convolutions ("same", "valid") by numbers.

    aten::_convolution_mode(%x, %w, %b, [1, 1], "same", [1, 1], 1)      %w: 8 x 4 x 3 x 3
 -> aten::conv2d(%x, %w, %b, [1, 1], [1, 1], [1, 1], 1)

The size of the weight has to be known. "same" padding that would be asymmetric stays, since no
numbers express it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import logs
from .. import types as T
from ..ir import Graph, Node
from ..ops import table
from .conditions import fixed, weight

if TYPE_CHECKING:
    from ..ir import Value

NAME = "numeric_padding"

DIMS = {
    "aten::_convolution_mode": (1, 2, 3),
    "aten::conv1d": (1,),
    "aten::conv2d": (2,),
    "aten::conv3d": (3,),
}
"""For how many spatial dimensions each operator exists."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.walk()):
        if node.kind in DIMS and node.inputs[4].type == T.STR:
            changed |= replace(node)
    return changed


def replace(node: Node) -> bool:
    x, w, bias, stride, padding, dilation, groups = node.inputs
    why = weight(node, 1, *(2 + n for n in DIMS[node.kind]))
    if logs.missed(node, NAME, why):
        return False
    sizes = list(w.constant.shape[2:])
    numbers = by_number(padding, sizes, stride, dilation)
    if numbers is None:
        why = fixed(node, 4) or fixed(node, 3) or fixed(node, 5)
        logs.missed(node, NAME, why or "no numbers are the same padding on both sides")
        return False
    schema = table.schema_of(f"aten::conv{len(sizes)}d")
    with node.graph.at(node):
        known = node.graph.constant(numbers, T.ListType(T.INT), like=node)
        new = node.graph.insert(
            schema.name,
            [x, w, bias, stride, known, dilation, groups],
            [node.output.type],
            schema=schema,
            like=node,
        )
    new.output.name = node.output.name
    node.output.replace_all_uses_with(new.output)
    node.destroy()
    return True


def by_number(padding: Value, sizes: list[int], stride: Value, dilation: Value) -> list[int] | None:
    """The padding that a name stands for; None if it is unknown, not symmetric, or an error."""
    if not all(v.is_constant for v in (padding, stride, dilation)):
        return None
    steps, gaps = (spread(v.constant, len(sizes)) for v in (stride, dilation))
    if padding.constant == "valid":
        return [0] * len(sizes)
    if padding.constant != "same" or steps is None or gaps is None or set(steps) != {1}:
        return None
    total = [gap * (size - 1) for gap, size in zip(gaps, sizes)]
    return None if any(n % 2 for n in total) else [n // 2 for n in total]


def spread(numbers: list[int], n: int) -> list[int] | None:
    """One number per dimension; None if there are neither one nor as many as dimensions."""
    return list(numbers) * n if len(numbers) == 1 else list(numbers) if len(numbers) == n else None
