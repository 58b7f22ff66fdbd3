"""Reductions over dimensions (sum, mean, any, ...), with PyTorch's rules for types."""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes
from ...tensors import Tensor, wrap_dim
from ..shared.elementwise import DISPLAY, apply, cast, check_kind, floating
from ..shared.layout import rows
from ..shared.reductions import axes_of, check_order_of_norm, check_type_of_norm, reduced, summed
from ..table import declare, describe, primitive


def _sum(a, axis, keepdims):
    return np.sum(a, axis=axis, keepdims=keepdims)


def _prod(a, axis, keepdims):
    return np.prod(a, axis=axis, keepdims=keepdims)


def sum_dim(self, dim=None, keepdim=False, dtype=None):
    return reduced(_sum, self, dim, keepdim, summed(self.dtype, dtype))


def mean_dim(self, dim=None, keepdim=False, dtype=None):
    target = dtypes.by_code(dtype) if dtype is not None else self.dtype
    if target.kind not in "fc":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a "
            f"floating point or complex dtype. Got: {target}"
        )

    def f(a, axis, keepdims):
        return np.mean(a, axis=axis, keepdims=keepdims, dtype=a.dtype)

    return reduced(f, self, dim, keepdim, target)


def prod(self, dim=None, keepdim=False, dtype=None):
    return reduced(_prod, self, dim, keepdim, summed(self.dtype, dtype))


declare(
    "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    lambda self, dtype: sum_dim(self, None, False, dtype),
    "primitive",
)
declare(
    "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    sum_dim,
    "primitive",
)
declare(
    "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    lambda self, dtype: mean_dim(self, None, False, dtype),
    "primitive",
)
declare(
    "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    mean_dim,
    "primitive",
)
declare(
    "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    lambda self, dtype: prod(self, None, False, dtype),
    "primitive",
)
declare(
    "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    prod,
    "primitive",
)
declare(
    "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    lambda self, dim, keepdim, dtype: nansum(self, dim, keepdim, dtype),
    "primitive",
)


def nansum(self, dim, keepdim, dtype):
    if self.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    return reduced(
        lambda a, axis, keepdims: np.nansum(a, axis=axis, keepdims=keepdims),
        self,
        dim,
        keepdim,
        summed(self.dtype, dtype),
    )


def variance(self, dim=None, correction=1, keepdim=False, root=False):
    """The variance, or its square root, computed in double precision."""
    if self.dtype.kind not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    axes = axes_of(dim, len(self._size))
    n = math.prod(self._size[d] for d in axes)
    wide = np.complex128 if self.dtype.kind == "c" else np.float64

    def of_part(a, axis, keepdims):
        centred = a - a.mean(axis=axis, keepdims=True) if n else a
        return (centred * centred).sum(axis=axis, keepdims=keepdims) / np.float64(
            max(0, n - correction)  # 0 for NaN
        )

    def f(a, axis, keepdims):
        a = a.astype(wide)
        mean = of_part(a.real, axis, keepdims)
        if a.dtype.kind == "c":
            mean = mean + of_part(a.imag, axis, keepdims)
        return np.sqrt(mean) if root else mean

    out = dtypes.part_of(self.dtype)
    return reduced(f, self, dim, keepdim, out, self.dtype)


def deviation(self, *args):
    from .pointwise import KERNELS

    if self.dtype.kind == "c":
        return KERNELS["sqrt"](variance(self, *args))
    return variance(self, *args, root=True)


def wide_mean(self, dim=None, keepdim=False):
    """The mean that is returned with a variance, also computed in double precision.

    PyTorch updates the mean element by element, so it is NaN if elements follow an infinite one.
    """

    def of_part(a, axis, keepdims):
        kept = [d for d in range(a.ndim) if d not in axis]
        count = math.prod(a.shape[d] for d in axis)
        before = np.transpose(a, [*kept, *axis]).reshape(*(a.shape[d] for d in kept), count)
        mean = np.asarray(a.mean(axis=axis, keepdims=keepdims))
        mean[np.isinf(before[..., :-1]).any(-1).reshape(mean.shape)] = np.nan
        return mean

    def f(a, axis, keepdims):
        if a.dtype.kind != "c":
            return of_part(a.astype(np.float64), axis, keepdims)
        a = a.astype(np.complex128)
        real, imag = of_part(a.real, axis, keepdims), of_part(a.imag, axis, keepdims)
        mean = np.empty(real.shape, np.complex128)
        mean.real, mean.imag = real, imag
        return mean

    return reduced(f, self, dim, keepdim, self.dtype)


