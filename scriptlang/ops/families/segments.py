"""Reductions over segments of a dimension, and products of grouped matrices."""

from __future__ import annotations

import itertools

import numpy as np

from ...dtypes import DISPLAY
from ...limits import reserve
from ...tensors import Tensor, wrap_dim
from ..shared.elementwise import check_kind
from ..shared.numeric import finish, working
from ..table import primitive

REDUCTIONS = {
    "sum": (np.sum, 0.0),
    "mean": (np.mean, np.nan),
    "max": (np.max, -np.inf),
    "min": (np.min, np.inf),
    "prod": (np.prod, 1.0),
}
"""The function of a segment, and the value of an empty one."""


def one_row(x: np.ndarray, bounds, name: str, initial) -> np.ndarray:
    """Each segment of the first dimension, from one of `bounds` to the next, reduced; `initial`
    takes part in it."""
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
    """Where segments of these lengths begin and end; total: what they have to sum to."""
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
    """The dimension `axis` cut into segments by lengths or offsets, each reduced to one element."""
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
    """Where each row starts among sorted indices of rows."""
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
    """Rows of `self` up to each offset times the matrix of their group."""
    if self.dtype is not mat2.dtype:
        raise RuntimeError(
            f"expected scalar type {DISPLAY[self.dtype.name]} but found {DISPLAY[mat2.dtype.name]}"
        )
    if offs is None or self.dim() != 2 or mat2.dim() != 3 or mat2._size[1] != self._size[1]:
        if offs is None and self.dim() == mat2.dim() == 3:
            return finish(working(self) @ working(mat2), self.dtype)
        raise RuntimeError(
            "_grouped_mm takes (rows, k) with (groups, k, n) and offsets, or two "
            f"batches without; got sizes {list(self._size)} and {list(mat2._size)}"
        )
    x, w = working(self), working(mat2)
    result = np.zeros((x.shape[0], w.shape[2]), x.dtype)
    start = 0
    if offs.dim() != 1 or offs.numel() > mat2._size[0]:
        raise RuntimeError(f"_grouped_mm: {offs.numel()} offsets do not fit {mat2._size[0]} groups")
    for i, end in enumerate(offs._array.tolist()):
        if not start <= end <= self._size[0]:
            raise RuntimeError(
                f"_grouped_mm: offset {end} is not between {start} and {self._size[0]}"
            )
        result[start:end] = x[start:end] @ w[i]
        start = end
    return finish(result if bias is None else result + working(bias), self.dtype)
