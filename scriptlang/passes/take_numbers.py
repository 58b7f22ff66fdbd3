"""Takes constant tensors of rank 0 as numbers, as PyTorch's executor does.

    %y : Tensor = aten::add(%x, %c, %1)      where %c is tensor(0.5) and becomes 0.5

This changes results: an int64 tensor plus a constant of float64 is float32, as with a number. So it
is no part of the pipeline, but runs where PyTorch makes such constants: freezing makes them of
buffers. Archives have them, too: the numbers of Python, as a trace records them.
"""

from __future__ import annotations

from typing import Any

from .. import types as T
from ..ir import Graph, Node
from ..ops import table
from ..tensors import Tensor

OPERATORS = ("aten::add", "aten::sub", "aten::mul", "aten::div")
"""Operators whose second argument is taken so, if the first one is a tensor."""


def number_in(constant: Any) -> int | float | complex | None:
    """The number that a constant is taken as; None if it is no tensor of rank 0, or a bool."""
    if not isinstance(constant, Tensor) or constant.dim() or constant.is_quantized:
        return None
    number = constant.item()
    return None if isinstance(number, bool) else number


def run(graph: Graph) -> bool:
    found = [node for node in graph.walk() if node.kind in OPERATORS and takes_constant(node)]
    for node in found:
        schema = table.schema_of(node.kind, "Scalar")
        with graph.at(node):
            number = graph.constant(number_in(node.inputs[1].constant), like=node)
            inputs = [node.inputs[0], number, *node.inputs[2:]]
            made = graph.insert(schema.name, inputs, [T.TENSOR], schema=schema, like=node)
        node.replace_with(made.output)
    return bool(found)


def takes_constant(node: Node) -> bool:
    if node.schema is None or node.schema.overload != "Tensor" or not node.inputs[1].is_constant:
        return False
    return number_in(node.inputs[1].constant) is not None
