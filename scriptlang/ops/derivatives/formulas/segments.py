"""Derivatives of reductions over segments."""

from __future__ import annotations

from numbers import Number

from ....tensors import Tensor
from ...calling import functions as torch


def segment_gradient(
    grad: Tensor,
    result: Tensor,
    data: Tensor,
    reduce: str,
    lengths: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    initial: Number | None,
) -> Tensor:
    """The gradient of segment_reduce; each index of dimensions before the axis has own segments."""
    at = axis + data.dim() if axis < 0 else axis
    if lengths is not None:
        counts = lengths
    else:
        assert offsets is not None
        counts = torch.slice(offsets, -1, 1) - torch.slice(offsets, -1, 0, offsets.size(-1) - 1)
    counts = counts.reshape([-1]).to(dtype=torch.int64)
    owner = torch.repeat_interleave(counts)
    inner = list(data.size()[at + 1 :])
    rows = data.reshape([-1] + inner).narrow(0, 0, owner.numel())
    values = result.reshape([-1] + inner).index_select(0, owner)
    given = grad.reshape([-1] + inner)
    if reduce == "sum":
        made = given.index_select(0, owner)
    elif reduce == "mean":
        shape = [1 for _ in inner]
        number = counts.clamp_min(1).reshape([-1] + shape)
        made = (given / number).index_select(0, owner)
    elif reduce == "prod":
        made = given.index_select(0, owner) * others(rows, owner, counts.numel(), initial)
    else:
        mask = ((rows == values) | rows.isnan()).to(dtype=grad.dtype)
        number = torch.zeros_like(given).index_add(0, owner, mask).clamp_min(1)
        made = (given / number).index_select(0, owner) * mask
    missing = data.numel() - made.numel()
    if missing > 0:  # elements after the last segment
        made = torch.constant_pad_nd(made.reshape([-1]), [0, missing])
    return made.reshape(data.size())


def others(rows: Tensor, owner: Tensor, segments: int, initial: Number | None) -> Tensor:
    """For each element, the product of the others in its segment."""
    zero = rows == 0
    shape = [segments] + list(rows.size()[1:])
    start = torch.ones(shape, dtype=rows.dtype)
    if initial is not None:
        start = torch.mul(start, initial)
    index = owner.reshape([-1] + [1 for _ in range(rows.dim() - 1)]).expand(rows.size())
    product = start.scatter_reduce(0, index, rows.masked_fill(zero, 1), "prod")
    number = torch.zeros(shape, dtype=rows.dtype).index_add(0, owner, zero.to(dtype=rows.dtype))
    whole, zeros = product.index_select(0, owner), number.index_select(0, owner)
    without = torch.where(zeros == 0, whole / rows.masked_fill(zero, 1), 0)
    return torch.where(zero, torch.where(zeros == 1, whole, 0), without)
