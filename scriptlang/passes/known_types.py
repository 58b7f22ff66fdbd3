"""The element type of a tensor, where constants before it settle it.

A layer takes only inputs of its weights' type and gives that type; pooling, activations and views
keep it.
"""

from __future__ import annotations

from ..dtypes import DType
from ..ir import Value
from ..tensors import Tensor

LAYERS = {"aten::conv1d": 1, "aten::conv2d": 1, "aten::conv3d": 1, "aten::_convolution": 1,
          "aten::convolution": 1, "aten::linear": 1, "aten::addmm": 2, "aten::mm": 1,
          "aten::matmul": 1, "scriptlang::conv2d": 1, "scriptlang::linear": 1}
"""Operators that refuse an input of another type than their weight -> where the weight stands."""

KEEPS = frozenset(f"aten::{name}" for name in (
    "batch_norm layer_norm group_norm max_pool1d max_pool2d avg_pool1d avg_pool2d"
    " adaptive_avg_pool1d adaptive_avg_pool2d relu relu6 silu gelu mish elu leaky_relu hardtanh"
    " hardswish hardsigmoid sigmoid tanh softmax dropout clamp contiguous flatten reshape view"
    " permute transpose squeeze unsqueeze mean relu_ silu_ hardswish_ hardsigmoid_ sigmoid_ tanh_"
    " hardtanh_ leaky_relu_ elu_ clamp_ add_ sub_ mul_ div_").split())
"""Operators that give floating point inputs' own type (without a `dtype` argument given)."""

MEET = frozenset(f"aten::{name}" for name in "add sub mul div".split())


def floating_type(v: Value, depth: int = 200) -> DType | None:
    """The floating point type that a tensor certainly has, or None."""
    if v.is_constant:
        return v.constant.dtype if isinstance(v.constant, Tensor) and (
            v.constant.dtype.is_floating_point) else None
    node = v.node
    if v.is_parameter or depth == 0 or node.schema is None or len(node.outputs) != 1:
        return None
    if node.kind in LAYERS:
        weight = node.inputs[LAYERS[node.kind]]
        added = node.kind.startswith("scriptlang::") and not (
            node.argument("added").is_constant)
        return None if added else floating_type(weight, 0) if weight.is_constant else None
    if node.kind in KEEPS and takes_own_type(node):
        return floating_type(node.inputs[0], depth - 1)
    if node.kind in MEET:
        a = floating_type(node.inputs[0], depth - 1)
        if node.schema.overload == "Scalar":
            return a
        return a if a is not None and floating_type(node.inputs[1], depth - 1) is a else None
    return None


def takes_own_type(node) -> bool:
    i = node.schema.index("dtype")
    return i is None or node.inputs[i].is_constant and node.inputs[i].constant is None
