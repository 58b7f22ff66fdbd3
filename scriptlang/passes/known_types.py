"""The element type of a tensor, where constants before it settle it.

A layer takes only inputs of its weights' type and gives that type; pooling, activations and views
keep it.
"""

from __future__ import annotations

from ..dtypes import DType
from ..ir import Node, Value
from ..tensors import Tensor

LAYERS = {"aten::conv1d": 1, "aten::conv2d": 1, "aten::conv3d": 1, "aten::_convolution": 1,
          "aten::convolution": 1, "aten::linear": 1, "aten::addmm": 2, "aten::mm": 1,
          "aten::matmul": 1, "aten::conv_transpose1d": 1, "aten::conv_transpose2d": 1,
          "aten::conv_transpose3d": 1, "scriptlang::conv2d": 1, "scriptlang::linear": 1,
          "scriptlang::conv_transpose2d": 1, "scriptlang::expanded_conv2d": 4}
"""Operators that refuse an input of another type than their weight -> where the weight stands."""

KEEPS = frozenset(f"aten::{name}" for name in (
    "batch_norm layer_norm group_norm max_pool1d max_pool2d avg_pool1d avg_pool2d"
    " adaptive_avg_pool1d adaptive_avg_pool2d relu relu6 silu gelu mish elu leaky_relu hardtanh"
    " hardswish hardsigmoid sigmoid tanh softmax dropout clamp contiguous flatten reshape view"
    " permute transpose squeeze unsqueeze mean relu_ silu_ hardswish_ hardsigmoid_ sigmoid_ tanh_"
    " hardtanh_ leaky_relu_ elu_ clamp_ add_ sub_ mul_ div_").split())
"""Operators that give floating point inputs' own type (without a `dtype` argument given)."""

MEET = frozenset(f"aten::{name}" for name in "add sub mul div".split())


def floating_type(v: Value, known: dict[Value, DType | None] | None = None) -> DType | None:
    """The floating point type that a tensor certainly has, or None.

    known: what was found for values met before, so that shared ones are looked at once.
    """
    known = {} if known is None else known
    if v not in known:
        known[v] = None                                  # a chain that is too long ends here
        known[v] = constant_type(v) if v.is_constant else result_type(v, known)
    return known[v]


def constant_type(v: Value) -> DType | None:
    value = v.constant
    floating = isinstance(value, Tensor) and value.dtype.is_floating_point
    return value.dtype if floating else None


def result_type(v: Value, known: dict[Value, DType | None]) -> DType | None:
    node = v.node
    if v.is_parameter or node.schema is None or len(node.outputs) != 1 or len(known) > MOST:
        return None
    if node.kind in LAYERS:
        weight = node.inputs[LAYERS[node.kind]]
        adds = node.kind.startswith("scriptlang::") and not node.argument("added").is_constant
        return constant_type(weight) if weight.is_constant and not adds else None
    if node.kind in KEEPS and takes_own_type(node):
        return floating_type(node.inputs[0], known)
    if node.kind in MEET:
        first = floating_type(node.inputs[0], known)
        if first is None or node.schema.overload == "Scalar":
            return first
        return first if floating_type(node.inputs[1], known) is first else None
    return None


MOST = 200
"""How many values back an answer is looked for."""


def takes_own_type(node: Node) -> bool:
    i = node.schema.index("dtype")
    return i is None or node.inputs[i].is_constant and node.inputs[i].constant is None