def correction_of(value) -> float:
    return 1 if value is None else value


for _name, _f in (("var", variance), ("std", deviation)):
    declare(
        f"aten::{_name}(Tensor self, bool unbiased=True) -> Tensor",
        lambda self, unbiased, f=_f: f(self, None, int(unbiased), False),
        "primitive",
    )
    declare(
        f"aten::{_name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)"
        " -> Tensor",
        lambda self, dim, unbiased, keepdim, f=_f: f(self, dim, int(unbiased), keepdim),
        "primitive",
    )
    declare(
        f"aten::{_name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
        "bool keepdim=False) -> Tensor",
        lambda self, dim, correction, keepdim, f=_f: f(
            self, dim, correction_of(correction), keepdim
        ),
        "primitive",
    )
    declare(
        f"aten::{_name}_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
        lambda self, unbiased, f=_f: (f(self, None, int(unbiased), False), wide_mean(self)),
        "primitive",
    )
    declare(
        f"aten::{_name}_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, "
        "bool keepdim=False) -> (Tensor, Tensor)",
        lambda self, dim, unbiased, keepdim, f=_f: (
            f(self, dim, int(unbiased), keepdim),
            wide_mean(self, dim, keepdim),
        ),
        "primitive",
    )
    declare(
        f"aten::{_name}_mean.correction(Tensor self, int[1]? dim=None, *, "
        "Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
        lambda self, dim, correction, keepdim, f=_f: (
            f(self, dim, correction_of(correction), keepdim),
            wide_mean(self, dim, keepdim),
        ),
        "primitive",
    )


def extremum(f, name):
    def kernel(self, dim=None, keepdim=False):
        axes = axes_of(dim, len(self._size))
        check_kind(name, self.dtype, "buif")
        if any(self._size[d] == 0 for d in axes):
            raise IndexError(f"{name}(): Expected reduction dim to have non-zero size.")
        return reduced(f, self, dim, keepdim, self.dtype)

    return kernel


def _max(a, axis, keepdims):
    return np.max(a, axis=axis, keepdims=keepdims)


def _min(a, axis, keepdims):
    return np.min(a, axis=axis, keepdims=keepdims)


amax, amin = extremum(_max, "amax"), extremum(_min, "amin")
for _name, _f in (("amax", amax), ("amin", amin)):
    declare(
        f"aten::{_name}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", _f, "primitive"
    )


@primitive(
    "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)"
)
def aminmax(self, dim, keepdim):
    return amin(self, dim, keepdim), amax(self, dim, keepdim)


def first_index(self, dim, keepdim, largest: bool, for_values=False):
    """The index of the first largest or smallest element along a dimension; nan beats all."""
    if self.dtype.kind in "bc" and not for_values:
        raise RuntimeError(
            f"arg{'max' if largest else 'min'}(): does not support "
            f"{'bool' if self.dtype.kind == 'b' else 'complex'} input"
        )
    array = self._array
    if dim is None:
        array, axis = array.reshape(-1), 0
    else:
        axis = wrap_dim(dim, len(self._size))
    if array.size == 0 and (dim is None or array.shape[axis] == 0):
        raise IndexError(
            f"{'argmax' if largest else 'argmin'}(): Expected reduction dim to be "
            "specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    if array.ndim == 0:
        return np.array(0)
    array = array.astype(np.float32) if self.dtype.name == "bfloat16" else array
    index = (np.argmax if largest else np.argmin)(array, axis=axis)
    if keepdim:
        return index.reshape([1] * len(self._size)) if dim is None else np.expand_dims(index, axis)
    return index


for _name, _large in (("max", True), ("min", False)):
    _whole = amax if _large else amin

    def _with_index(self, dim, keepdim, large=_large, f=_whole, name=_name):
        if self._size and self._size[wrap_dim(dim, len(self._size))] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        index = first_index(self, dim, keepdim, large, True)
        return f(self, dim, keepdim), Tensor._wrap(np.asarray(index, np.int64))

    def _all(self, f=_whole, name=_name):
        if self.numel() == 0:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for "
                "input.numel() == 0. Specify the reduction dim with the 'dim' "
                "argument."
            )
        return f(self)

    from .arithmetic import binary

    declare(
        f"aten::{_name}.other(Tensor self, Tensor other) -> Tensor",
        binary(np.maximum, "maximum", "buif") if _large else binary(np.minimum, "minimum", "buif"),
        "primitive",
    )
    declare(f"aten::{_name}(Tensor self) -> Tensor", _all, "primitive")
    declare(
        f"aten::{_name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, "
        "Tensor indices)",
        _with_index,
        "primitive",
    )
    declare(
        f"aten::arg{_name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        lambda self, dim, keepdim, large=_large: Tensor._wrap(
            np.asarray(first_index(self, dim, keepdim, large), np.int64)
        ),
        "primitive",
    )

