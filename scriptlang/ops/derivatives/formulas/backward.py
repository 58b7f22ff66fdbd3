"""Second derivatives that take more than a line."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def prelu_grad_gradient(
    of_input: Tensor | None, of_weight: Tensor | None, x: Tensor, weight: Tensor
) -> Tensor | None:
    above = x > 0
    made: Tensor | None = None
    if of_input is not None:
        made = torch.where(above, of_input, weight * of_input)
    if of_weight is not None:
        more = torch.where(above, 0, x * of_weight)
        made = more if made is None else made + more
    return made


def rows_at(grad: Tensor, indices: Tensor, padding_idx: int) -> Tensor:
    """The row of each index; zeros for that of padding."""
    flat = indices.reshape([-1])
    rows = grad.index_select(0, flat)
    if padding_idx >= 0:
        rows = rows.masked_fill((flat == padding_idx).unsqueeze(1), 0)
    return rows.reshape(list(indices.size()) + [grad.size(1)])
