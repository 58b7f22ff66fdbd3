"""The number of dimensions is asked of the first tensor of a chain that keeps it.

    %y = aten::conv2d(%x, ...)                %y = aten::conv2d(%x, ...)
    %z = aten::relu(%y)                 ->    %z = aten::relu(%y)
    %d = aten::dim(%z)                        %d = aten::dim(%x)

Modules check the rank of what they are given; asked of one tensor, one check serves all of them.
"""

from __future__ import annotations

from ..ir import Graph, Value

KEEPS = frozenset(f"aten::{name}" for name in (
    "conv1d conv2d conv3d batch_norm instance_norm group_norm layer_norm max_pool1d max_pool2d"
    " max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d"
    " adaptive_avg_pool3d relu relu6 silu gelu mish elu leaky_relu hardtanh hardswish hardsigmoid"
    " sigmoid tanh softmax log_softmax dropout clamp contiguous").split())
"""Operators whose result has as many dimensions as their first input."""

MEET = frozenset(f"aten::{name}" for name in "add sub mul div".split())
"""Operators whose result has the greater rank of two inputs."""


def run(graph: Graph) -> bool:
    changed = False
    for node in graph.walk():
        if node.kind == "aten::dim" and len(node.inputs) == 1:
            first = origin(node.inputs[0])
            if first is not node.inputs[0]:
                node.replace_input(0, first)
                changed = True
    return changed


def origin(v: Value) -> Value:
    """The tensor furthest back that certainly has the rank of `v`."""
    while not v.is_parameter and v.node.schema is not None and len(v.node.outputs) == 1:
        node = v.node
        if node.kind in KEEPS:
            v = node.inputs[0]
        elif node.kind in MEET and node.schema.overload == "Tensor":
            a, b = origin(node.inputs[0]), origin(node.inputs[1])
            if a is not b:
                return v
            v = a
        else:
            return v
    return v
