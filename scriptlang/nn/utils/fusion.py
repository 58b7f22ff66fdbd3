"""Folding batch normalisation into the weights of the layer before it."""

from __future__ import annotations

import copy
from typing import Any, Optional

from ...ops.calling import functions as torch
from ...tensors import Tensor
from ..parameter import Parameter


def _check_eval(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def _fused(
    weight: Tensor,
    bias: Optional[Tensor],
    mean: Tensor,
    var: Tensor,
    eps: float,
    bn_weight: Optional[Tensor],
    bn_bias: Optional[Tensor],
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    """shape: the shape in which a scale per channel broadcasts to the weight."""
    bias_dtype = weight.dtype if bias is None else bias.dtype
    bias = torch.zeros_like(mean) if bias is None else bias
    scale = torch.rsqrt(var + eps)
    if bn_weight is not None:
        scale = bn_weight * scale
    shifted = (bias - mean) * scale
    if bn_bias is not None:
        shifted = shifted + bn_bias
    return (
        Parameter((weight * scale.reshape(shape)).to(dtype=weight.dtype)),
        Parameter(shifted.to(dtype=bias_dtype)),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> Any:
    """The (weight, bias) of one convolution that also does the batch norm."""
    ones = [1] * (conv_w.dim() - 2)
    return _fused(
        conv_w,
        conv_b,
        bn_rm,
        bn_rv,
        bn_eps,
        bn_w,
        bn_b,
        [1, -1, *ones] if transpose else [-1, 1, *ones],
    )


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution with the batch norm after it folded in; both in eval mode."""
    _check_eval(conv, bn)
    made = copy.deepcopy(conv)
    made.weight, made.bias = fuse_conv_bn_weights(
        conv.weight,
        conv.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return made


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> Any:
    """The (weight, bias) of one linear layer that also does the batch norm after it."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer with the batch norm after it folded in; both in eval mode."""
    _check_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features "
            f"== 1, got linear.out_features={linear.out_features} and "
            f"bn.num_features={bn.num_features}"
        )
    made = copy.deepcopy(linear)
    made.weight, made.bias = fuse_linear_bn_weights(
        linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return made
