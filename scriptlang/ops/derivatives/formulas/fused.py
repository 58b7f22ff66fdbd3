"""What runs instead of fused operators where gradients are wanted: the operators they stand for."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def finished(y: Tensor, added: Tensor | None, activation: str) -> Tensor:
    """What follows the product: what is added, and the activation (`ACTIVATIONS` of the family)."""
    if added is not None:
        y = torch.add(y, added)
    if activation == "none":
        return y
    if activation == "relu":
        return torch.relu(y)
    if activation == "relu6":
        return torch.clamp(y, 0, 6)
    if activation == "silu":
        return torch.silu(y)
    if activation == "gelu":
        return torch.gelu(y)
    if activation == "gelu_tanh":
        return torch.gelu(y, approximate="tanh")
    if activation == "hardswish":
        return torch.hardswish(y)
    if activation == "hardsigmoid":
        return torch.hardsigmoid(y)
    if activation == "sigmoid":
        return torch.sigmoid(y)
    if activation == "tanh":
        return torch.tanh(y)
    raise RuntimeError(f"unknown activation '{activation}' of a fused operator")


def in_format(y: Tensor, memory_format: int) -> Tensor:
    """The result of a convolution in a memory format; without a batch as it is."""
    return torch.contiguous(y, memory_format=memory_format) if y.dim() == 4 else y


def conv(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    added: Tensor | None,
    activation: str,
    memory_format: int,
) -> Tensor:
    """`conv2d` with what follows it."""
    y = torch.conv2d(input, weight, bias, stride, padding, dilation, groups)
    return in_format(finished(y, added, activation), memory_format)


def expanded(
    input: Tensor,
    expansion: Tensor,
    expansion_bias: Tensor | None,
    expansion_activation: str,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    added: Tensor | None,
    activation: str,
    memory_format: int,
) -> Tensor:
    """A convolution after a 1 x 1 convolution."""
    y = finished(torch.conv2d(input, expansion, expansion_bias), None, expansion_activation)
    return conv(
        y, weight, bias, stride, padding, dilation, groups, added, activation, memory_format
    )
