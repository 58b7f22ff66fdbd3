"""Rules for batches: operators of elements, views, reductions, joins.

Most operators take any number of dimensions, and count those that they work on from the last one
(`by_dims`); then the dimension of the examples, which is the first, needs nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tensors import Tensor
from ..calling import dispatch, functions
from ..derivatives.tangents import NotMapped
from .calls import RULES, Call, rule

# Elements


def pointwise(made: Call) -> Any:
    """Dimensions are added behind that of the examples, so that all tensors broadcast."""
    places = [i for i, v in enumerate(made.values) if isinstance(v, Tensor)]
    rank = max(made.rank(i) for i in places)
    parts: dict[int, Any] = {i: made.aligned(i, rank) for i in places}
    if len(places) > 1:
        keep_types(made, parts)
    return made.run(*made.with_parts(parts))


def keep_types(made: Call, parts: dict[int, Any]) -> None:
    """Convert batches of numbers, whose types count less than those of tensors with dimensions."""
    full = {made.values[i].dtype for i in parts if made.rank(i)}
    if len(full) != 1:
        return
    [dtype] = full
    for i, part in parts.items():
        of = part.dtype
        if not made.rank(i) and of is not dtype and "biufc".index(of.kind) <= weight(dtype):
            parts[i] = functions.to(part, dtype)


def weight(dtype: Any) -> int:
    return "biufc".index(dtype.kind)


@rule(
    "alias", "clone", "detach", "to.dtype", "to.dtype_layout", "to.device", "to.prim_dtype",
    "to.prim_Device", "_to_copy", "cpu", "lift", "lift_fresh", "lift_fresh_copy", "zeros_like",
    "ones_like", "full_like", "empty_like", "_conj", "_neg_view", "view_as_real", "view_as_complex",
    "one_hot", "mH", "mH.a",
)  # fmt: skip
def as_it_is(made: Call) -> Any:
    """The operator does not mind another dimension in front."""
    if not made.only(0) or isinstance(made.batches[0], list):
        raise NotMapped
    if made.op.name == "aten::one_hot" and made.values[1] == -1:
        raise NotMapped
    return made.run(*made.with_parts({0: made.part()}))


@rule("contiguous")
def contiguous(made: Call) -> Any:
    if made.results[0] is made.values[0]:
        return made.part()
    return functions.clone(made.part(), memory_format=0)


@rule("type_as", "to.other", "to.prim_other")
def to_type_of(made: Call) -> Any:
    return functions.to(made.part(), made.values[1].dtype) if 0 in made.batches else made.results[0]


# Views


@rule(
    "view", "reshape", "_unsafe_view", "_reshape_alias", "view_copy", "view_as", "reshape_as",
    "flatten.using_ints", "unflatten.int", "ravel", "squeeze", "squeeze.dim", "squeeze.dims",
    "unsqueeze", "atleast_1d", "atleast_2d", "atleast_3d",
)  # fmt: skip
def reshaped(made: Call) -> Any:
    """Views with the same elements in the same order."""
    if 0 not in made.batches or isinstance(made.batches[0], list):
        raise NotMapped
    return functions.reshape(made.part(), [made.size, *made.results[0]._size])


@rule("expand", "expand_as", "broadcast_to")
def expanded(made: Call) -> Any:
    if 0 not in made.batches:
        raise NotMapped
    size = made.results[0]._size
    return functions.expand(made.aligned(0, len(size)), [made.size, *size])


@rule("permute")
def permuted(made: Call) -> Any:
    rank = made.rank()
    return functions.permute(made.part(), [0, *(d % rank + 1 for d in made.value("dims"))])


@rule("t", "numpy_T", "numpy_T.a")
def turned(made: Call) -> Any:
    return functions.permute(made.part(), [0, *range(made.rank(), 0, -1)])


@rule("mT", "mT.a", "adjoint", "matrix_H", "matrix_H.a", "tril", "triu", "pixel_shuffle",
      "pixel_unshuffle", "constant_pad_nd", "linalg_inv", "inverse", "linalg_inv_ex", "linalg_det",
      "det", "logdet", "linalg_slogdet", "slogdet", "linalg_cholesky", "cholesky",
      "linalg_cholesky_ex", "linalg_eigh", "linalg_eigvalsh", "linalg_qr", "linalg_svd",
      "linalg_svdvals", "linalg_matrix_exp", "matrix_exp", "linalg_pinv", "pinverse",
      "linalg_lu_factor", "linalg_eig", "channel_shuffle")  # fmt: skip
def of_matrices(made: Call) -> Any:
    """Operators on the last dimensions of as many matrices or images as there are."""
    if not made.only(0) or made.rank() < (3 if "shuffle" in made.op.name else 2):
        raise NotMapped
    if "channel_shuffle" in made.op.name:
        return folded(made, made.rank() - 1)
    return made.run(*made.with_parts({0: made.part()}))


# Dimensions

DIMS = """
sum.dim_IntList mean.dim prod.dim_int max.dim min.dim amax amin aminmax all.dim all.dims any.dim
any.dims argmax argmin argsort argsort.stable count_nonzero.dim_IntList cummax cummin cumprod cumsum
logcumsumexp kthvalue logsumexp special_logsumexp median.dim nanmedian.dim mode nansum
norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype std.dim std.correction var.dim var.correction
std_mean.dim std_mean.correction var_mean.dim var_mean.correction log_softmax.int softmax.int
_log_softmax _softmax _safe_softmax sort sort.stable topk linalg_vector_norm transpose.int swapaxes
swapdims select.int slice.Tensor narrow split.Tensor split.sizes split_with_sizes chunk
tensor_split.sections unbind.int unsafe_chunk unsafe_split.Tensor unsafe_split_with_sizes flip roll
diagonal linalg_diagonal diag_embed movedim.int movedim.intlist moveaxis.int moveaxis.intlist unfold
fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft fft_fftshift fft_ifftshift fft_fft2 fft_fftn
fft_ifftn rot90 repeat_interleave.self_int renorm
index_select gather take_along_dim scatter scatter_add scatter_reduce index_add index_copy
index_fill slice_scatter select_scatter diagonal_scatter cross linalg_cross scatter_ scatter_add_
scatter_reduce_ index_add_ index_copy_ index_fill_ cumsum_ cumprod_
"""
"""Operators with arguments that are dimensions."""

DIM_NAMES = frozenset(
    "dim dims dim0 dim1 dim2 axis axis0 axis1 source destination dimension".split()
)
ALL_BY_NONE = frozenset({"int[]", "int[1]", "SymInt[]", "SymInt[1]"})
TAKES_MORE = {"diag_embed": 1}


def by_dims(made: Call) -> Any:
    """Dimensions are counted from the last one."""
    name = made.op.name.removeprefix("aten::")
    rank = made.rank()
    tensors = [i for i, v in enumerate(made.values) if isinstance(v, Tensor)]
    if len(tensors) > 1:
        parts = beside(made, name, tensors)
    else:
        parts = {0: made.part()}
    is_number = not rank
    if is_number:
        parts = {
            i: functions.unsqueeze(p, 1) if p._size == (made.size,) and not made.rank(i) else p
            for i, p in parts.items()
        }
        rank = 1
    for i, argument in enumerate(made.op.schema.arguments):
        if argument.name in DIM_NAMES and not isinstance(made.values[i], Tensor):
            given = dims_from_last(made, i, rank + TAKES_MORE.get(name, 0))
            if given is None:
                return over_all(made)
            parts[i] = given
    return made.run(*made.with_parts(parts))


def dims_from_last(made: Call, i: int, rank: int) -> Any:
    """The dimensions in an argument as numbers below 0; None, if all elements are in one row."""
    given = made.values[i]
    if isinstance(given, int):
        return given - rank if given >= 0 else given
    name = made.op.name
    if not given:
        text = made.op.schema.arguments[i].type.annotation
        if "int" in text and "List" not in text and "[]" not in text or name == "aten::roll":
            return None
        return list(range(-rank, 0)) if given is None or not keeps_empty(name) else given
    return [d - rank if d >= 0 else d for d in given]


def keeps_empty(name: str) -> bool:
    """Whether no dimensions mean none, not all."""
    return name in ("aten::flip", "aten::all", "aten::any")


def over_all(made: Call) -> Any:
    """An operator on all elements in a row: argmax, roll and their like without a dimension."""
    flat = functions.reshape(made.part(), [made.size, -1])
    if not made.only(0):
        raise NotMapped
    schema = made.op.schema
    parts: dict[int, Any] = {0: flat}
    for i, argument in enumerate(schema.arguments):
        if argument.name in DIM_NAMES:
            parts[i] = [1] if made.op.name == "aten::roll" else 1
    return made.run(*made.with_parts(parts))


def beside(made: Call, name: str, tensors: Sequence[int]) -> dict[int, Any]:
    """The tensors of operators that take several."""
    if name in ("index_select", "index_add", "index_add_", "index_copy", "index_copy_",
                "index_fill", "index_fill_"):  # fmt: skip
        at = made.index("index")
        if at in made.batches or made.rank(at) > 1:
            raise NotMapped
        return {i: made.stacked(i) for i in tensors if i != at and made.rank(i)}
    if any(made.rank(i) != made.rank() for i in tensors) and "scatter" not in name:
        raise NotMapped
    return {i: functions.contiguous(made.stacked(i)) if i else made.stacked(i) for i in tensors}


RULES.update((f"aten::{name}", by_dims) for name in DIMS.split())


OF_ALL = {
    "sum": "sum", "mean": "mean", "prod": "prod", "max": "amax", "min": "amin", "all": "all",
    "any": "any", "std": "std", "var": "var", "std_mean": "std_mean", "var_mean": "var_mean",
    "norm.Scalar": "norm", "count_nonzero": "count_nonzero", "norm.ScalarOpt_dtype": "",
    "trace": "trace",
}  # fmt: skip


@rule(*OF_ALL)
def reduced(made: Call) -> Any:
    """Reductions of all elements: of all that an example has."""
    if not made.only(0):
        raise NotMapped
    op = made.op
    x = functions.reshape(made.part(), [made.size, -1])
    name = op.name.removeprefix("aten::")
    if name == "trace":
        return functions.diagonal(made.part(), 0, 1, 2).sum([1], dtype=made.results[0].dtype)
    if name in ("max", "min"):
        return getattr(functions, f"a{name}")(x, 1)
    if name in ("sum", "mean", "prod"):
        return getattr(functions, name)(x, 1, dtype=made.value("dtype"))
    if name in ("all", "any", "count_nonzero"):
        return getattr(functions, name)(x, 1)
    if name in ("std", "var", "std_mean", "var_mean"):
        return getattr(functions, name)(x, [1], *made.values[1:])
    if op.overload == "Scalar":
        return functions.norm(x, made.values[1], [1])
    raise NotMapped


@rule("median", "nanmedian")
def middle(made: Call) -> Any:
    x = functions.reshape(made.part(), [made.size, -1])
    return dispatch.call(made.op.name, (x, 1))[0]


@rule("sum_to_size")
def summed(made: Call) -> Any:
    size = made.results[0]._size
    missing = made.rank() - len(size)
    whole = functions.sum_to_size(made.part(), [made.size, *[1] * missing, *size])
    return functions.reshape(whole, [made.size, *size])


@rule("repeat")
def repeated(made: Call) -> Any:
    repeats = made.values[1]
    return functions.repeat(made.aligned(0, len(repeats)), [1, *repeats])


@rule("tile")
def tiled(made: Call) -> Any:
    given = list(made.values[1])
    given = [1] * (made.rank() - len(given)) + given
    return functions.repeat(made.aligned(0, len(given)), [1, *given])


@rule("as_strided")
def strided(made: Call) -> Any:
    """A view of memory, where the examples lie in it as the first one does."""
    x, batch = made.values[0], made.part()
    size, stride, offset = made.values[1:]
    if batch._stride[1:] != x._stride or offset is None:
        raise NotMapped
    step = batch._stride[0]
    if (made.size - 1) * step and step < x.numel():
        raise NotMapped
    start = batch._offset + offset - x._offset
    return functions.as_strided(batch, [made.size, *size], [step, *stride], start)


@rule("select_backward", "slice_backward")
def put_back(made: Call) -> Any:
    if not made.only(0):
        raise NotMapped
    size, dim = made.values[1], made.values[2]
    parts = {0: made.part(), 1: [made.size, *size], 2: dim % len(size) + 1}
    return made.run(*made.with_parts(parts))


# Joins


@rule("cat", "concat", "concatenate", "stack")
def joined(made: Call) -> Any:
    values, batches = made.values[0], made.batches[0]
    rank = len(values[0]._size)
    if any(len(v._size) != rank for v in values):
        raise NotMapped
    parts = [made.repeated(v) if b is None else b for v, b in zip(values, batches)]
    if made.op.name == "aten::stack":
        rank += 1
    dim = made.values[1]
    return made.run(parts, dim - rank if dim >= 0 else dim)


# Writes of elements


@rule(
    "copy_", "fill_", "fill_.Scalar", "fill_.Tensor", "zero_", "masked_fill_", "mul_.Scalar",
    "multiply_.Scalar", "pow_", "abs_", "absolute_", "floor_divide_", "float_power_", "polygamma_",
    "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__",
)  # fmt: skip
def written(made: Call) -> Any:
    """Operators that write each element of the first argument."""
    rank = made.rank()
    places = [i for i, v in enumerate(made.values) if isinstance(v, Tensor)]
    return made.run(*made.with_parts({i: made.aligned(i, rank) for i in places}))


# Images


def folded(made: Call, last: int) -> Any:
    """An operator on images, whose examples and images become images: all but the last dimensions
    of the first argument are one."""
    x = made.part()
    if made.rank() <= last:
        return made.run(*made.with_parts({0: x}))
    flat = functions.reshape(x, [-1, *x._size[2:]])
    found = made.run(*made.with_parts({0: flat}))
    results = list(found) if isinstance(found, (list, tuple)) else [found]
    made_again = [functions.reshape(r, [made.size, -1, *r._size[1:]]) for r in results]
    return made_again if isinstance(found, (list, tuple)) else made_again[0]


for _dims in (1, 2, 3):
    for _name in (
        f"avg_pool{_dims}d", f"adaptive_avg_pool{_dims}d", f"_adaptive_avg_pool{_dims}d",
        f"adaptive_max_pool{_dims}d", f"max_pool{_dims}d_with_indices", f"reflection_pad{_dims}d",
        f"replication_pad{_dims}d",
    ):  # fmt: skip

        def image(made: Call, last: int = _dims + 1) -> Any:
            if not made.only(0):
                raise NotMapped
            return folded(made, last)

        RULES[f"aten::{_name}"] = image

for _name in (
    "upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d "
    "upsample_bicubic2d upsample_trilinear3d _upsample_nearest_exact1d _upsample_nearest_exact2d "
    "_upsample_nearest_exact3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa "
    "_upsample_lanczos2d_aa"
).split():

    def scaled(made: Call) -> Any:
        if not made.only(0):
            raise NotMapped
        return folded(made, made.rank() - 1)

    RULES[f"aten::{_name}"] = scaled


@rule("layer_norm", "native_layer_norm", "rms_norm", "_fused_rms_norm")
def normalized(made: Call) -> Any:
    if not made.only(0):
        raise NotMapped
    return made.run(*made.with_parts({0: made.part()}))


@rule("batch_norm")
def batch_normalized(made: Call) -> Any:
    if made.value("training") or not made.only(0) or made.value("running_mean") is None:
        raise NotMapped
    return folded(made, 1)


@rule("native_group_norm")
def group_normalized(made: Call) -> Any:
    if not made.only(0):
        raise NotMapped
    x, count = made.part(), made.index("N")
    parts = {0: functions.reshape(x, [-1, *x._size[2:]]), count: made.values[count] * made.size}
    found = made.run(*made.with_parts(parts))
    return [functions.reshape(r, [made.size, -1, *r._size[1:]]) for r in found]
