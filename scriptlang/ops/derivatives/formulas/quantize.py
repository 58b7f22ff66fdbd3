"""Masks of the elements whose codes are in range, which get gradients of fake quantization."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def within(x: Tensor, scale: float, zero_point: int, low: int, high: int) -> Tensor:
    code = torch.round(x * (1.0 / scale)) + zero_point
    return (code >= low) & (code <= high)


def within_channels(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, low: int, high: int
) -> Tensor:
    shape = [1 for _ in range(x.dim())]
    shape[axis] = x.size(axis)
    code = torch.round(x * scale.reshape(shape).reciprocal()) + zero_point.reshape(shape)
    return (code >= low) & (code <= high)


def observed(
    x: Tensor,
    is_on: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    low: int,
    high: int,
    axis: int,
    per_row: bool,
) -> Tensor:
    if int(is_on.item()) == 0:
        return torch.ones_like(x, dtype=torch.bool)
    if per_row:
        return within_channels(x, scale, zero_point, axis, low, high)
    return within(x, float(scale.item()), int(zero_point.item()), low, high)
