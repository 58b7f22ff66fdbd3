"""Which out= forms convert their result to the type of the tensor that is given."""

from __future__ import annotations

CONVERTING = frozenset("""
_chunk_cat abs absolute acos acosh add addcdiv addcmul addr all angle any arccos arccosh arcsin
arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh bernoulli cat cholesky_inverse
cholesky_solve clamp clamp_max clamp_min clip column_stack concat concatenate copysign cos cosh
cumprod cumsum deg2rad diff digamma div divide dstack eq erf erfc erfinv exp exp2 expm1
floor_divide fmax fmin fmod gcd ge geqrf ger glu greater greater_equal gt hstack huber_loss
hypot i0 igamma igammac inner kron lcm le lerp less less_equal lgamma linalg_cond
linalg_eigvals linalg_householder_product linalg_matrix_power linalg_matrix_rank linalg_pinv
linalg_tensorinv linalg_tensorsolve log log10 log1p log2 logaddexp logaddexp2 logical_and
logical_not logical_or logical_xor logit logsumexp lt max maximum mean min minimum mse_loss mul
multilabel_margin_loss multiply mvlgamma nanmean nansum ne nextafter normal not_equal outer
polygamma pow prod rad2deg reciprocal remainder row_stack rsqrt sigmoid sigmoid_backward sin
sinc sinh smooth_l1_loss sqrt square stack std sub subtract sum tan tanh tanh_backward
threshold threshold_backward true_divide var vstack xlogy
""".split())
"""Their result is converted, as is that of names in FAMILIES; others want its very type.

Sums and products with numbers are here for the sake of calls from Python, where PyTorch makes
tensors of the numbers; its scripts refuse other types (`mul.Scalar_out`).
"""

FAMILIES = ("special_", "fft_", "bitwise_")

EXACT = frozenset((
    "lerp.Tensor_out", "bernoulli.float_out", "max.dim_max", "min.dim_min", "sum.out", "prod.out",
    "clamp.out", "clip.out", "clamp_min.out", "clamp_max.out", "special_round.out",
    "fft_ihfft.out", "bitwise_not.out"))
"""Forms that want the type of their result though others of the name or family convert."""


def converts(name: str, overload: str) -> bool:
    """Whether the out= form with that name, without `aten::`, converts its result."""
    return f"{name}.{overload}" not in EXACT and (
        name in CONVERTING or name.startswith(FAMILIES))
