"""Sorting, selection by rank, unique values, and counting."""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes
from ...tensors import Tensor, wrap_dim
from ..shared.elementwise import DISPLAY, check_kind, unsupported
from ..shared.layout import laid_like
from ..table import declare, describe, primitive
from .scalar import to_float


def check_order(name: str, dtype: dtypes.DType) -> None:
    """Raise NotImplementedError for complex numbers, which have no order."""
    if dtype.kind == "c":
        raise unsupported(name, dtype)


def order(array: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """The indices of a stable sort along an axis; nan counts as the largest."""
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    if not descending:
        return np.argsort(array, axis=axis, kind="stable")
    n = array.shape[axis]
    back = np.flip(array, axis)
    return n - 1 - np.flip(np.argsort(back, axis=axis, kind="stable"), axis)


def sort(self, dim=-1, descending=False):
    check_order("sort", self.dtype)
    axis = wrap_dim(dim, len(self._size))
    if not self._size:
        return Tensor._wrap(self._array.copy()), Tensor._wrap(np.array(0))
    index = laid_like(order(self._array, axis, descending), self)
    values = laid_like(np.take_along_axis(self._array, index, axis), self)
    return Tensor._wrap(values), Tensor._wrap(index.astype(np.int64))


declare(
    "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    sort,
    "primitive",
)
declare(
    "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)"
    " -> (Tensor values, Tensor indices)",
    lambda self, stable, dim, descending: sort(self, dim, descending),
    "primitive",
)
declare(
    "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    lambda self, dim, descending: sort(self, dim, descending)[1],
    "primitive",
)
declare(
    "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False)"
    " -> Tensor",
    lambda self, stable, dim, descending: sort(self, dim, descending)[1],
    "primitive",
)
declare("aten::msort(Tensor self) -> Tensor", lambda self: sort(self, 0)[0], "primitive")


@primitive(
    "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)"
    " -> (Tensor values, Tensor indices)"
)
def topk(self, k, dim, largest, sorted):
    axis = wrap_dim(dim, len(self._size))
    n = self._size[axis] if self._size else 1
    if not 0 <= k <= n:
        raise RuntimeError("selected index k out of range")
    if self.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    check_kind("topk", self.dtype, "uif")
    if not self._size:
        return Tensor._wrap(self._array.copy()), Tensor._wrap(np.array(0))
    index = np.take(order(self._array, axis, largest), range(k), axis=axis)
    return (
        Tensor._wrap(np.take_along_axis(self._array, index, axis)),
        Tensor._wrap(np.ascontiguousarray(index).astype(np.int64)),
    )


@primitive(
    "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False)"
    " -> (Tensor values, Tensor indices)"
)
def kthvalue(self, k, dim, keepdim):
    check_kind("kthvalue", self.dtype, "uif")
    axis = wrap_dim(dim, len(self._size))
    array = np.atleast_1d(self._array)
    if not array.shape[axis]:
        raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
    if not 1 <= k <= array.shape[axis]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    index = np.take(order(array, axis, False), [k - 1], axis=axis)
    value = np.take_along_axis(array, index, axis)
    if not keepdim or not self._size:
        value, index = value.squeeze(axis), index.squeeze(axis)
    return Tensor._wrap(value), Tensor._wrap(index.astype(np.int64))


def part_axis(self: Tensor, dim: int) -> int:
    """The dimension whose slices are compared.  Raises RuntimeError if another one is empty."""
    axis = wrap_dim(dim, len(self._size))
    empty = self._size.count(0)
    if self._size[axis] == 0 and empty > 1:
        raise RuntimeError(
            "Number of zero sized dimensions is more than one, so unique cannot be applied "
        )
    if self._size[axis] and empty:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    return axis


def _results(parts, inverse: bool, counts: bool, shape) -> tuple:
    values, inverses, count = parts
    empty = np.zeros(0, np.int64)
    return (
        Tensor._wrap(values),
        Tensor._wrap(inverses.reshape(shape).astype(np.int64) if inverse else empty),
        Tensor._wrap(count.astype(np.int64) if counts else empty),
    )


@primitive(
    "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, "
    "bool return_counts=False) -> (Tensor, Tensor, Tensor)"
)
def unique(self, sorted, return_inverse, return_counts):
    check_order("unique", self.dtype)
    parts = np.unique(self._array, return_inverse=True, return_counts=True, equal_nan=False)
    return _results(parts, return_inverse, return_counts, self._size)


@primitive(
    "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
    "bool return_counts=False) -> (Tensor, Tensor, Tensor)"
)
def unique_dim(self, dim, sorted, return_inverse, return_counts):
    if not self._size:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    check_order("unique_dim", self.dtype)
    axis = part_axis(self, dim)
    parts = np.unique(self._array, return_inverse=True, return_counts=True, axis=axis)
    return _results(parts, True, True, -1)  # PyTorch always returns them


@primitive(
    "aten::unique_consecutive(Tensor self, bool return_inverse=False, "
    "bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)"
)
def unique_consecutive(self, return_inverse, return_counts, dim):
    check_order("unique", self.dtype)
    array = (
        self._array.reshape(-1)
        if dim is None
        else np.moveaxis(self._array, part_axis(self, dim), 0)
    )
    rest = tuple(range(1, array.ndim))
    fresh = np.ones(len(array), bool)
    if len(array):
        fresh[1:] = (array[1:] != array[:-1]).any(axis=rest) if rest else array[1:] != array[:-1]
    values = array[fresh]
    if dim is not None:
        values = np.ascontiguousarray(np.moveaxis(values, 0, wrap_dim(dim, len(self._size))))
    counts = np.diff(np.append(np.nonzero(fresh)[0], len(array)))
    shape = self._size if dim is None else -1
    # Along a dimension PyTorch returns all three, except for a vector's dimension 0.
    every = dim is not None and not (dim == 0 and len(self._size) == 1)
    return _results(
        (values, np.cumsum(fresh) - 1, counts),
        every or return_inverse,
        every or return_counts,
        shape,
    )


@primitive(
    "aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, "
    "bool return_counts=False) -> (Tensor, Tensor, Tensor)"
)
def unique_dim_consecutive(self, dim, return_inverse, return_counts):
    """Slices that differ from the one before them, with inverse and counts in any case."""
    if not self._size:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return unique_consecutive(self, True, True, dim)


def places(keys: np.ndarray, wanted: np.ndarray, right: bool) -> np.ndarray:
    """The positions where values belong in a sorted row, by bisection; NaN comes last.

    In an unsorted row the result is that of PyTorch's bisection, too.
    """
    low = np.zeros(np.shape(wanted), np.int64)
    high = np.full_like(low, len(keys))
    while (low < high).any():
        middle = (low + high) // 2
        at = keys[np.minimum(middle, len(keys) - 1)]
        after = (at > wanted if right else at >= wanted) | (low >= high)
        high, low = np.where(after, middle, high), np.where(after, low, middle + 1)
    return low


def sorted_by(keys: np.ndarray, sorter: Tensor) -> np.ndarray:
    if sorter._size != keys.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but "
            f"got boundary tensor {list(keys.shape)} and got sorter tensor "
            f"{list(sorter._size)}"
        )
    if sorter.dtype.name != "int64":
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got "
            f"dtype {DISPLAY[sorter.dtype.name]}"
        )
    places = sorter._array
    if ((places < 0) | (places >= keys.shape[-1])).any():
        raise RuntimeError("torch.searchsorted(): sorter index out of range")
    return np.take_along_axis(keys, places, -1)


