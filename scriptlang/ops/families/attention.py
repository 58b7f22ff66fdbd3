"""Attention: scaled dot products, and the fused layers that PyTorch's fast path records."""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes
from ...tensors import Tensor
from ..calling.dispatch import call
from ..shared.elementwise import cast
from ..shared.layout import laid_like, rows
from ..table import primitive
from .nested import NestedTensor


def softmax_rows(score: np.ndarray) -> np.ndarray:
    """Softmax over the last dimension; a row that is all -inf gives nan, as in PyTorch."""
    with np.errstate(all="ignore"):
        top = score.max(-1, keepdims=True) if score.shape[-1] else 0
        e = np.exp(score - top)
        return e / e.sum(-1, keepdims=True)


@primitive(
    "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
    "Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, "
    "float? scale=None, bool enable_gqa=False) -> Tensor",
    random=True,
    may_share=True,
    layout="hides",
)
def scaled_dot_product_attention(
    query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
):
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype.c_name} key.dtype: {key.dtype.c_name} and "
            f"value.dtype: {value.dtype.c_name} instead."
        )
    if min(len(t._size) for t in (query, key, value)) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if attn_mask is not None:
        flash = fits_flash(query, key, value, dropout_p, enable_gqa)
        _check_attention_mask(attn_mask, query, is_causal, flash)
    compute = dtypes.working_type(query.dtype)
    q, k, v = (t._array.astype(compute, copy=False) for t in (query, key, value))
    if enable_gqa:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    factor = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale
    score = (q * compute(factor) if compute is np.float32 else q * factor) @ k.swapaxes(-1, -2)
    if is_causal:
        score = np.where(np.tri(*score.shape[-2:], dtype=bool), score, -np.inf)
    if attn_mask is not None:
        mask = attn_mask._array
        score = (
            np.where(mask, score, -np.inf)
            if attn_mask.dtype is dtypes.bool
            else score + mask.astype(compute)
        )
    weight = softmax_rows(score)
    if attn_mask is not None:
        weight = np.where(np.isneginf(score).all(-1, keepdims=True), 0, weight)
    weight = weight.astype(compute)
    if dropout_p:
        weight = call("aten::dropout", (Tensor._wrap(weight), dropout_p, True))._array
    made = Tensor._wrap(rows(weight @ v))
    if flashes(query, key, value, dropout_p, enable_gqa):
        made = Tensor._wrap(laid_like(made._array, query))
    return cast(made, query.dtype)


def flashes(query, key, value, dropout_p, enable_gqa) -> bool:
    """Whether PyTorch's flash kernel handles the tensors.

    Its result has the query's dimension order in memory; that of the matrix products is row-major.
    """
    some = query._size[-2] > 0 and key._size[-2] > 0
    return some and fits_flash(query, key, value, dropout_p, enable_gqa)


def fits_flash(query: Tensor, key: Tensor, value: Tensor, dropout: float, enable_gqa: bool) -> bool:
    """Whether PyTorch's flash kernel takes these tensors, be there rows or none."""
    if not has_flash_sizes(query, key, value, dropout, enable_gqa):
        return False
    return query.stride(3) == 1 and key.stride(3) == 1 and value.stride(3) == 1


def has_flash_sizes(
    query: Tensor, key: Tensor, value: Tensor, dropout: float, enable_gqa: bool
) -> bool:
    """Whether the flash kernel takes tensors of these shapes; ours takes them with any strides.

    It is in the language, since the derivative asks it, too.
    """
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4 or dropout != 0:
        return False
    heads = enable_gqa or query.size(1) == key.size(1) and query.size(1) == value.size(1)
    batches = query.size(0) == key.size(0) and query.size(0) == value.size(0)
    return heads and batches and query.size(3) == value.size(3)


