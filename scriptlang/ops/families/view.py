"""Views of the same storage, with strides computed as in PyTorch."""

from __future__ import annotations

import math

import numpy as np

from ...tensors import Tensor, contiguous_strides, wrap_dim
from ..table import declare, describe, primitive


def infer_size(size: list[int], numel: int) -> list[int]:
    """A size with its one -1 filled in.  Raises RuntimeError if `numel` elements do not fit."""
    size = list(size)
    known = math.prod(n for n in size if n != -1)
    if size.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in size):
        raise RuntimeError(f"invalid shape dimension {min(size)}")
    if -1 in size:
        if known == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {size} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
            )
        if known == 0 or numel % known:
            raise RuntimeError(f"shape '{size}' is invalid for input of size {numel}")
        size[size.index(-1)] = numel // known
    elif known != numel:
        raise RuntimeError(f"shape '{size}' is invalid for input of size {numel}")
    return size


def view_strides(size, stride, new: list[int]) -> tuple[int, ...] | None:
    """The strides that show the same elements in another size; None if a copy is needed."""
    if 0 in size:
        return tuple(stride) if tuple(size) == tuple(new) else contiguous_strides(new)
    if not size:
        return (1,) * len(new)
    strides = [0] * len(new)
    at = len(new) - 1
    base, chunk, seen = stride[-1], 1, 1
    for d in range(len(size) - 1, -1, -1):
        chunk *= size[d]
        if d == 0 or (size[d - 1] != 1 and stride[d - 1] != chunk * base):
            while at >= 0 and (seen < chunk or new[at] == 1):
                strides[at] = seen * base
                seen *= new[at]
                at -= 1
            if seen != chunk:
                return None
            if d > 0:
                base, chunk, seen = stride[d - 1], 1, 1
    return tuple(strides) if at == -1 else None


def step_stride(stride: int, step: int) -> int:
    """The stride of every `step`-th element; 0 if it is so large that there is only one."""
    return stride * step if stride * step <= 1 << 55 else 0


@primitive("aten::view(Tensor(a) self, int[] size) -> Tensor(a)", keeps_type="floating")
def view(self, size):
    size = infer_size(size, self.numel())
    strides = view_strides(self._size, self._stride, size)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at "
            "least one dimension spans across two contiguous subspaces). Use "
            ".reshape(...) instead."
        )
    return self._as_view(size, strides, self._offset)


@primitive("aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)")
def view_dtype(self, dtype):
    from ...dtypes import by_code

    target = by_code(dtype)
    if target.itemsize == self.dtype.itemsize:
        return Tensor(self._storage, target, self._size, self._stride, self._offset)
    if not self._size or self._stride[-1] != 1:
        raise RuntimeError("self.stride(-1) must be 1 to view a tensor with another element size")
    ratio = self.dtype.itemsize / target.itemsize

    def scale(n):
        if n * ratio != int(n * ratio):
            raise RuntimeError(
                f"self.size(-1) must be divisible by {int(1 / ratio)} to view "
                f"{self.dtype} as {target}"
            )
        return int(n * ratio)

    strides = [scale(s) for s in self._stride[:-1]] + [1]
    return Tensor(
        self._storage,
        target,
        [*self._size[:-1], scale(self._size[-1])],
        strides,
        scale(self._offset),
    )


def reshape(self, size):
    size = infer_size(size, self.numel())
    strides = view_strides(self._size, self._stride, size)
    if strides is not None:
        return self._as_view(size, strides, self._offset)
    return Tensor._wrap(self._array.reshape(size))


declare("aten::reshape(Tensor(a) self, int[] shape) -> Tensor(a)", reshape, "primitive")
declare(
    "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
    lambda self, size: view(self, size),
    "primitive",
)


@primitive("aten::view_copy(Tensor self, SymInt[] size) -> Tensor", out_memory="free")
def view_copy(self, size):
    return Tensor._wrap(np.array(reshape(self, size)._array, order="C"))