def searchsorted(sorted_sequence, self, out_int32=False, right=False, side=None, sorter=None):
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if right and side == "left":
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got "
            "side of left while right was True"
        )
    check_kind("searchsorted", sorted_sequence.dtype, "uif")
    check_kind("searchsorted", dtypes.result_type(self), "buif")
    right = right or side == "right"
    common = dtypes.result_type(sorted_sequence, self).numpy  # numpy's differs for numbers
    keys = sorted_sequence._array.astype(common)
    if not keys.ndim:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive "
            "dimension, but got 0 dimension"
        )
    if sorter is not None:
        keys = sorted_by(keys, sorter)
    with np.errstate(all="ignore"):
        wanted = np.asarray(self._array if isinstance(self, Tensor) else self).astype(common)
    if keys.ndim == 1:
        found = places(keys, wanted, right)
    else:
        if keys.shape[:-1] != wanted.shape[:-1]:
            raise RuntimeError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or "
                "the first N-1 dimensions of boundaries tensor and input value "
                "tensor must match, but we got boundaries tensor "
                f"{list(keys.shape)} and input value tensor {list(wanted.shape)}"
            )
        rows = math.prod(keys.shape[:-1])
        flat = [
            places(k, w, right)
            for k, w in zip(
                keys.reshape(rows, keys.shape[-1]), wanted.reshape(rows, wanted.shape[-1])
            )
        ]
        found = np.array(flat).reshape(wanted.shape)
    return Tensor._wrap(np.asarray(found, np.int32 if out_int32 else np.int64))


