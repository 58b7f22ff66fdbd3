"""Operators that join, repeat, flip or roll tensors."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ... import dtypes
from ...limits import reserve
from ...tensors import Tensor, wrap_dim
from ..shared.elementwise import cast, check_broadcast, unsupported
from ..shared.layout import copied, format_of, in_format, rows
from ..table import declare, describe, primitive
from .reduce import sum_dim
from .view import expand, reshape, transpose


def cat(tensors, dim=0):
    if not tensors:
        raise RuntimeError("torch.cat(): expected a non-empty list of Tensors")
    kept = [t for t in tensors if t._size != (0,)] or [tensors[0]]
    for t in tensors:
        if not t._size:
            raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    first = kept[0]
    dim = wrap_dim(dim, len(first._size))
    for i, t in enumerate(kept):
        if len(t._size) != len(first._size):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got "
                f"{len(first._size)} and {len(t._size)}"
            )
        for d, (a, b) in enumerate(zip(first._size, t._size)):
            if d != dim and a != b:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. "
                    f"Expected size {a} but got size {b} for tensor number {i} in "
                    "the list."
                )
    dtype = joined_dtype(tensors)
    joined = np.concatenate([cast(t, dtype)._array for t in kept], axis=dim)
    formats = {format_of(t) for t in tensors}
    return Tensor._wrap(in_format(joined, formats.pop() if len(formats) == 1 else 0))


def joined_dtype(tensors):
    dtype = dtypes.result_type(*tensors)
    return dtype


declare("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", cat, "primitive")
declare("aten::concat(Tensor[] tensors, int dim=0) -> Tensor", cat, "primitive")
declare("aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", cat, "primitive")


@primitive("aten::stack(Tensor[] tensors, int dim=0) -> Tensor", out="converts", out_memory="apart")
def stack(tensors, dim):
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._size
    for i, t in enumerate(tensors):
        if t._size != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} "
                f"at entry 0 and {list(t._size)} at entry {i}"
            )
    dim = wrap_dim(dim, len(first) + 1)
    if dim == len(first):
        return cat([t._as_view((*first, 1), (*t._stride, 1), t._offset) for t in tensors], dim)
    joined = cat(tensors, dim)._array
    return Tensor._wrap(joined.reshape(*first[:dim], len(tensors), *first[dim:]))


def _at_least(t, n):
    if len(t._size) >= n:
        return t
    if n == 1:
        return reshape(t, [1])
    if n == 2:
        return reshape(t, [1, *t._size] if t._size else [1, 1])
    if len(t._size) == 2:
        return reshape(t, [*t._size, 1])
    return reshape(t, [1, *(t._size or (1,)), 1])


for _n in (1, 2, 3):
    declare(
        f"aten::atleast_{_n}d(Tensor self) -> Tensor", lambda t, n=_n: _at_least(t, n), "primitive"
    )
    declare(
        f"aten::atleast_{_n}d.Sequence(Tensor[] tensors) -> Tensor[]",
        lambda ts, n=_n: [_at_least(t, n) for t in ts],
        "primitive",
    )
declare(
    "aten::hstack(Tensor[] tensors) -> Tensor",
    lambda ts: cat([_at_least(t, 1) for t in ts], 0 if len(ts[0]._size) < 2 else 1),
    "primitive",
)
for _name in ("vstack", "row_stack"):
    declare(
        f"aten::{_name}(Tensor[] tensors) -> Tensor",
        lambda ts: cat([_at_least(t, 2) for t in ts], 0),
        "primitive",
    )
declare(
    "aten::dstack(Tensor[] tensors) -> Tensor",
    lambda ts: cat([_at_least(t, 3) for t in ts], 2),
    "primitive",
)


@primitive("aten::flip(Tensor self, int[] dims) -> Tensor", shape="like_first")
def flip(self, dims):
    axes = [wrap_dim(d, len(self._size)) for d in dims]
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"dim {dims} appears multiple times in the list of dims")
    made = copied(self)
    made[...] = np.flip(self._array, axes) if self._size else self._array
    return Tensor._wrap(made)


@primitive(
    "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", shape="like_first"
)
def roll(self, shifts, dims):
    if not shifts:
        raise RuntimeError("`shifts` required")
    if dims and len(dims) != len(shifts):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    if dims and not self._size:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    axes = tuple(wrap_dim(d, len(self._size)) for d in dims) if dims else None
    if not self._size:
        return Tensor._wrap(self._array.copy())
    if not dims and len(shifts) != 1:
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
    if not dims:
        return Tensor._wrap(rows(np.roll(self._array, shifts[0])))
    for shift, axis in zip(shifts, axes):
        n = self._size[axis]
        start = -shift % n if n else 0
        parts = [
            self._array[(slice(None),) * axis + (s,)] for s in (slice(start, n), slice(0, start))
        ]
        self = cat([Tensor._wrap(p) for p in parts], axis)
    return self


@primitive("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")
def rot90(self, k, dims):
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if len(self._size) < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {len(self._size)}")
    a, b = (wrap_dim(d, len(self._size)) for d in dims)
    if a == b:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    k %= 4
    if k == 0:
        return Tensor._wrap(np.array(self._array, order="C"))
    if k == 2:
        return flip(self, [a, b])
    turned = transpose(flip(self, [b if k == 1 else a]), a, b)
    return Tensor._wrap(np.array(turned._array, order="K"))


@primitive("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor")
def repeat(self, repeats):
    if len(repeats) < len(self._size):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of "
            "dimensions of tensor"
        )
    return tile(self, repeats)


@primitive("aten::tile(Tensor self, SymInt[] dims) -> Tensor")
def tile(self, dims):
    array = self._array
    rank = max(array.ndim, len(dims))
    sizes = [1] * (rank - array.ndim) + list(array.shape)
    times = [1] * (rank - len(dims)) + list(dims)
    made = [a * b for a, b in zip(sizes, times)]
    if min(made, default=0) < 0 or math.prod(made) > 1 << 55:
        raise RuntimeError(
            f"repeat: a tensor of size {list(array.shape)} cannot be repeated {list(dims)} times"
        )
    whole = np.empty(made, array.dtype)  # fails at once if too large; np.tile grows step by step
    if whole.size == 0:
        return Tensor._wrap(whole)
    return Tensor._wrap(np.asarray(np.tile(array, dims), order="C"))


def check_repeats(times, length: int) -> None:
    """Raise RuntimeError for invalid repeats of `length` elements.

    np.repeat adds them up without checking for overflow, and would write out of bounds.
    """
    counts = [int(n) for n in np.ravel(times)]
    if min(counts, default=0) < 0:
        raise RuntimeError("repeats can not be negative")
    if np.ndim(times) > 1 or len(counts) not in (1, length):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got "
            f"repeats of size {list(np.shape(times))} and {length} elements"
        )
    if sum(counts) * (length if len(counts) == 1 else 1) > 1 << 55:
        raise RuntimeError("repeat_interleave: too many elements")


def vector_of_repeats(repeats: Tensor) -> Tensor:
    if len(repeats._size) != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    return repeats


def repeat_interleave(self, repeats, dim=None, output_size=None):
    if isinstance(repeats, Tensor) and repeats.dtype.name not in ("int32", "int64"):
        raise unsupported("repeat_interleave", repeats.dtype)
    times = repeats._array if isinstance(repeats, Tensor) else repeats
    axis = None if dim is None else wrap_dim(dim, len(self._size))
    check_repeats(times, self._size[axis] if axis is not None and self._size else self.numel())
    return Tensor._wrap(np.repeat(self._array, times, axis))


declare(
    "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor",
    repeat_interleave,
    "primitive",
)
declare(
    "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor",
    repeat_interleave,
    "primitive",
)
declare(
    "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
    lambda repeats, size: repeat_interleave(
        Tensor._wrap(np.arange(repeats.numel(), dtype=repeats._array.dtype)),
        vector_of_repeats(repeats),
    ),
    "primitive",
)


@primitive("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", may_share=True)
def broadcast_tensors(tensors):
    shape = check_broadcast(*tensors)
    return [expand(t, shape) for t in tensors]


def check_offset(offset: int) -> None:
    """Raise RuntimeError for an offset with which the matrix would be too large."""
    if abs(offset) >= 1 << 31:
        raise RuntimeError(f"diag_embed: offset {offset} is too large")


@primitive("aten::diag(Tensor self, int diagonal=0) -> Tensor", keeps_type="any", out_memory="free")
def diag(self, diagonal):
    if len(self._size) not in (1, 2):
        raise RuntimeError("diag(): Supports 1D or 2D tensors. Got " + str(len(self._size)) + "D")
    if len(self._size) == 1:
        check_offset(diagonal)
    else:
        diagonal = min(max(diagonal, -self._size[0]), self._size[1])
    return Tensor._wrap(np.diag(self._array, diagonal).copy())


@primitive("aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
def diag_embed(self, offset, dim1, dim2):
    n = len(self._size) + 1
    a, b = wrap_dim(dim1, n), wrap_dim(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    check_offset(offset)
    side = self._size[-1] + abs(offset)
    made = np.zeros((*self._size[:-1], side, side), self.dtype.numpy)
    i = np.arange(self._size[-1])
    made[..., i + max(-offset, 0), i + max(offset, 0)] = self._array
    return Tensor._wrap(np.ascontiguousarray(np.moveaxis(made, (-2, -1), (a, b))))


@primitive("aten::diagflat(Tensor self, int offset=0) -> Tensor")
def diagflat(self, offset):
    check_offset(offset)
    return Tensor._wrap(np.diag(self._array.reshape(-1), offset).copy())


@primitive("aten::cartesian_prod(Tensor[] tensors) -> Tensor", may_share=True)
def cartesian_prod(tensors):
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError("Expect a 1D vector, but got shape " + str(list(t._size)))
    if len(tensors) == 1:
        return tensors[0]
    dtype = dtypes.result_type(*tensors)
    arrays = np.meshgrid(*(cast(t, dtype)._array for t in tensors), indexing="ij")
    return Tensor._wrap(np.stack([a.reshape(-1) for a in arrays], 1))


def choices(n: int, r: int) -> int:
    """The number of combinations of r out of n elements, or a number too large for memory."""
    count = 1
    for k in range(min(r, n - r)):
        count = count * (n - k) // (k + 1)
        if count > 1 << 40:
            break
    return count if r <= n else 0


@primitive(
    "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    may_share=True,
)
def combinations(self, r, with_replacement):
    if self.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(self._size)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return Tensor._wrap(np.empty(0, self.dtype.numpy))
    reserve(choices(self._size[0] + (r - 1 if with_replacement else 0), r) * (r + 7) * 8)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    index = np.array(list(choose(range(self._size[0]), r)), np.int64).reshape(-1, r)
    return Tensor._wrap(self._array[index])


@primitive("aten::block_diag(Tensor[] tensors) -> Tensor", may_share=True)
def block_diag(tensors):
    if not tensors:
        return Tensor._wrap(np.empty((1, 0), np.float32))
    dtype = dtypes.result_type(*tensors)
    blocks = []
    for i, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {i} has {t.dim()} dimensions"
            )
        blocks.append(cast(t, dtype)._array.reshape((1, -1) if t.dim() < 2 else t._size))
    made = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), dtype.numpy)
    row = column = 0
    for b in blocks:
        made[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return Tensor._wrap(made)


@primitive(
    "aten::column_stack(Tensor[] tensors) -> Tensor",
    may_share=True,
    out="converts",
    out_memory="apart",
)
def column_stack(tensors):
    return cat([reshape(t, [t.numel(), 1]) if t.dim() < 2 else t for t in tensors], 1)


@primitive("aten::fliplr(Tensor self) -> Tensor", shape="like_first")
def fliplr(self):
    if self.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(self, [1])


@primitive("aten::flipud(Tensor self) -> Tensor", shape="like_first")
def flipud(self):
    if self.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(self, [0])


@primitive(
    "aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
    autocast="full",
    out_memory="apart",
)
def cross(self, other, dim):
    if dim is None:
        dim = next((d for d, n in enumerate(self._size) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(self, other, dim)


@primitive(
    "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", out_memory="apart"
)
def linalg_cross(self, other, dim):
    if len(self._size) != len(other._size):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = wrap_dim(dim, len(self._size))
    if self._size[axis] != 3 or other._size[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got "
            f"{self._size[axis]} and {other._size[axis]}"
        )
    dtype = dtypes.result_type(self, other)
    a, b = np.broadcast_arrays(cast(self, dtype)._array, cast(other, dtype)._array)
    return Tensor._wrap(np.ascontiguousarray(np.cross(a, b, axis=axis)))


@primitive("aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor")
def vander(x, N, increasing):
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    made = np.vander(x._array.astype(dtypes.working_type(x.dtype), copy=False), N, increasing)
    out = dtypes.int64 if x.dtype.kind in "bui" else x.dtype
    return Tensor._wrap(np.ascontiguousarray(made.astype(out.numpy)))


@primitive("aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", may_share=True)
def sum_to_size(self, size):
    lead = len(self._size) - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, self._size[lead:])):
        raise RuntimeError(
            f"size {{{list(size)}}} is not expandable to size {{{list(self._size)}}}."
        )
    if not size:
        return sum_dim(self)
    dims = [
        *range(lead),
        *(lead + d for d, n in enumerate(size) if n == 1 and self._size[lead + d] != 1),
    ]
    return reshape(sum_dim(self, dims, True), size) if dims else self


describe("cat", layout="keeps")
describe("atleast_1d atleast_2d atleast_3d", may_copy=True)
describe(
    """atleast_1d atleast_2d atleast_3d concat dstack flatten_dense_tensors hstack
         repeat_interleave vstack""",
    may_share=True,
)
describe("cat concat concatenate dstack hstack row_stack vstack", out="converts")
describe("cat concat concatenate dstack hstack row_stack vstack", out_memory="apart")
describe("repeat_interleave.Tensor", dynamic_shape=True)