@primitive("aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)")
def view_as(self, other):
    return view(self, other._size)


@primitive("aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", may_copy=True)
def reshape_as(self, other):
    return reshape(self, other._size)


@primitive(
    "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    may_copy=True,
    keeps_type="floating",
)
def flatten(self, start_dim, end_dim):
    start, end = (wrap_dim(d, len(self._size)) for d in (start_dim, end_dim))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not self._size:
        return reshape(self, [1])
    if start == end:
        return self
    middle = math.prod(self._size[start : end + 1])
    return reshape(self, [*self._size[:start], middle, *self._size[end + 1 :]])


@primitive("aten::ravel(Tensor(a) self) -> Tensor(a)", may_copy=True)
def ravel(self):
    flat = [self.numel()]
    return (
        self._as_view(flat, [1], self._offset)
        if self.is_contiguous()
        else Tensor._wrap(np.array(self._array).reshape(flat))
    )


@primitive(
    "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", may_copy=True
)
def unflatten(self, dim, sizes):
    dim = wrap_dim(dim, len(self._size))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        sizes = infer_size(sizes, self._size[dim])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size "
            f"of dim {dim} ({self._size[dim]}) in the input tensor"
        ) from None
    return view(self, [*self._size[:dim], *sizes, *self._size[dim + 1 :]])


def _permuted(self, order):
    return self._as_view(
        [self._size[d] for d in order], [self._stride[d] for d in order], self._offset
    )


@primitive("aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", keeps_type="floating")
def permute(self, dims):
    n = len(self._size)
    if len(dims) != n:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not "
            f"match the length of the desired ordering of dimensions i.e. "
            f"input.dim() = {n} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(d, n) for d in dims]
    if len(set(order)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permuted(self, order)


def transpose(self, dim0, dim1):
    n = len(self._size)
    a, b = wrap_dim(dim0, n), wrap_dim(dim1, n)
    order = list(range(n))
    if n:
        order[a], order[b] = order[b], order[a]
    return _permuted(self, order)


declare(
    "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose, "primitive"
)
declare("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", transpose, "primitive")
declare("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose, "primitive")


@primitive("aten::t(Tensor(a) self) -> Tensor(a)")
def t(self):
    if len(self._size) > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {len(self._size)}D"
        )
    return _permuted(self, range(len(self._size))[::-1])


@primitive(
    "aten::numpy_T(Tensor(a) self) -> Tensor(a)", "aten::numpy_T.a(Tensor(a) self) -> Tensor(a)"
)
def numpy_T(self):
    return _permuted(self, range(len(self._size))[::-1])


@primitive("aten::mT(Tensor(a) self) -> Tensor(a)", "aten::mT.a(Tensor(a) self) -> Tensor(a)")
def mT(self):
    if not self._size:
        return self
    if len(self._size) < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{len(self._size)}-D tensor."
        )
    return transpose(self, -2, -1)


def conjugated(self):
    return self if self.dtype.kind != "c" else Tensor._wrap(self._array.conj())


@primitive(
    "aten::mH(Tensor(a) self) -> Tensor(a)",
    "aten::mH.a(Tensor(a) self) -> Tensor(a)",
    "aten::adjoint(Tensor(a) self) -> Tensor(a)",
    may_copy=True,
)
def mH(self):
    if not self._size:
        return conjugated(self)
    if len(self._size) < 2:
        raise RuntimeError(
            "tensor.mH is only supported on matrices or batches of matrices. Got "
            f"{len(self._size)}-D tensor."
        )
    return conjugated(transpose(self, -2, -1))


@primitive(
    "aten::matrix_H(Tensor(a) self) -> Tensor(a)",
    "aten::matrix_H.a(Tensor(a) self) -> Tensor(a)",
    may_copy=True,
)
def matrix_H(self):
    if len(self._size) not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {len(self._size)}-D tensor."
        )
    return conjugated(transpose(self, 0, 1) if self._size else self)


