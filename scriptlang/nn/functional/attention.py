"""nn.functional's multi-head attention, written in the scripted language."""

from __future__ import annotations

import math
import warnings
from typing import Optional, Tuple

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .activation import softmax
from .dropout import dropout
from .linear import linear
from .padding import pad

scaled_dot_product_attention = torch.scaled_dot_product_attention


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Optional[Tensor] = None
) -> Tuple[Tensor, Tensor, Tensor]:
    """Project queries, keys and values with one weight of shape (3 * E, E), a third for each."""
    w_q, w_k, w_v = w.chunk(3)
    if b is None:
        return linear(q, w_q), linear(k, w_k), linear(v, w_v)
    b_q, b_k, b_v = b.chunk(3)
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor, Tensor]:
    """Project queries, keys and values with a weight each; b contains their three biases."""
    assert list(w_q.shape) == [q.size(-1), q.size(-1)], (
        f"expecting query weights shape of {(q.size(-1), q.size(-1))}, but got {w_q.shape}"
    )
    assert list(w_k.shape) == [q.size(-1), k.size(-1)], (
        f"expecting key weights shape of {(q.size(-1), k.size(-1))}, but got {w_k.shape}"
    )
    assert list(w_v.shape) == [q.size(-1), v.size(-1)], (
        f"expecting value weights shape of {(q.size(-1), v.size(-1))}, but got {w_v.shape}"
    )
    if b is None:
        return linear(q, w_q), linear(k, w_k), linear(v, w_v)
    b_q, b_k, b_v = b.chunk(3)
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _mha_shape_check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Optional[Tensor],
    attn_mask: Optional[Tensor],
    num_heads: int,
) -> bool:
    """Whether the inputs have a batch dimension.
    Raises AssertionError if ranks or shapes do not fit."""
    n = query.dim()
    assert n == 2 or n == 3, (
        f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor"
    )
    kind = "batched" if n == 3 else "unbatched"
    assert key.dim() == n and value.dim() == n, (
        f"For {kind} ({n}-D) `query`, expected `key` and `value` to be {n}-D but found "
        f"{key.dim()}-D and {value.dim()}-D tensors respectively"
    )
    if key_padding_mask is not None:
        assert key_padding_mask.dim() == n - 1, (
            f"For {kind} ({n}-D) `query`, expected `key_padding_mask` to be `None` or {n - 1}-D "
            f"but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        assert attn_mask.dim() in (2, 3), (
            f"For {kind} ({n}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )
        if n == 2 and attn_mask.dim() == 3:
            expected = [num_heads, query.size(0), key.size(0)]
            assert list(attn_mask.shape) == expected, (
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
            )
    return n == 3


def _none_or_dtype(input: Optional[Tensor]) -> Optional[int]:
    if input is None:
        return None
    return input.dtype


def _canonical_mask(
    mask: Optional[Tensor],
    mask_name: str,
    other_type: Optional[int],
    other_name: str,
    target_type: int,
    check_other: bool = True,
) -> Optional[Tensor]:
    """A mask as floats to be added to scores: -inf where a bool mask is True."""
    if mask is None:
        return None
    floats = torch.is_floating_point(mask)
    assert mask.dtype == torch.bool or floats, (
        f"only bool and floating types of {mask_name} are supported"
    )
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use "
            "same type for both instead."
        )
    if floats:
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _check_mask_shape(
    attn_mask: Tensor, bsz: int, num_heads: int, tgt_len: int, src_len: int
) -> Tensor:
    """The mask with a batch dimension, (1 or N * heads, L, S).
    Raises RuntimeError for other shapes."""
    if attn_mask.dim() == 2:
        if list(attn_mask.shape) != [tgt_len, src_len]:
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be "
                f"{(tgt_len, src_len)}."
            )
        return attn_mask.unsqueeze(0)
    if attn_mask.dim() == 3:
        if list(attn_mask.shape) != [bsz * num_heads, tgt_len, src_len]:
            raise RuntimeError(
                f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be "
                f"{(bsz * num_heads, tgt_len, src_len)}."
            )
        return attn_mask
    raise RuntimeError(f"attn_mask's dimension {attn_mask.dim()} is not supported")


def _heads(
    x: Tensor, static: Optional[Tensor], name: str, bsz: int, num_heads: int, head_dim: int
) -> Tensor:
    """Keys or values split into heads, (bsz * num_heads, length, head_dim); `static` has that shape
    already."""
    if static is None:
        return x.view(x.size(0), bsz * num_heads, head_dim).transpose(0, 1)
    assert static.size(0) == bsz * num_heads, (
        f"expecting {name}.size(0) of {bsz * num_heads}, but got {static.size(0)}"
    )
    assert static.size(2) == head_dim, (
        f"expecting {name}.size(2) of {head_dim}, but got {static.size(2)}"
    )
    return static