def bucketize(self, boundaries, out_int32, right):
    if boundaries.dim() != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})"
        )
    return searchsorted(boundaries, self, out_int32, right)


_tail = "*, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None"
for _overload, _type in (("Tensor", "Tensor"), ("Scalar", "Scalar")):
    declare(
        f"aten::searchsorted.{_overload}(Tensor sorted_sequence, {_type} self, {_tail}) -> Tensor",
        searchsorted,
        "primitive",
    )
    declare(
        f"aten::bucketize.{_overload}({_type} self, Tensor boundaries, *, "
        "bool out_int32=False, bool right=False) -> Tensor",
        bucketize,
        "primitive",
    )


@primitive("aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor")
def bincount(self, weights, minlength):
    check_kind("bincount_cpu", self.dtype, "ui")
    if len(self._size) != 1 or (self.numel() and self._array.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, but got {minlength}")
    if self.numel() and self._array.max() == np.iinfo(np.int64).max:
        raise RuntimeError(
            f"maximum value of input overflowed, it should be < {2**63 - 1} but got {2**63 - 1}"
        )
    if weights is not None and weights._size != self._size:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is None:
        return Tensor._wrap(np.bincount(self._array, minlength=minlength).astype(np.int64))
    kept = weights.dtype.numpy if weights.dtype is dtypes.float32 else np.float64
    return Tensor._wrap(np.bincount(self._array, weights._array, minlength).astype(kept))


@primitive("aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor")
def histc(self, bins, min, max):
    check_kind("histogram", self.dtype, "f")
    if any(isinstance(v, complex) and v.imag for v in (min, max)):
        raise RuntimeError("value cannot be converted to type double without overflow")
    low, high = to_float(min), to_float(max)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins}")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    array = self._array
    if low == high and array.size:
        if array.dtype.kind == "c":
            raise unsupported("aminmax", self.dtype)
        low, high = float(array.min()), float(array.max())
    if not math.isfinite(low) or not math.isfinite(high):
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    least, most, count = np.array([low, high, bins]).astype(array.dtype)
    inside = array[(array >= least) & (array <= most)]
    with np.errstate(all="ignore"):  # in the elements' own type, as PyTorch
        places = (inside - least) * count / (most - least)
        if not np.isfinite(most - least):  # overflows: nothing is counted
            places = places[:0]
    finite = np.where(np.isfinite(places), places, 0).astype(np.float64)
    at = finite.astype(np.int64).clip(0, bins - 1)
    return Tensor._wrap(np.bincount(at, minlength=bins).astype(self.dtype.numpy))


describe("bucketize", out_memory="free")
describe(
    "_unique2 bincount unique_consecutive unique_dim unique_dim_consecutive", dynamic_shape=True
)