for _name, _f in (("any", np.any), ("all", np.all)):

    def _truth(self, dim=None, keepdim=False, f=_f):
        out = dtypes.uint8 if self.dtype is dtypes.uint8 else dtypes.bool
        value = reduced(
            lambda a, axis, keepdims: f(a, axis=axis, keepdims=keepdims),
            self,
            dim,
            keepdim,
            dtypes.bool,
            self.dtype if self.dtype.kind != "b" else None,
        )
        return cast(value, out)

    declare(f"aten::{_name}(Tensor self) -> Tensor", _truth, "primitive")
    declare(
        f"aten::{_name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
        _truth,
        "primitive",
    )
    declare(
        f"aten::{_name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
        lambda self, dim, keepdim, f=_truth: (  # an empty list means no dimension, not all
            f(self, dim, keepdim)
            if dim != []
            else Tensor._wrap(
                self._array.astype(bool).astype(np.uint8 if self.dtype is dtypes.uint8 else bool)
            )
        ),
        "primitive",
    )


@primitive("aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", shape="reduction")
def count_nonzero(self, dim):
    return Tensor._wrap(rows(np.asarray(np.count_nonzero(self._array, axis=dim), np.int64)))


declare(
    "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    lambda self, dim: Tensor._wrap(
        rows(
            np.asarray(np.count_nonzero(self._array, axis=axes_of(dim, len(self._size))), np.int64)
        )
    ),
    "primitive",
)


def log_sum_exp(a, axis, keepdims):
    """log(sum(exp(a))), shifted by the maximum to avoid overflow."""
    if not a.size:
        return np.log(np.sum(a, axis=axis, keepdims=keepdims))
    top = np.max(a.real, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis)


@primitive(
    "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    "aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    autocast="full",
    out="converts",
    shape="reduction",
)
def logsumexp(self, dim, keepdim):
    return reduced(log_sum_exp, self, dim, keepdim, floating(self.dtype))


@primitive(
    "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    out="converts",
    shape="reduction",
)
def nanmean(self, dim, keepdim, dtype):
    if self.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if self.dtype.kind != "f":
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but "
            f"got {DISPLAY[self.dtype.name]}"
        )

    def f(a, axis, keepdims):
        there = a == a
        total = np.sum(np.where(there, a, 0), axis=axis, keepdims=keepdims, dtype=a.dtype)
        return (total / np.sum(there, axis=axis, keepdims=keepdims)).astype(a.dtype)

    out = self.dtype if dtype is None else dtypes.by_code(dtype)
    if out.kind not in "fc":
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either "
            f"a floating point or complex dtype. Got: {DISPLAY[out.name]}"
        )
    return reduced(f, self, dim, keepdim, out)


def vector_norm(self, ord=2, dim=None, keepdim=False, dtype=None):
    target = dtypes.by_code(dtype) if dtype is not None else self.dtype
    check_type_of_norm(self.dtype, target)
    out = dtypes.part_of(target)
    check_order_of_norm(ord)
    ord = float(ord)

    def f(a, axis, keepdims):
        size = np.abs(a)
        if (ord < 0 or ord == math.inf) and any(a.shape[d] == 0 for d in axis):
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord} norm on an empty "
                "tensor because the operation does not have an identity"
            )
        one = all(a.shape[d] == 1 for d in axis) and not (a.ndim == 0 and math.isnan(ord))
        if ord != 0 and one:  # avoids powers, which may overflow
            return np.sum(size, axis=axis, keepdims=keepdims)
        if ord == math.inf:
            return np.max(size, axis=axis, keepdims=keepdims)
        if ord == -math.inf:
            return np.min(size, axis=axis, keepdims=keepdims)
        if ord == 0:
            return np.sum(size != 0, axis=axis, keepdims=keepdims).astype(size.dtype)
        if ord == 1:
            return np.sum(size, axis=axis, keepdims=keepdims)
        if ord == 2:
            return np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdims))
        return np.sum(size**ord, axis=axis, keepdims=keepdims) ** (1 / ord)

    return reduced(f, self, dim, keepdim, out, target)


