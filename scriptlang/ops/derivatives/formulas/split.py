"""Derivatives of splitting, which join the gradients of the parts."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def like_others(grads: list[Tensor | None]) -> Tensor:
    """The first gradient that is not None."""
    for g in grads:
        if g is not None:
            return g
    raise RuntimeError("no gradient flowed")


def filled(grads: list[Tensor | None], sizes: list[list[int]]) -> list[Tensor]:
    """The gradients of all parts, with zeros in place of undefined ones (None)."""
    one = like_others(grads)
    found: list[Tensor] = []
    for g, size in zip(grads, sizes):
        if g is None:
            found.append(torch.zeros(size, dtype=one.dtype))
        else:
            found.append(g)
    return found


def joined(grads: list[Tensor | None], sizes: list[list[int]], dim: int) -> Tensor:
    return torch.cat(filled(grads, sizes), dim)


def stacked(grads: list[Tensor | None], sizes: list[list[int]], dim: int) -> Tensor:
    return torch.stack(filled(grads, sizes), dim)


def cut(x: Tensor, indices: list[int], dim: int) -> list[Tensor]:
    """Split along `dim` before each index."""
    parts: list[Tensor] = []
    start = 0
    for index in indices:
        parts.append(torch.slice(x, dim, start, index))
        start = index
    parts.append(torch.slice(x, dim, start))
    return parts


def cut_at(x: Tensor, at: Tensor, dim: int) -> list[Tensor]:
    if at.dim() == 0:
        return torch.tensor_split(x, int(at.item()), dim)
    indices: list[int] = []
    for i in range(at.numel()):
        indices.append(int(at[i].item()))
    return cut(x, indices, dim)
