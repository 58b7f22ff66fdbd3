"""Rules for batches: operators with arguments that are dimensions, and reductions.

They take any number of dimensions. Counted from the last one, those that they work on are the same
whether the examples lie along another one in front or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tensors import Tensor
from ..calling import dispatch, functions
from ..derivatives.tangents import NotMapped
from .call import RULES, Call, rule

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
fft_ifftn rot90 repeat_interleave.self_int
index_select gather take_along_dim scatter scatter_add scatter_reduce index_add index_copy
index_fill slice_scatter select_scatter diagonal_scatter cross linalg_cross scatter_ scatter_add_
scatter_reduce_ index_add_ index_copy_ index_fill_ cumsum_ cumprod_
"""
"""Operators with arguments that are dimensions."""

DIM_NAMES = frozenset(
    "dim dims dim0 dim1 dim2 axis axis0 axis1 source destination dimension".split()
)
FLAT_BY_NONE = frozenset(("aten::argmax", "aten::argmin", "aten::roll"))
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
        if name in FLAT_BY_NONE:
            return None
        if "[]" not in text and "List" not in text:
            raise NotMapped
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


OF_ALL = """
sum mean prod max min all any std var std_mean var_mean norm.Scalar count_nonzero trace
""".split()
"""Reductions without dimensions."""


@rule(*OF_ALL)
def reduced(made: Call) -> Any:
    """Reductions of all elements: of all that an example has."""
    if not made.only(0):
        raise NotMapped
    x = functions.reshape(made.part(), [made.size, -1])
    name = made.op.name.removeprefix("aten::")
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
    return functions.norm(x, made.values[1], [1])


@rule("median", "nanmedian")
def middle(made: Call) -> Any:
    x = functions.reshape(made.part(), [made.size, -1])
    return dispatch.call(made.op.name, (x, 1))[0]
