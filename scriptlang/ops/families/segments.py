"""Reductions over segments of a dimension, and grouped matrix products."""

from __future__ import annotations

import itertools

import numpy as np

from ...dtypes import DISPLAY, by_code, int32
from ...limits import reserve
from ...tensors import Tensor, wrap_dim
from ..shared.elementwise import check_kind
from ..shared.numeric import check_same_dtype, finish, working
from ..table import primitive

REDUCTIONS = {
    "sum": (np.sum, 0.0),
    "mean": (np.mean, np.nan),
    "max": (np.max, -np.inf),
    "min": (np.min, np.inf),
    "prod": (np.prod, 1.0),
}
"""Name -> (function that reduces a segment, value of an empty segment)."""


def one_row(x: np.ndarray, bounds, name: str, initial) -> np.ndarray:
    """Reduce each segment of the first dimension, between successive `bounds`.

    initial: a value that is reduced along with each segment, or None.
    """
    f, empty = REDUCTIONS[name]
    result = np.empty((len(bounds) - 1, *x.shape[1:]), x.dtype)
    for i, (start, end) in enumerate(itertools.pairwise(bounds)):
        part, n = x[start:end], end - start
        if initial is None:
            result[i] = f(part, axis=0) if n else empty
        elif name == "mean":
            result[i] = (part.sum(0) + initial) / n if n else initial
        else:
            first = np.full((1, *x.shape[1:]), initial, x.dtype)
            result[i] = f(np.concatenate([first, part]), axis=0)
    return result


def bounds_of(lengths: np.ndarray, total: int | None) -> np.ndarray:
    """The bounds of segments of these lengths; total: the required sum of the lengths."""
    if (lengths < 0).any():
        raise RuntimeError("lengths contains negative value!")
    if total is not None and (lengths.sum(-1) != total).any():
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            f"data.size(axis) = {total} when !unsafe."
        )
    return np.cumsum(np.insert(lengths, 0, 0, axis=-1), axis=-1)


@primitive(
    "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? "
    "indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? "
    "initial=None) -> Tensor"
)
def segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
    """Cut the dimension `axis` into segments by lengths or offsets; reduce each to one element."""
    check_kind("_segment_reduce_cpu", data.dtype, "f")
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"unsupported reduction {reduce!r}; one of {', '.join(REDUCTIONS)}")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    axis = wrap_dim(axis, data.dim())
    count = data._size[axis]
    if lengths is not None:
        bounds = bounds_of(lengths._array, None if unsafe else count)
    else:
        bounds = offsets._array
    if (np.diff(bounds, axis=-1) < 0).any() or (bounds < 0).any() or (bounds > count).any():
        raise RuntimeError(
            f"segment_reduce(): the segments are not one after the other within the "
            f"{count} elements of the axis"
        )
    x = working(data)
    lead = x.shape[:axis]
    rows = x.reshape(-1, *x.shape[axis:])
    result = [
        one_row(row, ends.tolist(), reduce, initial)
        for row, ends in zip(rows, bounds.reshape(-1, bounds.shape[-1]))
    ]
    return finish(np.array(result).reshape(*lead, *result[0].shape), data.dtype)


@primitive(
    "aten::_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False)"
    " -> Tensor"
)
def coo_to_csr(self, size, out_int32):
    """The start of each row in a sorted list of row indices."""
    if self.dim() != 1 or self._array.dtype.kind not in "iu":
        raise RuntimeError(
            "coo indices are one dimension of int32 or int64, not a tensor of size "
            f"{list(self._size)}"
        )
    if not 0 <= size < 2**63 - 1:
        raise RuntimeError(f"a tensor of {size} rows cannot be made")
    outside = (self._array < 0) | (self._array >= size)
    if outside.any():
        raise RuntimeError(f"index {self._array[outside][0]} is out of range for {size} rows")
    reserve((size + 1) * 16)
    counts = np.bincount(self._array, minlength=size)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32 if out_int32 else np.int64)
    return Tensor._wrap(starts)


@primitive(
    "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
    "ScalarType? out_dtype=None) -> Tensor"
)
def grouped_mm(self, mat2, offs, bias, out_dtype):
    """A matrix product for each group.

    A 3-D operand has a matrix for each group; a 2-D one is cut at the offsets, which are the ends
    of the groups.  Elements after the last offset are zero.
    """
    check_grouped(self, mat2, offs, bias, out_dtype)
    x, w = working(self), working(mat2)
    if offs is None:
        return finish(x @ w, self.dtype)
    shape = (x.shape[-2], w.shape[-1])
    both = x.ndim == w.ndim
    groups = group_bounds(offs, x.shape[1] if both else shape[0 if x.ndim == 2 else 1])
    result = np.zeros((len(groups), *shape) if both else shape, x.dtype)
    for i, (start, end) in enumerate(groups):
        part = slice(start, end)
        if both:
            result[i] = x[:, part] @ w[part]
        elif x.ndim == 2:
            result[part] = x[part] @ w[i]
        else:
            result[:, part] = x[i] @ w[:, part]
    return finish(result, self.dtype)


def check_grouped(a: Tensor, b: Tensor, offs: Tensor | None, bias, out_dtype) -> None:
    for name, x in (("mat_a", a), ("mat_b", b)):
        if x.dtype.name not in ("float32", "bfloat16", "float16"):
            raise RuntimeError(
                f"Expected {name} to be Float32, BFloat16 or Float16 matrix, "
                f"got {DISPLAY[x.dtype.name]}"
            )
    for name, x in (("mat_a", a), ("mat_b", b)):
        if x.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if a._size[-1] != b._size[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if (offs is None) != (a.dim() == b.dim() == 3):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if offs is not None and offs.dim() != 1:
        raise RuntimeError("offs has to be 1D")
    if offs is not None and offs.dtype is not int32:
        raise RuntimeError("Offsets have to be int32")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and by_code(out_dtype) is not a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    check_same_dtype("expected m1 and m2", a, b)
    groups = [x._size[0] for x in (a, b) if x.dim() == 3]
    if offs is not None:
        groups.append(offs.numel())
    if groups[0] != groups[-1]:
        what = "batched dimension has" if offs is None else "matrix batch sizes have"
        raise RuntimeError(f"{what} to match")


def group_bounds(offs: Tensor, length: int) -> list[tuple[int, int]]:
    """The start and the end of each group."""
    bounds = list(itertools.pairwise([0, *offs._array.tolist()]))
    for start, end in bounds:
        if not start <= end <= length:
            raise RuntimeError(f"_grouped_mm: offset {end} is not between {start} and {length}")
    return bounds
