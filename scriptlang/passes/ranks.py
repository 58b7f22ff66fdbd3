"""The number of dimensions is asked of the first tensor of a chain that keeps it.

    %y = aten::conv2d(%x, ...)                %y = aten::conv2d(%x, ...)
    %z = aten::relu(%y)                 ->    %z = aten::relu(%y)
    %d = aten::dim(%z)                        %d = aten::dim(%x)

Modules check the rank of what they are given; asked of one tensor, one check serves all of them.
"""

from __future__ import annotations

from ..ir import Graph, Node, Value

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
    origins: dict[Value, Value] = {}
    for node in graph.walk():
        origin(node, origins)
        if node.kind == "aten::dim" and len(node.inputs) == 1:
            first = origins.get(node.inputs[0], node.inputs[0])
            if first is not node.inputs[0]:
                node.replace_input(0, first)
                changed = True
    return changed


def origin(node: Node, origins: dict[Value, Value]) -> None:
    """Note the tensor furthest back that certainly has the rank of the node's result.

    Values that are not in `origins` are their own.
    """
    if node.schema is None or len(node.outputs) != 1:
        return
    if node.kind in KEEPS:
        origins[node.output] = origins.get(node.inputs[0], node.inputs[0])
    elif node.kind in MEET and node.schema.overload == "Tensor":
        a, b = (origins.get(v, v) for v in node.inputs[:2])
        if a is b:
            origins[node.output] = a
