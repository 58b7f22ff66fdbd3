"""Derivatives of joining and repeating, and operators composed of others."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch
from ..helpers import optional


def reshaped_each(grads: list[Tensor | None], sizes: list[list[int]]) -> list[Tensor | None]:
    found: list[Tensor | None] = []
    for g, size in zip(grads, sizes):
        if g is None:
            found.append(None)
        else:
            found.append(optional(g.reshape(size)))
    return found


def block_gradient(grad: Tensor, sizes: list[list[int]]) -> list[Tensor]:
    found: list[Tensor] = []
    row, column = 0, 0
    for size in sizes:
        height = size[0] if len(size) == 2 else 1
        width = size[-1] if len(size) > 0 else 1
        part = grad.narrow(0, row, height).narrow(1, column, width)
        found.append(part.reshape(size))
        row += height
        column += width
    return found


def product_of(tensors: list[Tensor]) -> Tensor:
    """cartesian_prod: all combinations of one element of each tensor."""
    if len(tensors) == 1:
        return tensors[0]
    grids = torch.meshgrid(tensors)
    return torch.stack([g.reshape([-1]) for g in grids], 1)


def cat_gradient(grad: Tensor, sizes: list[list[int]], dim: int) -> list[Tensor]:
    """The gradients of cat; empty tensors of one dimension are skipped: they join with any."""
    at = dim + grad.dim() if dim < 0 else dim
    found: list[Tensor] = []
    start = 0
    for size in sizes:
        if len(size) == 1 and size[0] == 0:
            found.append(torch.zeros(size, dtype=grad.dtype))
        else:
            found.append(grad.narrow(at, start, size[at]))
            start += size[at]
    return found


def hstack_of(tensors: list[Tensor]) -> Tensor:
    parts = torch.atleast_1d(tensors)
    return torch.cat(parts, 0 if parts[0].dim() == 1 else 1)


def combinations_of(x: Tensor, r: int, with_replacement: bool) -> Tensor:
    if x.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {x.size()}")
    index = torch.combinations(torch.arange(x.numel()), r, with_replacement)
    return x.index_select(0, index.reshape([-1])).reshape(index.size())


def cross_dim(size: list[int], other: list[int], dim: int | None) -> int:
    """The dimension of a cross product: `dim`, or by default the first of size 3."""
    if dim is not None:
        return dim
    number = max(len(size), len(other))
    for d in range(number):
        i, j = d - number + len(size), d - number + len(other)
        wide = max(size[i] if i >= 0 else 1, other[j] if j >= 0 else 1)
        if wide == 3:
            return d - number
    return -1


def repeat_gradient(grad: Tensor, size: list[int], repeats: list[int]) -> Tensor:
    """The gradient of repeat: the sum over all copies."""
    more = len(repeats) - len(size)
    folded: list[int] = []
    dims: list[int] = []
    for d in range(grad.dim()):
        n = size[d - more] if d >= more and more >= 0 else 1
        if more < 0:
            n = size[d]
        times = repeats[d] if more >= 0 else (repeats[d + more] if d + more >= 0 else 1)
        dims.append(len(folded))
        folded.append(times)
        folded.append(n)
    if 0 in folded:
        return torch.zeros(size, dtype=grad.dtype)
    if len(dims) == 0:
        return grad
    return grad.reshape(folded).sum(dims).reshape(size)


def interleaved(x: Tensor, repeats: Tensor, dim: int | None) -> Tensor:
    rows, at = x.reshape([-1]), 0
    if dim is not None:
        rows, at = x, dim
    times = repeats.reshape([1]) if repeats.dim() == 0 else repeats
    if times.numel() == 1 and rows.size(at) != 1:
        times = times.expand([rows.size(at)])
    return rows.index_select(at, torch.repeat_interleave(times.contiguous()))


def interleaved_gradient(grad: Tensor, size: list[int], repeats: int, dim: int | None) -> Tensor:
    if grad.numel() == 0:
        return torch.zeros(size, dtype=grad.dtype)
    if dim is None:
        return grad.reshape([-1, repeats]).sum([1]).reshape(size)
    at = dim + len(size) if dim < 0 else dim
    return grad.unflatten(at, [size[at], repeats]).sum([at + 1])


def vandermonde(x: Tensor, columns: int | None, increasing: bool) -> Tensor:
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    number = x.size(0) if columns is None else columns
    powers = [torch.pow(x, i if increasing else number - 1 - i) for i in range(number)]
    if number == 0:
        return torch.zeros([x.size(0), 0], dtype=x.dtype)
    return torch.stack(powers, 1)