def _longer(mask: Optional[Tensor]) -> Optional[Tensor]:
    """The mask with one more key, which is not masked."""
    return None if mask is None else pad(mask, (0, 1))


def _head_dim(embed_dim: int, embed_dim_to_check: int, num_heads: int) -> int:
    assert embed_dim == embed_dim_to_check, (
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}"
    )
    head_dim = embed_dim // num_heads
    assert head_dim * num_heads == embed_dim, (
        f"embed_dim {embed_dim} not divisible by num_heads {num_heads}"
    )
    return head_dim


def _with_biases(
    k: Tensor,
    v: Tensor,
    bias_k: Tensor,
    bias_v: Tensor,
    static_k: Optional[Tensor],
    static_v: Optional[Tensor],
) -> Tuple[Tensor, Tensor]:
    """k and v (S, N, E) with the biases (1, 1, E) appended as one more key and value."""
    assert static_k is None, "bias cannot be added to static key."
    assert static_v is None, "bias cannot be added to static value."
    bsz = k.size(1)
    return torch.cat([k, bias_k.repeat(1, bsz, 1)]), torch.cat([v, bias_v.repeat(1, bsz, 1)])


def _with_zero(x: Tensor) -> Tensor:
    """The keys or values with one of zeros appended, (N * heads, S + 1, head)."""
    return torch.cat([x, torch.zeros([x.size(0), 1, x.size(2)], dtype=x.dtype, device=x.device)], 1)


def _projected(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    use_separate_proj_weight: bool,
    in_proj_weight: Optional[Tensor],
    q_proj_weight: Optional[Tensor],
    k_proj_weight: Optional[Tensor],
    v_proj_weight: Optional[Tensor],
    in_proj_bias: Optional[Tensor],
) -> Tuple[Tensor, Tensor, Tensor]:
    """Project q, k and v, with one weight for all three or one for each."""
    if use_separate_proj_weight:
        assert key.shape[:2] == value.shape[:2], (
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
        assert q_proj_weight is not None, (
            "use_separate_proj_weight is True but q_proj_weight is None"
        )
        assert k_proj_weight is not None, (
            "use_separate_proj_weight is True but k_proj_weight is None"
        )
        assert v_proj_weight is not None, (
            "use_separate_proj_weight is True but v_proj_weight is None"
        )
        return _in_projection(
            query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias
        )
    assert key.shape == value.shape, (
        f"key shape {key.shape} does not match value shape {value.shape}"
    )
    assert in_proj_weight is not None, (
        "use_separate_proj_weight is False but in_proj_weight is None"
    )
    return _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)


def _with_padding(
    attn_mask: Optional[Tensor], key_padding_mask: Tensor, bsz: int, num_heads: int, src_len: int
) -> Tensor:
    """A mask (N * heads, 1 or L, S) that also masks padded keys (N, S)."""
    assert key_padding_mask.size(0) == bsz, (
        f"Expected key_padded_mask.shape[0] to be {bsz}, but got {key_padding_mask.size(0)}"
    )
    assert key_padding_mask.size(1) == src_len, (
        f"Expected key_padded_mask.shape[1] to be {src_len}, but got {key_padding_mask.size(1)}"
    )
    masked = (
        key_padding_mask.view(bsz, 1, 1, src_len)
        .expand(-1, num_heads, -1, -1)
        .reshape(bsz * num_heads, 1, src_len)
    )
    return masked if attn_mask is None else attn_mask + masked


def _mixed_by_weights(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Optional[Tensor], dropout_p: float
) -> Tuple[Tensor, Tensor]:
    """Return (attention output (N * heads, L, head), weights (N * heads, L, S))."""
    scaled = q * math.sqrt(1.0 / float(q.size(2)))
    weights = (
        torch.bmm(scaled, k.transpose(-2, -1))
        if attn_mask is None
        else torch.baddbmm(attn_mask, scaled, k.transpose(-2, -1))
    )
    weights = softmax(weights, dim=-1)
    if dropout_p > 0.0:
        weights = dropout(weights, p=dropout_p)
    return torch.bmm(weights, v), weights


def _mixed_at_once(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Optional[Tensor],
    dropout_p: float,
    is_causal: bool,
    num_heads: int,
) -> Tensor:
    """The attention output (L, N, heads, head), computed without keeping the weights."""
    bsz, src_len = q.size(0) // num_heads, k.size(1)
    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(bsz, num_heads, -1, src_len)
    mixed = scaled_dot_product_attention(
        q.view(bsz, num_heads, q.size(1), q.size(2)),
        k.view(bsz, num_heads, src_len, k.size(2)),
        v.view(bsz, num_heads, src_len, v.size(2)),
        attn_mask,
        dropout_p,
        is_causal,
    )
    return mixed.permute(2, 0, 1, 3)


