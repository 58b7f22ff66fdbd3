"""The attributes of torch.Tensor: which ones a Tensor has, and why it lacks the others.

Methods come from `ops.calling.tensor_methods` or are operators of the same name. A test compares
this with PyTorch: each attribute has to exist, or to be refused with a reason.
"""

from __future__ import annotations

from . import layouts

METHODS = """
_addmm_activation _autocast_to_full_precision _autocast_to_reduced_precision _coalesced_ _conj
_conj_physical _dimI _dimV _indices _is_all_true _is_any_true _is_zerotensor _lazy_clone _neg_view
_nested_tensor_size _nested_tensor_storage_offsets _nested_tensor_strides _nnz _philox_normal_
_philox_uniform_ _sparse_mask_projection _to_dense _to_sparse _to_sparse_bsc _to_sparse_bsr
_to_sparse_csc _to_sparse_csr _values abs abs_ absolute absolute_ acos acos_ acosh acosh_ add add_
addbmm addbmm_ addcdiv addcdiv_ addcmul addcmul_ addmm addmm_ addmv addmv_ addr addr_ adjoint all
allclose amax amin aminmax angle any apply_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh
arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ argmax argmin argsort argwhere as_strided
as_strided_ as_strided_scatter asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ baddbmm
baddbmm_ bernoulli bernoulli_ bfloat16 bincount bitwise_and bitwise_and_ bitwise_left_shift
bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift
bitwise_right_shift_ bitwise_xor bitwise_xor_ bmm bool broadcast_to byte cauchy_ ccol_indices
cdouble ceil ceil_ cfloat chalf char cholesky cholesky_inverse cholesky_solve chunk clamp clamp_
clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone coalesce col_indices conj conj_physical
conj_physical_ const_data_ptr contiguous copy_ copysign copysign_ corrcoef cos cos_ cosh cosh_
count_nonzero cov cross crow_indices cuda cummax cummin cumprod cumprod_ cumsum cumsum_ deg2rad
deg2rad_ dense_dim dequantize det detach_ diag diag_embed diagflat diagonal diagonal_scatter diff
digamma digamma_ dim_order dist div div_ divide divide_ dot double dsplit eq eq_ equal erf erf_ erfc
erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expand expand_as expm1 expm1_ exponential_ fill_
fill_diagonal_ fix fix_ flatten flip fliplr flipud float float_power float_power_ floor floor_
floor_divide floor_divide_ fmax fmin fmod fmod_ frac frac_ frexp gather gcd gcd_ ge ge_ geometric_
geqrf ger get_device greater greater_ greater_equal greater_equal_ gt gt_ half hardshrink
hash_tensor heaviside heaviside_ histc histogram hsplit hypot hypot_ i0 i0_ igamma igamma_ igammac
igammac_ index index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put
index_put_ index_reduce index_reduce_ index_select indices inner int int_repr inverse ipu
is_coalesced is_conj is_distributed is_inference is_neg is_nonzero is_pinned is_same_size is_set_to
is_shared isclose isfinite isinf isnan isneginf isposinf isreal istft kron kthvalue lcm lcm_ ldexp
ldexp_ le le_ lerp lerp_ less less_ less_equal less_equal_ lgamma lgamma_ log log10 log10_ log1p
log1p_ log2 log2_ log_ log_normal_ log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and
logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor logical_xor_ logit logit_
logsumexp long lt lt_ lu lu_solve map2_ map_ masked_fill masked_fill_ masked_scatter masked_scatter_
masked_select matmul matrix_exp matrix_power max maximum mean median min minimum mm mode moveaxis
movedim msort mtia mul mul_ multinomial multiply multiply_ mv mvlgamma mvlgamma_ nan_to_num
nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy ne ne_ neg neg_ negative
negative_ new new_empty new_empty_strided new_full new_ones new_tensor new_zeros nextafter
nextafter_ nonzero nonzero_static norm normal_ not_equal not_equal_ orgqr ormqr outer permute
pin_memory pinverse polygamma polygamma_ positive pow pow_ prelu prod put put_ q_per_channel_axis
q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qr qscheme quantile rad2deg
rad2deg_ random_ ravel reciprocal reciprocal_ record_stream relu relu_ remainder remainder_ renorm
renorm_ repeat repeat_interleave reshape reshape_as resize resize_ resize_as resize_as_
resize_as_sparse_ resolve_conj resolve_neg roll rot90 round round_ row_indices rsqrt rsqrt_ scatter
scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ select select_scatter set_ sgn sgn_
share_memory_ short sigmoid sigmoid_ sign sign_ signbit sin sin_ sinc sinc_ sinh sinh_ slice_inverse
slice_scatter slogdet smm softmax sort sparse_dim sparse_mask sparse_resize_
sparse_resize_and_clear_ split split_with_sizes sqrt sqrt_ square square_ squeeze squeeze_ sspaddmm
std stft storage storage_type sub sub_ subtract subtract_ sum sum_to_size svd swapaxes swapaxes_
swapdims swapdims_ t t_ take take_along_dim tan tan_ tanh tanh_ tensor_split tile to to_dense
to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc
to_sparse_csr topk trace transpose transpose_ triangular_solve tril tril_ triu triu_ true_divide
true_divide_ trunc trunc_ type type_as unbind unflatten unfold uniform_ unique unique_consecutive
unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_ untyped_storage values var
vdot view view_as vsplit where xlogy xlogy_ xpu zero_
""".split()
"""Methods that `tensors.Tensor` does not define itself; they are created on first use."""

