"""Attention by the flash kernel, or by matrix products and a softmax."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch
from ...families.attention import fits_flash, has_flash_sizes


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
    if mask is not None:
        check_mask(query, key, value, mask, dropout, is_causal, enable_gqa)
    if by_flash(query, key, value, mask, dropout, enable_gqa):
        additive = mask
        if mask is not None and mask.dtype == torch.bool:
            zeros = torch.zeros(list(mask.size()), dtype=query.dtype)
            additive = zeros.masked_fill(mask.logical_not(), -torch.inf)
        made, _ = torch._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, is_causal, attn_mask=additive, scale=scale
        )
        return made
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


def check_mask(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    dropout: float,
    is_causal: bool,
    enable_gqa: bool,
) -> None:
    """Raise what PyTorch raises of a mask."""
    if mask.dtype not in [torch.bool, torch.float32, query.dtype]:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            "another one"
        )
    if is_causal or mask.dim() == 1:
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


def by_flash(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, enable_gqa: bool
) -> bool:
    """Whether the flash kernel, which keeps no scores, can record the call."""
    if not has_flash_sizes(query, key, value, dropout, enable_gqa):
        return False
    if mask is not None:
        fits = mask.dtype == torch.bool or mask.dtype == query.dtype
        if not fits or mask.requires_grad or mask.dim() != 2 and mask.dim() != 4:
            return False
    heads = key.size(1)
    if key.size(2) != value.size(2) or key.size(3) != query.size(3) or heads != value.size(1):
        return False
    return query.numel() > 0 and key.numel() > 0 and query.size(1) % heads == 0


def flash_gradient(
    grad: Tensor | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    logsumexp: Tensor,
    is_causal: bool,
    mask: Tensor | None,
    scale: float | None,
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of the flash kernel's output; as in PyTorch, its sums have none."""
    if grad is None:
        return None, None, None
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, output, logsumexp, 0.0, is_causal, attn_mask=mask, scale=scale
    )


def flash_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
    mask: Tensor | None,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of attention, of operators that have derivatives."""
    batch, heads, width = key.size(0), key.size(1), key.size(3)
    shared = query.size(1) // heads
    k, v = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
    factor = float(max(width, 1)) ** -0.5 if scale is None else scale
    score = torch.matmul(query, k.transpose(-2, -1)) * factor
    if mask is not None:
        score = score + mask
    if is_causal:
        seen = torch.ones([score.size(-2), score.size(-1)], dtype=torch.bool).tril()
        score = score.masked_fill(seen.logical_not(), -torch.inf)
    weight = torch._safe_softmax(score, -1)
    of_weight = torch.matmul(grad, v.transpose(-2, -1))
    of_score = weight * (of_weight - (of_weight * weight).sum(-1, True)) * factor
    of_query = torch.matmul(of_score, k)
    of_key = torch.matmul(of_score.transpose(-2, -1), query)
    of_value = torch.matmul(weight.transpose(-2, -1), grad)
    sizes = [batch, heads, shared, key.size(2), width]
    return of_query, of_key.reshape(sizes).sum(2), of_value.reshape(sizes).sum(2)


def flash_tangent(
    query_tangent: Tensor,
    key_tangent: Tensor,
    value_tangent: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    logsumexp: Tensor,
    is_causal: bool,
    mask: Tensor | None,
    scale: float | None,
) -> Tensor:
    """The derivative of the flash kernel's output, from the sums that it gives."""
    shared = query.size(1) // key.size(1)
    if shared > 1:
        key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
        key_tangent = key_tangent.repeat_interleave(shared, 1)
        value_tangent = value_tangent.repeat_interleave(shared, 1)
    factor = float(max(query.size(3), 1)) ** -0.5 if scale is None else scale
    query, query_tangent = query * factor, query_tangent * factor
    score = torch.matmul(query, key.transpose(-2, -1))
    if mask is not None:
        score = score + mask
    if is_causal:
        seen = torch.ones([score.size(-2), score.size(-1)], dtype=torch.bool).tril()
        score = score.masked_fill(seen.logical_not(), -torch.inf)
    weight = torch._safe_softmax(score, -1)
    change = torch.matmul(query_tangent, key.transpose(-2, -1))
    change = weight * (change + torch.matmul(query, key_tangent.transpose(-2, -1)))
    made = torch.matmul(change, value) - output * change.sum(-1, True)
    return made + torch.matmul(weight, value_tangent)
