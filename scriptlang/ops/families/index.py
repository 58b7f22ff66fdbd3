"""Indexing with tensors: gather and scatter in all their forms."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...tensors import Tensor, wrap_dim
from ..shared.elementwise import (
    DISPLAY,
    array_of,
    cast,
    check_apart,
    check_broadcast,
    check_fits,
    check_writable,
    unsupported,
)
from ..shared.form_kernels import on_copy
from ..shared.index_keys import (
    check_count,
    check_elements,
    check_indices,
    check_long,
    check_rows,
    check_source,
    check_target,
    numpy_key,
)
from ..table import declare, describe, primitive
from .view import as_strided


@primitive(
    "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
    "aten::_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
)
def index(self, indices):
    if not indices:
        raise IndexError("at least one index must be provided")
    key = numpy_key(self, indices)
    found = self._array[key]
    is_view = not any(isinstance(k, np.ndarray) for k in key)
    return Tensor._wrap(np.array(found, order="C") if is_view else np.asarray(found, order="C"))


def only_mask(indices) -> Tensor | None:
    """The only index if it is a mask, all others being None; else None."""
    given = [i for i in indices if i is not None]
    one = len(given) == 1 and given[0].dtype.name in ("bool", "uint8")
    return given[0] if one else None


def index_put_(self, indices, values, accumulate=False):
    check_count(self, indices)
    mask = only_mask(indices) if values.numel() == 1 and not accumulate else None
    if mask is not None:
        if mask.dtype.name != "bool":
            raise RuntimeError(
                "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"
            )
        values = cast(values, self.dtype)
        values = values._as_view((), (), values._offset)
        if not mask.dim():  # the mask selects all of it or nothing
            self._array[bool(mask._array)] = values._array
            return self
    key = numpy_key(self, indices)
    if values.dtype is not self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{self.dtype} for the destination and {values.dtype} for the "
            "source."
        )
    for t in (*indices, values):
        if t is not None and mask is None:
            check_apart(self, t, same=False)
    target = self._array[key].shape
    try:
        value = np.broadcast_to(values._array, target)
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values._size)} cannot be "
            f"broadcast to indexing result of shape {list(target)}"
        ) from None
    if accumulate:
        np.add.at(self._array, key, value)
    else:
        self._array[key] = value
    return self


for _twin, _indices in (("", "Tensor?[]"), (".hacked_twin", "Tensor[]")):
    declare(
        f"aten::index_put_{_twin}(Tensor(a!) self, {_indices} indices, Tensor values, "
        "bool accumulate=False) -> Tensor(a!)",
        index_put_,
        "primitive",
    )
    declare(
        f"aten::_index_put_impl_{_twin}(Tensor(a!) self, {_indices} indices, Tensor values, "
        "bool accumulate=False, bool unsafe=False) -> Tensor(a!)",
        lambda self, indices, values, accumulate, unsafe: index_put_(
            self, indices, values, accumulate
        ),
        "primitive",
    )
    declare(
        f"aten::_unsafe_index_put{_twin}(Tensor self, {_indices} indices, Tensor values, "
        "bool accumulate=False) -> Tensor",
        on_copy(index_put_),
        "primitive",
    )


@primitive("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", out_memory="apart")
def index_select(self, dim, index):
    dim = wrap_dim(dim, len(self._size))
    if index.dim() > 1:
        raise IndexError(
            f"index_select(): Index is supposed to be a vector, but got dim: {index.dim()}"
        )
    if index.dtype.name not in ("int64", "int32"):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    at = index._array.reshape(-1)
    n = self._size[dim] if self._size else 1
    if at.size and (at.min() < 0 or at.max() >= n):
        raise IndexError("index out of range in self")
    if not self._size:
        if at.size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {at.size} value(s)"
            )
        return Tensor._wrap(self._array.copy())
    return Tensor._wrap(np.take(self._array, at, axis=dim))


def check_gather(self, dim, index, name):
    """Check the arguments of gather and scatter; return the nonnegative dimension.

    An index without elements may have any size.
    """
    dim = wrap_dim(dim, len(self._size))
    if not index.numel():
        return dim
    if index.dtype is not dtypes.int64 and index.dtype is not dtypes.int32:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if max(len(index._size), 1) != max(len(self._size), 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as "
            f"{'input' if name == 'gather' else 'self'} tensor"
        )
    for d, (n, m) in enumerate(zip(index._size, self._size)):
        if d != dim and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index "
                f"{list(index._size)} to be no larger than self {list(self._size)} "
                f"apart from dimension {dim}"
            )
    at = index._array
    n = self._size[dim] if self._size else 1
    if at.size and (at.min() < 0 or at.max() >= n):
        bad = at[(at < 0) | (at >= n)].flat[0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {n}")
    return dim


def grid(index: Tensor, dim: int) -> tuple:
    """The numpy index that is equivalent to gathering with `index` along one dimension."""
    key = list(np.ogrid[tuple(slice(n) for n in index._size)]) if index._size else []
    if key:
        key[dim] = index._array
    return tuple(key)


@primitive(
    "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    out_memory="apart",
)
def gather(self, dim, index, sparse_grad):
    dim = check_gather(self, dim, index, "gather")
    if not index.numel():
        return Tensor._wrap(np.empty(index._size, self.dtype.numpy))
    if not self._size or not index._size:
        return Tensor._wrap(self._array.reshape(-1)[index._array].reshape(index._size))
    return Tensor._wrap(np.ascontiguousarray(self._array[grid(index, dim)]))


REDUCE = {
    "add": np.add,
    "sum": np.add,
    "multiply": np.multiply,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}


def scatter_(self, dim, index, src, reduce=None):
    dim = check_gather(self, dim, index, "scatter")
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if isinstance(src, Tensor) and src.dtype is not self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.numel():
        check_writable(self)
        return self
    if isinstance(src, Tensor):
        if any(n > m for n, m in zip(index._size, src._size)):
            raise RuntimeError(
                f"Expected index {list(index._size)} to be no larger than src {list(src._size)}"
            )
        value = src._array[tuple(slice(n) for n in index._size or [1] * src.dim())]
    else:
        check_fits(src, self.dtype)
        value = array_of(src, self.dtype)
    check_target(self, index, src)
    target = self._array if self._size else self._array.reshape(1)
    key = grid(index, dim) if index._size else (index._array.reshape(1),)
    if not self._size:
        key = (index._array.reshape(-1),)
        value = value.reshape(-1) if isinstance(value, np.ndarray) else value
    if reduce is None:
        target[key] = value
    else:
        REDUCE[reduce].at(target, key, value)
    return self


for _name, _args, _f in (
    ("scatter_.src", "int dim, Tensor index, Tensor src", scatter_),
    ("scatter_.value", "int dim, Tensor index, Scalar value", scatter_),
    ("scatter_.reduce", "int dim, Tensor index, Tensor src, *, str reduce", scatter_),
    ("scatter_.value_reduce", "int dim, Tensor index, Scalar value, *, str reduce", scatter_),
    (
        "scatter_add_",
        "int dim, Tensor index, Tensor src",
        lambda self, dim, index, src: scatter_(self, dim, index, src, "add"),
    ),
):
    declare(f"aten::{_name}(Tensor(a!) self, {_args}) -> Tensor(a!)", _f, "primitive")


def neutral(reduce: str, dtype: dtypes.DType):
    """The neutral element of a reduction."""
    if reduce not in ("amax", "amin"):
        return 1 if reduce == "prod" else 0
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind == "f":
        return np.inf if reduce == "amin" else -np.inf
    info = np.iinfo(dtype.numpy)
    return info.max if reduce == "amin" else info.min


def reduce_into(target: np.ndarray, key, value: np.ndarray, reduce: str, include_self: bool):
    """Reduce each value into the elements of `target` that `key` selects, in place."""
    if not include_self:
        target[key] = neutral(reduce, dtypes.of_numpy(target.dtype))
    if reduce != "mean":
        REDUCE[reduce].at(target, key, value)
        return
    count = np.full(target.shape, 1 if include_self else 0, np.int64)
    np.add.at(target, key, value)
    np.add.at(count, key, 1)
    count = np.maximum(count, 1)
    target[...] = target // count if target.dtype.kind in "ui" else target / count


def scatter_reduce_(self, dim, index, src, reduce, include_self=True):
    where = check_gather(self, dim, index, "scatter_reduce")
    if reduce not in (*REDUCE, "mean"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}."
        )
    if reduce == "mean" and self.dtype.kind == "b":
        raise unsupported("scatter_gather_tensor_cpu_reduce_mean", self.dtype)
    if src.dtype is not self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.numel():
        return self
    if (
        any(n > m for n, m in zip(index._size, src._size))
        or len(index._size) != len(src._size)
        and index._size
        and src._size
    ):
        raise RuntimeError(
            f"Expected index {list(index._size)} to be no larger than src {list(src._size)}"
        )
    target = self._array if self._size else self._array.reshape(1)
    key = grid(index, where) if self._size else (index._array.reshape(-1),)
    value = src._array[tuple(slice(n) for n in index._size)]
    reduce_into(target, key, value, reduce, include_self)
    return self


declare(
    "aten::scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, "
    "*, bool include_self=True) -> Tensor(a!)",
    scatter_reduce_,
    "primitive",
)


def index_add_(self, dim, index, source, alpha=1):
    if index.dtype.name not in ("int32", "int64"):
        raise RuntimeError(
            "index_add_(): Expected dtype int32/int64 for index but got: "
            f"{DISPLAY[index.dtype.name]}"
        )
    check_source("index_add_", self, dim, index, source, scalars=False)
    check_target(self, index, source)
    if not self.numel() and len(self._size) > 1:
        return self
    check_rows("index_add_", self, dim, index, scatters=index.dtype is dtypes.int64 and alpha == 1)
    array, key = rows(self, dim, index)
    np.add.at(array, key, source._array * array_of(alpha, self.dtype))
    return self


def rows(self, dim, index) -> tuple[np.ndarray, tuple]:
    """Return (the array, at least 1-d; the numpy index that selects rows along a dimension)."""
    dim = wrap_dim(dim, len(self._size))
    if index.dim() > 1:
        raise IndexError(f"Index is supposed to be a vector, but got dim: {index.dim()}")
    check_indices(index._array, self._size[dim] if self._size else 1, dim)
    array = self._array if self._size else self._array.reshape(1)
    return array, (slice(None),) * dim + (index._array.reshape(-1),)


def index_copy_(self, dim, index, source):
    if index.dtype is not dtypes.int64:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {DISPLAY[index.dtype.name]}"
        )
    check_source("index_copy_", self, dim, index, source)
    check_target(self, index, source)
    check_rows("index_copy_", self, dim, index)
    array, key = rows(self, dim, index)
    array[key] = source._array.reshape(1) if not source._size else source._array
    return self


def index_fill_(self, dim, index, value):
    check_long("index_fill_()", index)
    check_apart(self, index, same=False)  # expanded tensors may be filled
    array, key = rows(self, dim, index)
    if isinstance(value, Tensor):
        if value.dim() > 0:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.dim()} dimension(s)."
            )
        value = value.item()
    check_fits(value, self.dtype)
    array[key] = array_of(value, self.dtype)
    return self


for _name, _args, _f in (
    ("index_add_", "int dim, Tensor index, Tensor source, *, Scalar alpha=1", index_add_),
    ("index_copy_", "int dim, Tensor index, Tensor source", index_copy_),
    ("index_fill_.int_Scalar", "int dim, Tensor index, Scalar value", index_fill_),
    ("index_fill_.int_Tensor", "int dim, Tensor index, Tensor value", index_fill_),
):
    declare(f"aten::{_name}(Tensor(a!) self, {_args}) -> Tensor(a!)", _f, "primitive")


@primitive(
    "aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)"
)
def fill_diagonal_(self, value, wrap):
    """Set the diagonal; with `wrap`, it starts again below the first in a tall matrix."""
    size, stride = self._size, self._stride
    if len(size) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(size) > 2 and len(set(size)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    check_fits(value, self.dtype)
    height, width, step = size[0], size[1], sum(stride)
    starts = [(self._offset, min(size))]
    if wrap and len(size) == 2 and height > width + 1:
        every = -(-self.numel() // (width + 1))
        starts.append((self._offset + stride[0] * (width + 1), every - min(size)))
    for start, count in starts:
        as_strided(self, (count,), (step,), start)._array[...] = array_of(value, self.dtype)
    return self


@primitive("aten::masked_select(Tensor self, Tensor mask) -> Tensor", out_memory="apart")
def masked_select(self, mask):
    if mask.dtype is not dtypes.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    array, where = np.broadcast_arrays(self._array, mask._array)
    return Tensor._wrap(array[where])


def masked_scatter_(self, mask, source):
    if mask.dtype is not dtypes.bool:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    if source.dtype is not self.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{DISPLAY[self.dtype.name]} and {DISPLAY[source.dtype.name]}"
        )
    if check_broadcast(self, mask) != self._size:
        raise RuntimeError(
            f"output with shape {list(self._size)} doesn't match the broadcast "
            f"shape {list(check_broadcast(self, mask))}"
        )
    check_writable(self)
    where = np.broadcast_to(mask._array, self._size)
    n = int(where.sum())
    if n > source.numel():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    self._array[where] = source._array.reshape(-1)[:n]
    return self


declare(
    "aten::masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)",
    masked_scatter_,
    "primitive",
)


@primitive(
    "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", shape="like_first"
)
def masked_scatter(self, mask, source):
    shape = check_broadcast(self, mask)
    whole = Tensor._wrap(np.array(np.broadcast_to(self._array, shape), order="C"))
    return masked_scatter_(whole, mask, source)


@primitive("aten::nonzero(Tensor self) -> Tensor", "aten::argwhere(Tensor self) -> Tensor")
def nonzero(self):
    return Tensor._wrap(np.argwhere(self._array).astype(np.int64))


@primitive(
    "aten::nonzero_numpy(Tensor self) -> Tensor[]", "aten::where(Tensor condition) -> Tensor[]"
)
def nonzero_numpy(self):
    found = Tensor._wrap(np.argwhere(np.atleast_1d(self._array)).astype(np.int64))
    step, apart = found._stride
    return [found._as_view(found._size[:1], (step,), d * apart) for d in range(found._size[1])]


@primitive("aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor")
def nonzero_static(self, size, fill_value):
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = nonzero(self)._array[:size]
    rest = np.full((size - len(found), len(self._size)), fill_value, np.int64)
    return Tensor._wrap(np.concatenate([found, rest]))


@primitive(
    "aten::put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!)"
)
def put_(self, index, source, accumulate):
    if index.dtype is not dtypes.int64:
        raise IndexError(
            f"put_(): Expected a long tensor for index, but got {DISPLAY[index.dtype.name]}"
        )
    if self.dtype is not source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got "
            f"self.dtype = {DISPLAY[self.dtype.name]} and source.dtype = "
            f"{DISPLAY[source.dtype.name]}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, "
            f"but got source.numel() = {source.numel()}, index.numel() = "
            f"{index.numel()}"
        )
    check_target(self, index, source)
    check_elements(index, self.numel(), "put_(): Tried to put elements into an empty tensor")
    flat = np.array(self._array).reshape(-1)
    at = index._array.reshape(-1)
    value = source._array.reshape(-1)
    if accumulate:
        np.add.at(flat, at, value)
    else:
        flat[at] = value
    self._array[...] = flat.reshape(self._size)
    return self


def clamped(self, indices) -> list:
    """The indices, clamped to the valid range: masked ones may be outside of it."""
    return [
        None if i is None else Tensor._wrap(np.clip(i._array, -self._size[d], self._size[d] - 1))
        for d, i in enumerate(indices)
    ]


@primitive(
    "aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor"
)
def unsafe_masked_index(self, mask, indices, fill):
    """The elements at the indices where the mask is true, and `fill` elsewhere."""
    found = index(self, clamped(self, indices))._array
    fill = bool(fill) if self.dtype.kind == "b" else fill
    return Tensor._wrap(np.where(mask._array, found, array_of(fill, self.dtype)))


@primitive(
    "aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, "
    "Tensor values) -> Tensor"
)
def unsafe_masked_index_put(self, mask, indices, values):
    value = Tensor._wrap(np.where(mask._array, values._array, values.dtype.numpy.type(0)))
    return on_copy(index_put_)(self, clamped(self, indices), value, True)


@primitive(
    "aten::index_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor source, str reduce, "
    "*, bool include_self=True) -> Tensor(a!)",
    row_major_copy=True,
)
def index_reduce_(self, dim, index, source, reduce, include_self):
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin "
            f"but got {reduce}."
        )
    if self.dtype is not source.dtype:
        raise RuntimeError("index_reduce(): self and source expected to have the same dtype")
    check_source("index_reduce_", self, dim, index, source)
    check_rows("index_reduce_", self, dim, index)
    array, key = rows(self, dim, index)
    value = source._array if self._size else source._array.reshape(-1)
    reduce_into(array, key, value, reduce, include_self)
    return self


@primitive("aten::take(Tensor self, Tensor index) -> Tensor", out_memory="apart")
def take(self, index):
    if index.dtype is not dtypes.int64:
        given = DISPLAY[index.dtype.name]
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {given}")
    check_elements(index, self.numel(), "take(): tried to take from an empty tensor")
    return Tensor._wrap(np.asarray(self._array.reshape(-1)[index._array], order="C"))


@primitive(
    "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", out_memory="apart"
)
def take_along_dim(self, indices, dim):
    check_long("take_along_dim()", indices)
    if dim is not None and indices.dim() != self.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    array = self._array if dim is not None else self._array.reshape(-1)
    at = indices._array if dim is not None else indices._array.reshape(-1)
    axis = 0 if dim is None else wrap_dim(dim, len(self._size))
    shape = np.broadcast_shapes(*([*s[:axis], 1, *s[axis + 1 :]] for s in (array.shape, at.shape)))
    full = [list(shape) for _ in range(2)]
    full[0][axis], full[1][axis] = array.shape[axis], at.shape[axis]
    return Tensor._wrap(
        np.take_along_axis(np.broadcast_to(array, full[0]), np.broadcast_to(at, full[1]), axis)
    )


describe("index_put. index_put.hacked_twin", autocast="full")
describe("nonzero", out_memory="apart")
describe("index_add_ index_copy_ scatter_ scatter_add_ scatter_reduce_", row_major_copy=True)
describe("argwhere masked_select nonzero nonzero_numpy where.", dynamic_shape=True)