@primitive(
    "aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    "aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
)
def movedim(self, source, destination):
    n = len(self._size)
    if len(source) != len(destination):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(source)} dims) should contain the same number of dims as "
            f"destination ({list(destination)} dims)"
        )
    given = source, destination
    source, destination = ([wrap_dim(d, n) for d in dims] for dims in given)
    for name, dims in (("source", source), ("destination", destination)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    rest = iter(d for d in range(n) if d not in source)
    places = dict(zip(destination, source))
    return _permuted(self, [places[d] if d in places else next(rest) for d in range(n)])


@primitive(
    "aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    "aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
)
def movedim_int(self, source, destination):
    return movedim(self, [source], [destination])


def expand(self, size, implicit=False):
    extra = len(size) - len(self._size)
    if extra < 0:
        raise RuntimeError(
            f"expand({self.dtype}{list(self._size)}, size={list(size)}): the "
            f"number of sizes provided ({len(size)}) must be greater or equal to "
            f"the number of dimensions in the tensor ({len(self._size)})"
        )
    sizes, strides = [], []
    for d, n in enumerate(size):
        have = self._size[d - extra] if d >= extra else 1
        stride = self._stride[d - extra] if d >= extra else 0
        if n == -1:
            if d < extra:
                raise RuntimeError(
                    f"expand: the expanded size of the tensor ({n}) isn't allowed "
                    f"in a leading, non-existing dimension {d}"
                )
            n = have
        if have != n and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing "
                f"size ({have}) at non-singleton dimension {d}.  Target sizes: "
                f"{list(size)}.  Tensor sizes: {list(self._size)}"
            )
        sizes.append(n)
        strides.append(stride if have == n and d >= extra else 0 if n != 1 or d < extra else stride)
    return self._as_view(sizes, strides, self._offset)


declare(
    "aten::expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)",
    expand,
    "primitive",
)
declare(
    "aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    lambda self, other: expand(self, other._size),
    "primitive",
)
declare("aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", expand, "primitive")


def clamp_slice(n: int, start, end) -> tuple[int, int]:
    """The start and end of a slice of n elements, nonnegative and clamped to [0, n]."""
    start = 0 if start is None else start
    end = n if end is None else end
    start = min(max(start + n if start < 0 else start, 0), n)
    end = min(max(end + n if end < 0 else end, start), n)
    return start, max(end, start)


@primitive(
    "aten::slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int "
    "step=1) -> Tensor(a)"
)
def slice_tensor(self, dim, start, end, step):
    if not self._size:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(self._size))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    start, end = clamp_slice(self._size[dim], start, end)
    size, stride = list(self._size), list(self._stride)
    offset = self._offset + start * stride[dim]
    size[dim] = -(-(end - start) // step)
    stride[dim] = step_stride(stride[dim], step)
    return self._as_view(size, stride, offset)


@primitive("aten::select.int(Tensor(a) self, int dim, int index) -> Tensor(a)")
def select(self, dim, index):
    if not self._size:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(self._size))
    n = self._size[dim]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size "
            f"{list(self._size)} at dimension {dim}"
        )
    at = index + n if index < 0 else index
    return self._as_view(
        self._size[:dim] + self._size[dim + 1 :],
        self._stride[:dim] + self._stride[dim + 1 :],
        self._offset + at * self._stride[dim],
    )


@primitive("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)")
def narrow(self, dim, start, length):
    if not self._size:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(self._size))
    n = self._size[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [{-n}, {n}], but got {start})"
        )
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return slice_tensor(self, dim, start, start + length, 1)


def squeeze_dims(self, dims):
    keep = [d for d in range(len(self._size)) if d not in dims or self._size[d] != 1]
    return _permuted(self, keep)


@primitive("aten::squeeze(Tensor(a) self) -> Tensor(a)", keeps_type="floating")
def squeeze(self):
    return squeeze_dims(self, range(len(self._size)))


@primitive("aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", keeps_type="floating")
def squeeze_dim(self, dim):
    return squeeze_dims(self, (wrap_dim(dim, len(self._size)),))


