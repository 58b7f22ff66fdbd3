"""Derivatives of views that overlap or permute."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch
from ..helpers import zeros


def inverse(dims: list[int]) -> list[int]:
    """The inverse of a permutation."""
    back = [0 for _ in dims]
    for to, dim in enumerate(dims):
        back[dim] = to
    return back


def places(length: int, size: list[int], stride: list[int], offset: int) -> Tensor:
    """The storage indices of the elements of a strided view."""
    return torch.arange(length).as_strided(size, stride, offset).reshape([-1])


def strided_gradient(
    grad: Tensor, x: Tensor, size: list[int], stride: list[int], offset: int | None
) -> Tensor:
    """The gradient of as_strided, by way of the storage.

    Each storage element gets the sum of its gradients, divided evenly among the input's elements
    that share it.
    """
    if x.numel() == 0 or grad.numel() == 0:
        return zeros(grad, x.size())
    start = x.storage_offset() if offset is None else offset
    first = x.storage_offset()
    length = max(start, first) + 1
    for n, step in zip(size, stride):
        length += (n - 1) * step
    for n, step in zip(x.size(), x.stride()):
        length += (n - 1) * step
    memory = zeros(grad, [length])
    memory = memory.index_add(0, places(length, size, stride, start), grad.reshape([-1]))
    own = places(length, x.size(), x.stride(), first)
    shares = torch.zeros([length], dtype=torch.int64).index_add(0, own, torch.ones_like(own))
    return (memory.index_select(0, own) / shares.index_select(0, own)).view(x.size())


def unfold_gradient(grad: Tensor, size: list[int], dim: int, width: int, step: int) -> Tensor:
    """The gradient of unfold: overlapping windows are added."""
    if len(size) == 0:
        return grad.reshape(size)
    at = dim + len(size) if dim < 0 else dim
    index = torch.arange(size[at]).unfold(0, width, step).reshape([-1])
    return zeros(grad, size).index_add(at, index, grad.movedim(-1, at + 1).flatten(at, at + 1))


def strided_tangent(
    tangent: Tensor, x: Tensor, size: list[int], stride: list[int], offset: int | None
) -> Tensor:
    """The same elements of the tangent, which needs the strides of its tensor for that."""
    if tangent.stride() != x.stride():
        tangent = torch.empty_strided(x.size(), x.stride(), dtype=x.dtype).copy_(tangent)
    start = 0 if offset is None else offset - x.storage_offset()
    return tangent.as_strided(size, stride, tangent.storage_offset() + start)