def _mixed(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Optional[Tensor],
    dropout_p: float,
    is_causal: bool,
    num_heads: int,
    need_weights: bool,
    average_attn_weights: bool,
) -> Tuple[Tensor, Optional[Tensor]]:
    """Return (attention output (L * N, E), weights if they are needed, else None)."""
    bsz, tgt_len = q.size(0) // num_heads, q.size(1)
    rows, embed_dim = tgt_len * bsz, num_heads * q.size(2)
    if not need_weights:
        mixed = _mixed_at_once(q, k, v, attn_mask, dropout_p, is_causal, num_heads)
        return mixed.contiguous().view(rows, embed_dim), None
    assert not is_causal or attn_mask is not None, (
        "is_causal together with need_weights needs an attn_mask; give the causal one"
    )
    mixed, each = _mixed_by_weights(q, k, v, attn_mask, dropout_p)
    each = each.view(bsz, num_heads, tgt_len, k.size(1))
    weights = each.mean(dim=1) if average_attn_weights else each
    return mixed.transpose(0, 1).reshape(rows, embed_dim), weights


def _masks_to_add(
    attn_mask: Optional[Tensor],
    key_padding_mask: Optional[Tensor],
    is_causal: bool,
    need_weights: bool,
    dtype: torch.dtype,
) -> Tuple[Optional[Tensor], Optional[Tensor], bool]:
    """Return (attn_mask and key_padding_mask as floats to add to scores, whether it is causal)."""
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the "
            "Transformer module method `generate_square_subsequent_mask` to create "
            "this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, True
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, False)
    return attn_mask, key_padding_mask, is_causal and key_padding_mask is None


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Optional[Tensor],
    in_proj_bias: Optional[Tensor],
    bias_k: Optional[Tensor],
    bias_v: Optional[Tensor],
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Optional[Tensor],
    training: bool = True,
    key_padding_mask: Optional[Tensor] = None,
    need_weights: bool = True,
    attn_mask: Optional[Tensor] = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Optional[Tensor] = None,
    k_proj_weight: Optional[Tensor] = None,
    v_proj_weight: Optional[Tensor] = None,
    static_k: Optional[Tensor] = None,
    static_v: Optional[Tensor] = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Tuple[Tensor, Optional[Tensor]]:
    """Multi-head attention; returns (output, weights).

    query: (L, N, E); key, value: (S, N, E), all without N for unbatched inputs. The output has the
    shape of the query. key_padding_mask (N, S), attn_mask (L, S) or (N * heads, L, S): positions
    with True or -inf are masked.
    need_weights: also return the weights, (N, L, S) if averaged over heads, else (N, heads, L, S).
    Raises AssertionError or RuntimeError if shapes do not fit.
    """
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    attn_mask, key_padding_mask, is_causal = _masks_to_add(
        attn_mask, key_padding_mask, is_causal, need_weights, query.dtype
    )
    head_dim = _head_dim(embed_dim, embed_dim_to_check, num_heads)
    q, k, v = _projected(
        query,
        key,
        value,
        use_separate_proj_weight,
        in_proj_weight,
        q_proj_weight,
        k_proj_weight,
        v_proj_weight,
        in_proj_bias,
    )
    if attn_mask is not None:
        attn_mask = _check_mask_shape(attn_mask, bsz, num_heads, tgt_len, key.size(0))
    if bias_k is not None and bias_v is not None:
        k, v = _with_biases(k, v, bias_k, bias_v, static_k, static_v)
        attn_mask, key_padding_mask = _longer(attn_mask), _longer(key_padding_mask)
    else:
        assert bias_k is None, "bias_k is set but bias_v is None"
        assert bias_v is None, "bias_v is set but bias_k is None"
    q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)
    k = _heads(k, static_k, "static_k", bsz, num_heads, head_dim)
    v = _heads(v, static_v, "static_v", bsz, num_heads, head_dim)
    if add_zero_attn:
        k, v = _with_zero(k), _with_zero(v)
        attn_mask, key_padding_mask = _longer(attn_mask), _longer(key_padding_mask)
    if key_padding_mask is not None:
        attn_mask = _with_padding(attn_mask, key_padding_mask, bsz, num_heads, k.size(1))
    dropout_p = dropout_p if training else 0.0
    mixed, weights = _mixed(
        q, k, v, attn_mask, dropout_p, is_causal, num_heads, need_weights, average_attn_weights
    )
    output = linear(mixed, out_proj_weight, out_proj_bias)
    output = output.view(tgt_len, bsz, output.size(1))
    if is_batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)