@primitive("aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", keeps_type="floating")
def squeeze_many(self, dim):
    dims = [wrap_dim(d, len(self._size)) for d in dim]
    for i, d in enumerate(dims):
        if d in dims[:i]:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return squeeze_dims(self, dims)


@primitive("aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", keeps_type="floating")
def unsqueeze(self, dim):
    n = len(self._size)
    dim = wrap_dim(dim, n + 1)
    stride = self._size[dim] * self._stride[dim] if dim < n else 1
    return self._as_view(
        [*self._size[:dim], 1, *self._size[dim:]],
        [*self._stride[:dim], stride, *self._stride[dim:]],
        self._offset,
    )


@primitive("aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")
def diagonal(self, offset, dim1, dim2):
    n = len(self._size)
    a, b = wrap_dim(dim1, n), wrap_dim(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = max(min(self._size[a] + min(offset, 0), self._size[b] - max(offset, 0)), 0)
    start = self._offset
    if length:
        start += offset * self._stride[b] if offset >= 0 else -offset * self._stride[a]
    keep = [d for d in range(n) if d not in (a, b)]
    return self._as_view(
        [*(self._size[d] for d in keep), length],
        [*(self._stride[d] for d in keep), self._stride[a] + self._stride[b]],
        start,
    )


@primitive(
    "aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)"
)
def linalg_diagonal(A, offset, dim1, dim2):
    return diagonal(A, offset, dim1, dim2)


@primitive("aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)")
def reshape_alias(self, size, stride):
    if len(size) != len(stride):
        raise RuntimeError(
            f"a tensor with {len(size)} sizes and {len(stride)} strides is malformed"
        )
    return self._as_view(size, stride, self._offset)


@primitive("aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)")
def unfold(self, dimension, size, step):
    dim = wrap_dim(dimension, len(self._size))
    n = self._size[dim] if self._size else 1
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    sizes = list(self._size) or [1]
    strides = list(self._stride) or [1]
    sizes[dim] = (n - size) // step + 1
    inner = strides[dim]
    strides[dim] = step_stride(inner, step)
    if not self._size:
        return self._as_view([size], [1], self._offset)
    return self._as_view([*sizes, size], [*strides, inner], self._offset)


@primitive(
    "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor(a)"
)
def as_strided(self, size, stride, storage_offset):
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    offset = self._offset if storage_offset is None else storage_offset
    if min([offset, *size, *stride], default=0) < 0:
        raise RuntimeError(
            "as_strided: sizes, strides and offset must not be negative, got "
            f"{list(size)}, {list(stride)}, {offset}"
        )
    last = offset + sum((n - 1) * s for n, s in zip(size, stride))
    if 0 not in size and (last + 1) * self.dtype.itemsize > self._storage.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage "
            f"offset {offset}, and itemsize {self.dtype.itemsize} requiring a "
            f"storage size of {(last + 1) * self.dtype.itemsize} are out of bounds "
            f"for storage of size {self._storage.nbytes}"
        )
    return self._as_view(size, stride, offset)


@primitive(
    "aten::detach(Tensor(a) self) -> Tensor(a)",
    "aten::alias(Tensor(a) self) -> Tensor(a)",
    "aten::lift_fresh(Tensor(a) self) -> Tensor(a)",
    shape="like_first",
)
def alias(self):
    return self._as_view(self._size, self._stride, self._offset)


describe("reshape transpose", keeps_type="floating")
describe("expand_as lift_fresh reshape", may_copy=True)
describe("_unsafe_view squeeze_copy. squeeze_copy.dim squeeze_copy.dims", may_share=True)
describe(
    """alias_copy. as_strided_copy. diagonal_copy. expand_copy. narrow_copy. permute_copy.
         squeeze_copy. squeeze_copy.dim squeeze_copy.dims t_copy. transpose_copy.int unfold_copy.
         unsqueeze_copy. view_copy.dtype""",
    out_memory="free",
)
describe("data", shape="like_first")
