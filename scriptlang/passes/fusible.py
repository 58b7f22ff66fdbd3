"""Operators that may be done together, and what a node of one has to be like.

The native engine has the same list (cpp_loader/src/fusion/fused_group.cpp): these operators do
nothing with the elements of tensors but compute each element of a new one, or work on rows of them.
"""

from __future__ import annotations

from functools import cache

from .. import types as T
from ..ir import Node, Value

NAMES = """
abs absolute acos acosh add.Scalar add.Tensor addcdiv addcmul arccos arccosh arcsin arcsinh arctan
arctan2 arctanh asin asinh atan atan2 atanh bitwise_and.Scalar bitwise_and.Tensor bitwise_not
bitwise_or.Scalar bitwise_or.Tensor bitwise_xor.Scalar bitwise_xor.Tensor __and__.Scalar
__and__.Tensor __or__.Scalar __or__.Tensor __xor__.Scalar __xor__.Tensor ceil celu clamp
clamp.Tensor clamp_max clamp_max.Tensor clamp_min clamp_min.Tensor clip clip.Tensor copysign.Scalar
copysign.Tensor cos cosh deg2rad div.Scalar div.Scalar_mode div.Tensor div.Tensor_mode divide.Scalar
divide.Tensor elu eq.Scalar eq.Tensor erf erfc exp exp2 expm1 floor floor_divide
floor_divide.Scalar fmax fmin fmod.Scalar fmod.Tensor frac ge.Scalar ge.Tensor gelu greater.Scalar
greater.Tensor greater_equal.Scalar greater_equal.Tensor gt.Scalar gt.Tensor hardshrink hardsigmoid
hardswish hardtanh hypot isfinite isinf isnan le.Scalar le.Tensor leaky_relu lerp.Scalar lerp.Tensor
less.Scalar less.Tensor less_equal.Scalar less_equal.Tensor log log10 log1p log2 log_sigmoid
logaddexp logaddexp2 logical_and logical_not logical_or logical_xor lt.Scalar lt.Tensor
masked_fill.Scalar max.other maximum min.other minimum mish mul.Scalar mul.Tensor multiply.Scalar
multiply.Tensor nan_to_num ne.Scalar ne.Tensor neg negative not_equal.Scalar not_equal.Tensor
pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor rad2deg reciprocal relu relu6 remainder.Scalar
remainder.Tensor round rsqrt rsub.Scalar rsub.Tensor selu sgn sigmoid sign silu sin sinc sinh
softplus softshrink sqrt square sub.Scalar sub.Tensor subtract.Scalar subtract.Tensor tan tanh
threshold to.dtype true_divide.Scalar true_divide.Tensor trunc where.Scalar where.ScalarOther
where.ScalarSelf where.self xlogy.Scalar_Other xlogy.Scalar_Self xlogy.Tensor
"""
"""Pointwise operators: qualified names, less their namespace."""

ROW_NAMES = """
amax amin binary_cross_entropy_with_logits cosine_similarity huber_loss l1_loss layer_norm
linalg_vector_norm log_softmax.int max mean mean.dim min mse_loss norm.ScalarOpt_dim rms_norm
smooth_l1_loss soft_margin_loss softmax.int std std.correction std.dim sum sum.dim_IntList var
var.correction var.dim
"""
"""Reductions, normalisations, and losses that end in one."""

POINTWISE = frozenset(f"aten::{name}" for name in NAMES.split())
OPERATORS = POINTWISE | {f"aten::{name}" for name in ROW_NAMES.split()}

NUMBERS = (T.INT, T.FLOAT, T.BOOL)


def is_fusible(node: Node) -> bool:
    """Whether a node may be part of a fused group."""
    return (node.schema is not None and is_operator(node.kind, node.schema.overload)
            and len(node.outputs) == 1 and node.output.type == T.TENSOR
            and all(map(may_enter, node.inputs)) and any(v.type == T.TENSOR for v in node.inputs))


@cache
def is_operator(kind: str, overload: str) -> bool:
    return (f"{kind}.{overload}" if overload else kind) in OPERATORS


def may_enter(v: Value) -> bool:
    """Whether a value may be an input of a group, or a constant inside it."""
    return v.type == T.TENSOR or v.type in NUMBERS or is_inner_constant(v)


def is_inner_constant(v: Value) -> bool:
    """Whether a value is a constant that a group holds itself."""
    return v.is_constant and (v.constant is None or is_plain(v.constant))


def is_plain(constant: object) -> bool:
    """Whether a constant is a number, a string, or a list of numbers that is not empty."""
    if isinstance(constant, list):
        return bool(constant) and all(isinstance(x, (int, float)) for x in constant)
    return isinstance(constant, (bool, int, float, str))
