"""Derivatives of pools, as matrices or by the places of maxima."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def avg_matrix(
    like: Tensor,
    size: int,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    at: int,
    ceil_mode: bool,
    include_pad: bool,
    divisor: int | None,
) -> Tensor:
    """What each element gives to each average, along a dimension; sums where a divisor is."""
    k = kernel[at if len(kernel) > 1 else 0]
    p = padding[at if len(padding) > 1 else 0]
    s = k if len(stride) == 0 else stride[at if len(stride) > 1 else 0]
    units = torch.eye(size, dtype=like.dtype).reshape([size, 1, size, 1])
    one = None if divisor is None else 1
    made = torch.avg_pool2d(units, [k, 1], [s, 1], [p, 0], ceil_mode, include_pad, one)
    return made.reshape([size, made.size(2)])


def overridden(x: Tensor, divisor: int | None) -> Tensor:
    return x if divisor is None else x / divisor


def adaptive_matrix(like: Tensor, size: list[int], out: list[int], dim: int) -> Tensor:
    n = size[dim]
    units = torch.eye(n, dtype=like.dtype).reshape([n, 1, n, 1])
    return torch._adaptive_avg_pool2d(units, [out[dim], 1]).reshape([n, out[dim]])


def found_places(grad: Tensor, size: list[int], indices: Tensor, number: int) -> Tensor:
    """number: how many dimensions a place counts through."""
    outer = size[: len(size) - number]
    width = 1
    for n in size[len(size) - number :]:
        width *= n
    flat = torch.zeros(outer + [width], dtype=grad.dtype)
    return flat.scatter_add(-1, indices.flatten(-number), grad.flatten(-number)).reshape(size)