def _check_attention_mask(mask, query, is_causal: bool, flash: bool) -> None:
    """Raise what PyTorch raises: of its two ways, only the flash kernel takes a mask with
    `is_causal`, and only one of 2 or 4 dimensions.
    """
    if mask.dtype not in (dtypes.bool, dtypes.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {mask.dtype.c_name} and  "
            f"query.dtype: {query.dtype.c_name} instead."
        )
    if flash and mask.dim() == 1:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    if is_causal and not (flash and mask.dim() in (2, 4) and not mask.requires_grad):
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set "
            "when is_causal=True"
        )


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """Reshape (batch, length, size) to (batch, heads, length, size / heads)."""
    b, n, d = x.shape
    return x.reshape(b, n, heads, d // heads).swapaxes(1, 2)


def attend(
    x: np.ndarray,
    heads: int,
    w: np.ndarray,
    bias: np.ndarray,
    out_w: np.ndarray,
    out_bias: np.ndarray,
    mask,
) -> tuple[np.ndarray, np.ndarray]:
    """Self-attention with one weight matrix for query, key and value; return (result, weights)."""
    b, n, d = x.shape
    q, k, v = (split_heads(p, heads) for p in np.split(x @ w.T + bias, 3, -1))
    score = (q / math.sqrt(d // heads)) @ k.swapaxes(-1, -2)
    if mask is not None:
        score = np.where(mask, -np.inf, score)
    weight = softmax_rows(score)
    joined = (weight @ v).swapaxes(1, 2).reshape(b, n, d)
    return (joined @ out_w.T + out_bias).astype(x.dtype), weight.astype(x.dtype)


def mask_for(mask, mask_type, heads: int, shape) -> np.ndarray | None:
    """The positions that a query must not attend to, broadcastable to (batch, heads, n, n).

    A mask of another type is read as bool, as in PyTorch: nonzero is masked.  mask_type: whether a
    mask of two dimensions is (n, n), 0, or (batch, n), 1.  shape: that of the input.
    """
    if mask is None:
        return None
    batch, n = shape[0], shape[1]
    masked = mask._array != 0
    if masked.ndim != 2:
        _check_mask(2, "match input shape", masked.shape == (batch, heads, n, n))
        return masked
    if mask_type is None:
        raise RuntimeError("Mask Type should be defined: 0 for a mask (L, L), 1 for one of (B, L)")
    if mask_type == 0:
        _check_mask(0, "be (L, L)", masked.shape == (n, n))
        return masked
    _check_mask(
        mask_type,
        "be (B, L)" if mask_type == 1 else "match input shape",
        mask_type == 1 and masked.shape == (batch, n),
    )
    return masked[:, None, None]


def _check_mask(mask_type: int, wanted: str, holds: bool) -> None:
    if not holds:
        raise RuntimeError(f"For mask_type == {mask_type} mask shape should {wanted}")


@primitive(
    "aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, "
    "int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, "
    "Tensor proj_bias, Tensor? mask=None, bool need_weights=True, "
    "bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)"
)
def native_multi_head_attention(
    query,
    key,
    value,
    embed_dim,
    num_head,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    mask,
    need_weights,
    average_attn_weights,
    mask_type,
):
    if len(query._size) != 3 or query._size[-1] != embed_dim:
        raise RuntimeError(
            f"expected 3-D `query` of size embed_dim {embed_dim}, got {list(query._size)}"
        )
    if num_head <= 0 or embed_dim % num_head:
        raise RuntimeError(f"embed_dim {embed_dim} is not divisible by num_head {num_head}")
    w, bias, d = qkv_weight._array, qkv_bias._array, embed_dim
    parts = [
        t._array @ w[i * d : (i + 1) * d].T + bias[i * d : (i + 1) * d]
        for i, t in enumerate((query, key, value))
    ]
    q, k, v = (split_heads(p, num_head) for p in parts)
    score = (q / math.sqrt(d // num_head)) @ k.swapaxes(-1, -2)
    masked = mask_for(mask, mask_type, num_head, query._size)
    if masked is not None:
        score = np.where(masked, -np.inf, score)
    weight = softmax_rows(score)
    joined = (weight @ v).swapaxes(1, 2).reshape(query._size)
    out = (joined @ proj_weight._array.T + proj_bias._array).astype(query.dtype.numpy)
    if not need_weights:
        return Tensor._wrap(out), Tensor._wrap(np.zeros(0, out.dtype))
    shown = weight.mean(1) if average_attn_weights else weight
    return Tensor._wrap(out), Tensor._wrap(shown.astype(out.dtype))


def layer_norm(x: np.ndarray, weight, bias, eps: float) -> np.ndarray:
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    scale = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + eps)
    return (centred * scale * weight._array + bias._array).astype(x.dtype)


@primitive(
    "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, "
    "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, "
    "bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, "
    "Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, "
    "Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None)"
    " -> Tensor",
    shape="like_first",
)
def transformer_encoder_layer_fwd(
    src,
    embed_dim,
    num_heads,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    use_gelu,
    norm_first,
    eps,
    norm_weight_1,
    norm_bias_1,
    norm_weight_2,
    norm_bias_2,
    ffn_weight_1,
    ffn_bias_1,
    ffn_weight_2,
    ffn_bias_2,
    mask,
    mask_type,
):
    from ..shared import special

    if isinstance(src, NestedTensor):
        layer = (embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu)
        norms = (norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2)
        ffn = (ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2)

        def one(x):
            return transformer_encoder_layer_fwd(
                Tensor._wrap(x), *layer, *norms, *ffn, None, None
            )._array

        return src.each(one)
    x = src._array
    if x.ndim != 3:
        raise RuntimeError(f"batch dimension expected: src has size {list(src._size)}")
    masked = mask_for(mask, mask_type, num_heads, src._size)

    def attention(y):
        return attend(
            y,
            num_heads,
            qkv_weight._array,
            qkv_bias._array,
            proj_weight._array,
            proj_bias._array,
            masked,
        )[0]

    def feed_forward(y):
        y = y @ ffn_weight_1._array.T + ffn_bias_1._array
        y = (
            y * 0.5 * (1 + special.erf(y / np.float32(math.sqrt(2))))
            if use_gelu
            else np.maximum(y, 0)
        )
        return (y @ ffn_weight_2._array.T + ffn_bias_2._array).astype(x.dtype)

    if norm_first:
        x = x + attention(layer_norm(x, norm_weight_1, norm_bias_1, eps))
        x = x + feed_forward(layer_norm(x, norm_weight_2, norm_bias_2, eps))
    else:
        x = layer_norm(x + attention(x), norm_weight_1, norm_bias_1, eps)
        x = layer_norm(x + feed_forward(x), norm_weight_2, norm_bias_2, eps)
    return Tensor._wrap(x)


FLASH = "scaled_dot_product_attention_flash_attention: "


@primitive(
    "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, "
    "float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> "
    "(Tensor output, Tensor logsumexp)",
    random=True,
    layout="hides",
)
def flash_attention(query, key, value, dropout_p, is_causal, attn_mask, scale):
    """Attention, and the logarithm of the sum of the exponentials of each row of scores, 0 for a
    row that sees nothing or has no elements.
    """
    check_flash(query, key, value, dropout_p, attn_mask)
    q, k, v, score = flash_scores(query, key, value, is_causal, attn_mask, scale)
    with np.errstate(all="ignore"):
        top = score.max(-1, keepdims=True, initial=-np.inf)
        power = np.exp(score - top)
        total = power.sum(-1, keepdims=True)
        hidden = np.isneginf(top) | (q.shape[-1] == 0)
        weight = np.where(hidden, 0, power / total).astype(q.dtype)
        logarithm = np.where(hidden, 0, top + np.log(total))[..., 0].astype(q.dtype)
    output = cast(Tensor._wrap(laid_like(weight @ v, query)), query.dtype)
    return output, Tensor._wrap(heads_inside(logarithm))


@primitive(
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, "
    "Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, "
    "Tensor? attn_mask=None, float? scale=None) -> "
    "(Tensor grad_query, Tensor grad_key, Tensor grad_value)",
    layout="hides",
)
def flash_attention_backward(
    grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale
):
    """The gradients; the weights are computed again."""
    check_flash(query, key, value, dropout_p, attn_mask)
    if grad_out._size != query._size:
        raise RuntimeError(
            f"{FLASH}grad_out has the sizes {list(grad_out._size)}, query {list(query._size)}"
        )
    if out._size != query._size:
        raise RuntimeError(f"{FLASH}out has the sizes {list(out._size)}, query {list(query._size)}")
    if logsumexp._size != query._size[:3]:
        raise RuntimeError(
            f"{FLASH}logsumexp has the sizes {list(logsumexp._size)}, query {list(query._size)}"
        )
    q, k, v, score = flash_scores(query, key, value, is_causal, attn_mask, scale)
    weight = np.exp(score - logsumexp._array.astype(q.dtype)[..., None])
    g = grad_out._array.astype(q.dtype, copy=False)
    of_weight = g @ v.swapaxes(-1, -2)
    dots = (g * out._array.astype(q.dtype, copy=False)).sum(-1, keepdims=True)
    of_score = weight * (of_weight - dots)
    of_score *= q.dtype.type(flash_scale(query, scale))
    turned = of_score.swapaxes(-1, -2)
    made = (
        (of_score @ k, query),
        (by_head(turned @ q, key), key),
        (by_head(weight.swapaxes(-1, -2) @ g, value), value),
    )
    return tuple(cast(Tensor._wrap(heads_inside(a)), of.dtype) for a, of in made)


def check_flash(query, key, value, dropout_p, mask) -> None:
    """Raise what PyTorch raises, and for sizes with which it would read beyond its memory."""
    if query.dtype.kind != "f":
        shown = dtypes.DISPLAY[query.dtype.name]
        raise RuntimeError(
            f"{FLASH}Expected data type in FP32, FP64, BF16, FP16, but got {shown} instead."
        )
    if not len(query._size) == len(key._size) == len(value._size) == 4:
        raise RuntimeError(f"{FLASH}Accept only 4 dims inputs shape of {{B, H, T, K}}")
    if dropout_p != 0:
        raise RuntimeError(f"{FLASH}Currently do not support dropout > 0")
    if not query._size[3] == key._size[3] == value._size[3]:
        raise RuntimeError(f"{FLASH}Q/K/V should have the same head size")
    if mask is not None and mask.dtype is not query.dtype:
        raise RuntimeError(f"{FLASH}Attention mask is the same data type as query")
    if mask is not None and len(mask._size) not in (2, 4):
        raise RuntimeError(f"{FLASH}Attention mask dim in {{2, 4}}")
    heads = key._size[1]
    fits = key._size[:3] == value._size[:3] and query._size[0] == key._size[0]
    if (
        not fits
        or not heads
        or query._size[1] % heads
        or not query.dtype is key.dtype is value.dtype
    ):
        raise RuntimeError(
            f"{FLASH}query {list(query._size)}, key {list(key._size)} and value "
            f"{list(value._size)} of one dtype, batch and number of keys are needed"
        )


def flash_scale(query, scale: float | None) -> float:
    return 1 / math.sqrt(max(query._size[3], 1)) if scale is None else scale


def flash_scores(query, key, value, is_causal, mask, scale):
    """Query, key and value as arrays in which all have the heads of the query, and the scores."""
    compute = dtypes.working_type(query.dtype)
    q, k, v = (t._array.astype(compute, copy=False) for t in (query, key, value))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    score = (q @ k.swapaxes(-1, -2)) * q.dtype.type(flash_scale(query, scale))
    if mask is not None:
        score = score + np.broadcast_to(mask._array.astype(q.dtype), score.shape)
    if is_causal:
        seen = np.tri(*score.shape[-2:], dtype=bool)
        score = np.where(seen, score, q.dtype.type(-np.inf))
    return q, k, v, score


def by_head(array: np.ndarray, of: Tensor) -> np.ndarray:
    """Sums over the heads of a query that share a head of `of`."""
    batch, heads, rows_, width = array.shape
    shared = heads // of._size[1]
    return array.reshape(batch, of._size[1], shared, rows_, width).sum(2)


def heads_inside(array: np.ndarray) -> np.ndarray:
    """The array, in memory with the heads behind the rows, as PyTorch's flash kernel gives it."""
    return np.ascontiguousarray(array.swapaxes(1, 2)).swapaxes(1, 2)
