"""Operators that put tensors together, repeat them, or turn them round."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from ..tensor import Tensor, wrap_dim
from .elementwise import cast, store
from .table import declare, primitive


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
            raise RuntimeError(f"Tensors must have same number of dimensions: got "
                               f"{len(first._size)} and {len(t._size)}")
        for d, (a, b) in enumerate(zip(first._size, t._size)):
            if d != dim and a != b:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected "
                                   f"size {a} but got size {b} for tensor number {i} in the list.")
    dtype = joined_dtype(tensors)
    return Tensor._wrap(np.concatenate([cast(t, dtype)._array for t in kept], axis=dim))


def joined_dtype(tensors):
    dtype = dtypes.result_type(*tensors)
    return dtype


declare("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", cat, "primitive")
declare("aten::concat(Tensor[] tensors, int dim=0) -> Tensor", cat, "primitive")
declare("aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", cat, "primitive")


@primitive("aten::stack(Tensor[] tensors, int dim=0) -> Tensor")
def stack(tensors, dim):
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._size
    for i, t in enumerate(tensors):
        if t._size != first:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first)} at "
                               f"entry 0 and {list(t._size)} at entry {i}")
    dim = wrap_dim(dim, len(first) + 1)
    dtype = joined_dtype(tensors)
    return Tensor._wrap(np.stack([cast(t, dtype)._array for t in tensors], axis=dim))


def _at_least(t, n):
    from .view import reshape

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
    declare(f"aten::atleast_{_n}d(Tensor self) -> Tensor", lambda t, n=_n: _at_least(t, n),
            "primitive")
    declare(f"aten::atleast_{_n}d.Sequence(Tensor[] tensors) -> Tensor[]",
            lambda ts, n=_n: [_at_least(t, n) for t in ts], "primitive")
declare("aten::hstack(Tensor[] tensors) -> Tensor",
        lambda ts: cat([_at_least(t, 1) for t in ts], 0 if len(ts[0]._size) < 2 else 1), "primitive")
declare("aten::vstack(Tensor[] tensors) -> Tensor",
        lambda ts: cat([_at_least(t, 2) for t in ts], 0), "primitive")
declare("aten::dstack(Tensor[] tensors) -> Tensor",
        lambda ts: cat([_at_least(t, 3) for t in ts], 2), "primitive")


@primitive("aten::flip(Tensor self, int[] dims) -> Tensor")
def flip(self, dims):
    axes = [wrap_dim(d, len(self._size)) for d in dims]
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"dim {dims} appears multiple times in the list of dims")
    return Tensor._wrap(np.ascontiguousarray(np.flip(self._array, axes)).reshape(self._size))


@primitive("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor")
def roll(self, shifts, dims):
    if dims and len(dims) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:"
                           f"{len(dims)}")
    axes = tuple(wrap_dim(d, len(self._size)) for d in dims) if dims else None
    return Tensor._wrap(np.roll(self._array, tuple(shifts) if dims else shifts[0], axes))


@primitive("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")
def rot90(self, k, dims):
    return Tensor._wrap(np.ascontiguousarray(np.rot90(self._array, k, dims)))


@primitive("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor")
def repeat(self, repeats):
    if len(repeats) < len(self._size):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of "
                           "dimensions of tensor")
    return Tensor._wrap(np.tile(self._array, repeats))


@primitive("aten::tile(Tensor self, SymInt[] dims) -> Tensor")
def tile(self, dims):
    return Tensor._wrap(np.tile(self._array, dims))


def repeat_interleave(self, repeats, dim=None, output_size=None):
    times = repeats._array if isinstance(repeats, Tensor) else repeats
    axis = None if dim is None else wrap_dim(dim, len(self._size))
    return Tensor._wrap(np.repeat(self._array, times, axis))


declare("aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
        "SymInt? output_size=None) -> Tensor", repeat_interleave, "primitive")
declare("aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
        "SymInt? output_size=None) -> Tensor", repeat_interleave, "primitive")
declare("aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
        lambda repeats, size: Tensor._wrap(np.repeat(np.arange(len(repeats._array)),
                                                     repeats._array)), "primitive")


@primitive("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]")
def broadcast_tensors(tensors):
    from .elementwise import check_broadcast
    from .view import expand

    shape = check_broadcast(*tensors)
    return [expand(t, shape) for t in tensors]


@primitive("aten::diag(Tensor self, int diagonal=0) -> Tensor")
def diag(self, diagonal):
    if len(self._size) not in (1, 2):
        raise RuntimeError("diag(): Supports 1D or 2D tensors. Got " + str(len(self._size)) + "D")
    return Tensor._wrap(np.diag(self._array, diagonal).copy())


@primitive("aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
def diag_embed(self, offset, dim1, dim2):
    n = len(self._size) + 1
    a, b = wrap_dim(dim1, n), wrap_dim(dim2, n)
    side = self._size[-1] + abs(offset)
    made = np.zeros((*self._size[:-1], side, side), self.dtype.numpy)
    i = np.arange(self._size[-1])
    made[..., i + max(-offset, 0), i + max(offset, 0)] = self._array
    return Tensor._wrap(np.ascontiguousarray(np.moveaxis(made, (-2, -1), (a, b))))


@primitive("aten::cartesian_prod(Tensor[] tensors) -> Tensor")
def cartesian_prod(tensors):
    arrays = np.meshgrid(*(t._array for t in tensors), indexing="ij")
    joined = np.stack([a.reshape(-1) for a in arrays], 1)
    return Tensor._wrap(joined if len(tensors) > 1 else joined[:, 0])