DERIVED = (
    "grad",
    "grad_fn",
    "is_leaf",
    "output_nr",
    "retains_grad",
    "data",
    "_base",
    "_version",
    "_grad",
    "_grad_fn",
    "_backward_hooks",
    "_post_accumulate_grad_hooks",
)
"""Attributes for derivatives (ops/derivatives/members.py)."""

DERIVED_METHODS = (
    "backward",
    "register_hook",
    "register_post_accumulate_grad_hook",
    "requires_grad_",
    "_require",
    "retain_grad",
    "_is_view",
    "_refuse_numpy",
    "__deepcopy__",
)
"""Methods for derivatives."""

FALSE = (
    "is_cuda",
    "is_ipu",
    "is_maia",
    "is_meta",
    "is_mkldnn",
    "is_mps",
    "is_mtia",
    "is_nested",
    "is_quantized",
    "is_sparse",
    "is_sparse_csr",
    "is_vulkan",
    "is_xla",
    "is_xpu",
    "volatile",
)
"""Attributes that are False for every plain tensor."""

FACTS = {**dict.fromkeys(FALSE, False), "is_cpu": True, "name": None, "layout": layouts.strided}
"""Attributes that have the same value for every plain tensor."""

_INTERNAL = "an inner part of PyTorch"
_NO_DICT = "tensors keep no attributes but their own; keep such things beside them"
REFUSED = {
    **dict.fromkeys(
        ("__cuda_array_interface__", "__dlpack_c_exchange_api__"),
        "tensors lie in the memory of the CPU; use numpy() or __dlpack__()",
    ),
    **dict.fromkeys(
        (
            "__torch_dispatch__",
            "__torch_function__",
            "_python_dispatch",
            "_dtensor__new__",
            "_make_subclass",
            "_make_wrapper_subclass",
            "as_subclass",
            "module_load",
        ),
        "calls of operators cannot be redirected to subclasses of Tensor",
    ),
    **dict.fromkeys(("__dict__", "__annotations__"), _NO_DICT),
    **dict.fromkeys(
        ("__setstate__", "_reduce_ex_internal"), "tensors are pickled and copied by __reduce__"
    ),
    **dict.fromkeys(
        ("_view_func", "_view_func_unsafe", "_rev_view_func_unsafe"),
        "views cannot be made again; compare untyped_storage()",
    ),
    "_use_count": "references are not counted",
    "grad_dtype": "gradients have the dtype of their tensor",
    **dict.fromkeys(
        (
            "_cdata",
            "_clear_non_serializable_cached_data",
            "_fix_weakref",
            "_has_symbolic_sizes_strides",
        ),
        _INTERNAL,
    ),
    **dict.fromkeys(
        ("eig", "lstsq", "solve", "symeig"), "PyTorch has removed it; use scriptlang.linalg"
    ),
    "_typed_storage": "call storage()",
    "__delitem__": "elements of tensors cannot be removed",
    "reinforce": "PyTorch has removed it",
}
"""Attributes of torch.Tensor that a Tensor lacks, and why."""


def explain(name: str) -> str:
    """The error message for an attribute that a Tensor lacks."""
    reason = REFUSED.get(name)
    return f"'Tensor' object has no attribute {name!r}" + (f": {reason}" if reason else "")
