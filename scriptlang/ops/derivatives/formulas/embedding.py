"""Derivatives of embedding lookups."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def uses(indices: Tensor, rows: int) -> Tensor:
    """For each index, how often it occurs among the indices."""
    ones = torch.ones_like(indices, dtype=torch.int64)
    return torch.zeros([rows], dtype=torch.int64).index_add(0, indices, ones).take(indices)


def embedding_gradient(
    grad: Tensor, size: list[int], indices: Tensor, padding_idx: int, by_freq: bool
) -> Tensor:
    flat = indices.reshape([-1]).to(dtype=torch.int64)
    rows = grad.reshape([flat.numel(), size[1]])
    if by_freq:
        rows = rows / uses(flat, size[0]).unsqueeze(1)
    if padding_idx >= 0:
        rows = rows.masked_fill((flat == padding_idx).unsqueeze(1), 0)
    return torch.zeros(size, dtype=grad.dtype).index_add(0, flat, rows)


def bag_gradient(
    grad: Tensor | None,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    by_freq: bool,
    mode: int,
    scales: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
    top: Tensor,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of embedding_bag for the weight and the per-sample weights.

    mode: 0 for sums, 1 for means, 2 for maxima; top: the rows that the maxima came from.
    """
    if grad is None:
        return None, None
    flat = indices.to(dtype=torch.int64)
    bags = offsets.numel() - (1 if include_last_offset else 0)
    starts = offsets.narrow(0, 0, bags).to(dtype=torch.int64)
    bag = torch.bucketize(torch.arange(flat.numel()), starts, right=True) - 1
    counts = torch.ones_like(flat, dtype=torch.bool)
    if include_last_offset:
        counts = torch.arange(flat.numel()) < offsets[bags]
    if padding_idx is not None:
        own = padding_idx + weight.size(0) if padding_idx < 0 else padding_idx
        counts = counts & (flat != own)
    share = counts.to(dtype=grad.dtype)
    number = torch.zeros([bags], dtype=grad.dtype).index_add(0, bag, share)
    made: Tensor | None = None
    if mode == 2:
        there = grad * (number > 0).unsqueeze(1)
        made = torch.zeros_like(weight).scatter_add(0, top.to(dtype=torch.int64), there)
        return made, None
    if mode == 1:
        share = share / number.clamp_min(1).take(bag)
    rows = grad.index_select(0, bag) * share.unsqueeze(1)
    of_scales: Tensor | None = None
    if needs[1]:
        of_scales = (rows * weight.index_select(0, flat)).sum([1])
    if needs[0]:
        if scales is not None:
            rows = rows * scales.unsqueeze(1)
        if by_freq:
            rows = rows / uses(flat, weight.size(0)).unsqueeze(1)
        made = torch.zeros_like(weight).index_add(0, flat, rows)
    return made, of_scales