declare(
    "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, "
    "*, ScalarType? dtype=None) -> Tensor",
    vector_norm,
    "primitive",
)
for _overload, _rest, _f in (
    ("Scalar", "Scalar p=2", lambda self, p: vector_norm(self, p)),
    (
        "ScalarOpt_dim",
        "Scalar? p, int[1] dim, bool keepdim=False",
        lambda self, p, dim, keepdim: vector_norm(self, 2 if p is None else p, dim, keepdim),
    ),
    (
        "ScalarOpt_dtype",
        "Scalar? p, *, ScalarType dtype",
        lambda self, p, dtype: vector_norm(self, 2 if p is None else p, dtype=dtype),
    ),
    (
        "ScalarOpt_dim_dtype",
        "Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype",
        lambda self, p, *rest: vector_norm(self, 2 if p is None else p, *rest),
    ),
):
    declare(f"aten::norm.{_overload}(Tensor self, {_rest}) -> Tensor", _f, "primitive")
declare(
    "aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    lambda self, dim, keepdim: vector_norm(self, 2, dim, keepdim),
    "primitive",
)


@primitive("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", autocast="full")
def dist(self, other, p):
    return vector_norm(apply(np.subtract, dtypes.result_type(self, other), self, other), p)


@primitive(
    "aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    autocast="full",
    shape="like_first",
)
def renorm(self, p, dim, maxnorm):
    dim = wrap_dim(dim, len(self._size))
    if len(self._size) < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {len(self._size)} dimensions"
        )
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise RuntimeError("renorm: p and maxnorm must be real-valued")
    if not p > 0 or not maxnorm >= 0:
        raise RuntimeError("renorm: expected p > 0 and maxnorm >= 0")
    others = [d for d in range(len(self._size)) if d != dim]
    norm = vector_norm(self, p, others, True)
    scale = apply(
        lambda n: np.where(n > maxnorm, maxnorm / (n + 1e-7), n.dtype.type(1)), norm.dtype, norm
    )
    return Tensor._wrap(rows(apply(np.multiply, self.dtype, self, scale)._array))


@primitive("aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor")
def norm_except_dim(v, pow, dim):
    if dim == -1:
        return vector_norm(v, pow)
    if not v._size:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, len(v._size))
    if len(v._size) == 1:  # an empty list of dimensions would mean all
        return vector_norm(Tensor._wrap(v._array[:, None]), pow, [1])
    return vector_norm(v, pow, [d for d in range(len(v._size)) if d != dim], True)


@primitive("aten::trace(Tensor self) -> Tensor")
def trace(self):
    check_kind("trace", self.dtype, "uifc")
    if len(self._size) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(self._size)}")
    return Tensor._wrap(np.asarray(np.trace(self._array), summed(self.dtype, None).numpy))


@primitive(
    "aten::hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor"
)
def hash_tensor(self, dim, keepdim, mode):
    """The exclusive or of the elements' bits, widened to 64."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    check_kind("xor_sum", self.dtype, "buif")
    axes = axes_of(dim, len(self._size))
    if not self._array.size:
        if not dim:
            raise RuntimeError(
                "hash_tensor: Expected reduction dim to be specified for "
                "input.numel() == 0. Specify the reduction dim with the 'dim' "
                "argument."
            )
        for axis in axes:
            if self._size[axis] == 0:
                raise IndexError(
                    f"hash_tensor: Expected reduction dim {axis} to have non-zero size."
                )
    wide = np.float64 if self.dtype.kind == "f" else np.int64
    bits = self._array.astype(wide).view(np.uint64)
    return Tensor._wrap(np.asarray(np.bitwise_xor.reduce(bits, axis=axes, keepdims=keepdim)))


describe("frobenius_norm prod sum", autocast="full")
describe(
    """amax amin linalg_vector_norm max. max.other mean min. min.other norm.ScalarOpt_dim std
         sum var""",
    fusible=True,
)
describe("mean", keeps_type="floating")
describe("mean", layout="hides")
describe("max. min.", out="converts")
describe("std.correction std.dim var.correction var.dim", out="read")
describe("all any", out="truth")
describe("mean", out="floating")
describe("nansum prod.dim_int sum.dim_IntList", out="typed")
describe(
    """all amax amin any argmax argmin linalg_vector_norm logsumexp mean nansum norm prod
         std.correction std.dim sum var.correction var.dim""",
    out_memory="free",
)
describe("max.other min.other", pointwise=True)
describe(
    """all amax amin any argmax argmin count_nonzero.dim_IntList linalg_vector_norm mean nansum
         norm prod std sum var""",
    shape="reduction",
)
