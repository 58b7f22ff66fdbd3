"""Attention by matrix products and a softmax."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch
from ...families.attention import fits_flash


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """Scaled dot-product attention; rows that the mask hides entirely are zero."""
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype")
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError("Expected query, key, and value to all be at least 2 dimensional")
    if mask is not None and (is_causal or mask.dim() == 1):
        flash = fits_flash(query, key, value, dropout, enable_gqa)
        if flash and mask.dim() == 1:
            raise IndexError(
                "Dimension out of range (expected to be in range of [-1, 0], but got -2)"
            )
        if is_causal and (not flash or mask.dim() == 3 or mask.requires_grad):
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                "is_causal=True"
            )
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    factor = float(max(query.size(-1), 1)) ** -0.5 if scale is None else scale
    score = torch.matmul(query * factor, key.transpose(-2, -1))
    if is_causal:
        seen = torch.ones([score.size(-2), score.size(-1)], dtype=torch.bool).tril()
        score = score.masked_fill(seen.logical_not(), -torch.inf)
    if mask is None:
        weight = torch.softmax(score, -1)
    elif mask.dtype == torch.bool:
        weight = torch._safe_softmax(score.masked_fill(mask.logical_not(), -torch.inf), -1)
    else:
        weight = torch._safe_softmax(score + mask, -1)
    if dropout > 0:
        weight = torch.dropout(weight, dropout, True)
    return torch.matmul(weight, value)
