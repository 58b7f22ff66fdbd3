"""What out= forms ask of the tensor that is given: its element type, and whose memory it shares."""

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
"""Their result is converted, as is that of names in FAMILIES; others want its very type."""

FAMILIES = ("special_", "fft_", "bitwise_")

OF_NUMBERS = frozenset(f"{name}.Scalar_out" for name in "add sub mul div floor_divide".split())
"""Forms that want the type of their result in programs, and copy it; but not where Python calls
them: it makes a tensor of the number there."""

EXACT = OF_NUMBERS | frozenset((
    "lerp.Tensor_out", "bernoulli.float_out", "max.dim_max", "min.dim_min", "sum.out", "prod.out",
    "clamp.out", "clip.out", "clamp_min.out", "clamp_max.out", "special_round.out",
    "fft_ihfft.out", "bitwise_not.out"))
"""Forms that want the type of their result though others of the name or family convert."""


def converts(name: str, overload: str) -> bool:
    """Whether the out= form with that name, without `aten::`, converts its result."""
    return f"{name}.{overload}" not in EXACT and (
        name in CONVERTING or name.startswith(FAMILIES))


APART = frozenset("""
_chunk_cat cat column_stack concat concatenate cross dstack gather hstack index_select kron
linalg_cross masked_select nonzero outer row_stack stack take take_along_dim vstack
""".split())
"""The out= tensor shares no memory with a tensor that is read."""

LOOSE = frozenset("""
alias_copy all amax amin any argmax argmin as_strided_copy avg_pool2d avg_pool3d bmm bucketize
cholesky cholesky_inverse cholesky_solve diag diagonal_copy expand_copy linear log_sigmoid
log_softmax logsumexp lu_solve matmul mean mm mv mvlgamma nansum narrow_copy norm ormqr permute_copy
prod slice_scatter softmax special_ndtr squeeze_copy std sum t_copy tensordot transpose_copy tril
triu unfold_copy unsqueeze_copy var view_copy
""".split())
"""Nobody looks whose memory the out= tensor shares, nor in `linalg_` and `fft_`; elsewhere it may
be a tensor that is read, but no part of one."""


def sharing(name: str, overload: str) -> str:
    """How the output of a form, without `aten::`, may share memory with what is read: "free",
    "same" (each element with its own place) or "apart"."""
    if name in APART:
        return "apart"
    free = name in LOOSE or name.startswith(("linalg_", "fft_"))
    return "free" if free or f"{name}.{overload}" in OF_NUMBERS else "same"
