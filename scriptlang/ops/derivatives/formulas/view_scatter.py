"""Derivatives of as_strided_scatter, whose strides refer to the memory of its first argument."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch
from ..helpers import zeros


def strided_scatter_src_gradient(
    grad: Tensor, x: Tensor, size: list[int], stride: list[int], offset: int | None
) -> Tensor:
    return torch.as_strided(grad.contiguous(), size, stride, offset)


def strided_scatter_self_gradient(
    grad: Tensor, x: Tensor, size: list[int], stride: list[int], offset: int | None
) -> Tensor:
    """As in PyTorch, the gradient at the written positions, where self has no influence."""
    part = torch.as_strided(grad.contiguous(), size, stride, offset)
    return torch.as_strided_scatter(zeros(grad, x.size()), part, size, stride, offset)


def strided_scatter_tangent(
    tangent: Tensor,
    of_src: Tensor,
    x: Tensor,
    size: list[int],
    stride: list[int],
    offset: int | None,
) -> Tensor:
    """The same part of the tangent replaced, which needs the strides of its tensor for that."""
    made = torch.empty_strided(x.size(), x.stride(), dtype=x.dtype).copy_(tangent)
    return made.as_strided_scatter(of_src, size, stride, offset)
