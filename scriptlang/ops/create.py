"""Creation: tensors from sizes, numbers and lists.  Layout, device and pinning are accepted and ignored."""

from __future__ import annotations

import math

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..tensor import Tensor, contiguous_strides
from .elementwise import array_of, cast, declare_pointwise
from .table import declare, primitive

OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
LIKE = OPTIONS + ", MemoryFormat? memory_format=None"


def chosen(dtype: int | None, default: DType | None = None) -> DType:
    if dtype is None:
        return default or dtypes.get_default_dtype()
    return dtypes.by_code(dtype)


def check_size(size) -> tuple[int, ...]:
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    if math.prod(size) > 1 << 40:
        raise RuntimeError(f"a tensor of size {list(size)} is too large")
    return tuple(size)


def filled(size, value, dtype: DType) -> Tensor:
    return Tensor._wrap(np.full(check_size(size), array_of(value, dtype), dtype.numpy))


def like(x: Tensor, value, dtype: DType, memory_format: int | None = None) -> Tensor:
    """A filled tensor of the same size, and the same strides where those are dense."""
    size = x._size
    order = sorted(range(len(size)), key=lambda d: -x._stride[d]) \
        if memory_format in (None, 1) and is_dense(x) else range(len(size))
    if memory_format in (2, 3) and len(size) == memory_format + 2:
        order = [0, *range(2, len(size)), 1]
    strides = [0] * len(size)
    for d, s in zip(order, contiguous_strides([size[d] for d in order])):
        strides[d] = s
    base = filled([math.prod(size)], value, dtype)
    return Tensor(base.storage, dtype, size, strides, 0)


def is_dense(x: Tensor) -> bool:
    """Whether the elements fill their memory without gaps or overlap, in some order of dimensions."""
    step = 1
    for s, n in sorted((s, n) for s, n in zip(x._stride, x._size) if n != 1):
        if s != step:
            return False
        step *= n
    return True


for _name, _value in (("zeros", 0), ("ones", 1), ("empty", 0)):
    _more = ", MemoryFormat? memory_format=None" if _name == "empty" else ""
    _dot = ".memory_format" if _name == "empty" else ""
    declare(f"aten::{_name}{_dot}(int[] size, *, {OPTIONS}{_more}) -> Tensor",
            lambda size, dtype, *_, v=_value: filled(size, v, chosen(dtype)), "primitive")
    declare(f"aten::{_name}_like(Tensor self, *, {LIKE}) -> Tensor",
            lambda self, dtype, layout, device, pin, fmt, v=_value:
            like(self, v, chosen(dtype, self.dtype), fmt), "primitive")
    declare(f"aten::new_{_name}(Tensor self, int[] size, *, {OPTIONS}) -> Tensor",
            lambda self, size, dtype, *_, v=_value: filled(size, v, chosen(dtype, self.dtype)),
            "primitive")


def full_dtype(value, dtype) -> DType:
    return chosen(dtype, dtypes.scalar_dtype(value))


declare(f"aten::full(int[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
        lambda size, value, dtype, *_: filled(size, value, full_dtype(value, dtype)), "primitive")
declare(f"aten::full_like(Tensor self, Scalar fill_value, *, {LIKE}) -> Tensor",
        lambda self, value, dtype, layout, device, pin, fmt:
        like(self, value, chosen(dtype, self.dtype), fmt), "primitive")
declare(f"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
        lambda self, size, value, dtype, *_: filled(size, value, chosen(dtype, self.dtype)),
        "primitive")
declare(f"aten::scalar_tensor(Scalar s, *, {OPTIONS}) -> Tensor",
        lambda s, dtype, *_: filled((), s, chosen(dtype)), "primitive")
declare(f"aten::empty_strided(SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor",
        lambda size, stride, dtype, *_: empty_strided(size, stride, chosen(dtype)), "primitive")


def empty_strided(size, stride, dtype):
    extent = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0
    return Tensor(filled([extent], 0, dtype).storage, dtype, check_size(size), stride, 0)


def arange(start, end, step, dtype):
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        target = dtypes.int64 if whole else dtypes.get_default_dtype()
    else:
        target = dtypes.by_code(dtype)
    if target.kind in "ui":
        start, end, step = int(start), int(end), int(step)
        n = max(-(-(end - start) // step), 0)
        return Tensor._wrap((start + step * np.arange(n, dtype=np.int64)).astype(target.numpy))
    n = max(math.ceil((end - start) / step), 0)
    return Tensor._wrap((start + step * np.arange(n, dtype=np.float64)).astype(target.numpy))


declare(f"aten::arange(Scalar end, *, {OPTIONS}) -> Tensor",
        lambda end, dtype, *_: arange(0, end, 1, dtype), "primitive")
declare(f"aten::arange.start(Scalar start, Scalar end, *, {OPTIONS}) -> Tensor",
        lambda start, end, dtype, *_: arange(start, end, 1, dtype), "primitive")
declare(f"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor",
        lambda start, end, step, dtype, *_: arange(start, end, step, dtype), "primitive")


@primitive(f"aten::linspace(Scalar start, Scalar end, int steps, *, {OPTIONS}) -> Tensor")
def linspace(start, end, steps, dtype, *_):
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    target = chosen(dtype)
    if target.kind not in "ui":
        return Tensor._wrap(np.linspace(start, end, steps).astype(target.numpy))
    start, end = int(start), int(end)
    step = np.float32((end - start) / (steps - 1)) if steps > 1 else np.float32(0)
    i = np.arange(steps)
    line = np.where(i < steps // 2, start + step * i, end - step * (steps - i - 1))
    return Tensor._wrap(line.astype(target.numpy))


@primitive(f"aten::eye(SymInt n, *, {OPTIONS}) -> Tensor")
def eye(n, dtype, *_):
    return Tensor._wrap(np.eye(n, dtype=chosen(dtype).numpy))


@primitive(f"aten::eye.m(SymInt n, SymInt m, *, {OPTIONS}) -> Tensor")
def eye_m(n, m, dtype, *_):
    return Tensor._wrap(np.eye(n, m, dtype=chosen(dtype).numpy))


def from_list(data, dtype: int | None) -> Tensor:
    """torch.tensor(data): the type is that of the numbers, floats become the default type."""
    if isinstance(data, Tensor):
        return cast(Tensor._wrap(data._array.copy()), chosen(dtype, data.dtype))
    array = np.asarray(_items(data))
    if array.dtype == object:
        raise ValueError("expected sequences of equal length at every level")
    if dtype is not None:
        target = dtypes.by_code(dtype)
    elif array.size == 0 or array.dtype.kind == "f":
        target = dtypes.get_default_dtype()
    elif array.dtype.kind == "c":
        target = dtypes.scalar_dtype(1j)
    else:
        target = dtypes.bool if array.dtype.kind == "b" else dtypes.int64
    return cast(Tensor._wrap(array), target)


def _items(data):
    if isinstance(data, (list, tuple)):
        try:
            return np.array([_items(v) for v in data]) if data else np.zeros(0)
        except ValueError:
            raise ValueError("expected sequences of equal length at every level") from None
    return data.item() if isinstance(data, Tensor) else data


def _tensor(data, dtype=None, device=None, requires_grad=False):
    made = from_list(data, dtype)
    made.requires_grad = requires_grad
    return made


for _t in ("float", "int", "bool", "complex"):
    declare(f"aten::tensor.{_t}({_t} t, *, ScalarType? dtype=None, Device? device=None, "
            "bool requires_grad=False) -> Tensor", _tensor, "primitive")
    declare(f"aten::as_tensor.{_t}({_t} t, *, ScalarType? dtype=None, Device? device=None)"
            " -> Tensor", _tensor, "primitive")
declare("aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, "
        "bool requires_grad=False) -> Tensor", _tensor, "primitive")
declare("aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None)"
        " -> Tensor(b|a)",
        lambda data, dtype, device: cast(data, chosen(dtype, data.dtype)), "primitive")
declare("aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
        _tensor, "primitive")


def triangle(f):
    return lambda self, diagonal: Tensor._wrap(f(self._array, diagonal))


for _name, _f in (("triu", np.triu), ("tril", np.tril)):
    declare_pointwise(_name, "int diagonal=0", triangle(_f))


def _indices(f):
    def kernel(row, col, offset, dtype, *_):
        return Tensor._wrap(np.stack(f(row, offset, col)).astype(chosen(dtype, dtypes.int64).numpy))

    return kernel


for _name, _f in (("triu", np.triu_indices), ("tril", np.tril_indices)):
    declare(f"aten::{_name}_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
            _indices(_f), "primitive")


def meshgrid(tensors, indexing="ij"):
    arrays = np.meshgrid(*(t._array.reshape(-1) for t in tensors), indexing=indexing)
    return [Tensor._wrap(np.ascontiguousarray(a)) for a in arrays]


declare("aten::meshgrid(Tensor[] tensors) -> Tensor[]", meshgrid, "primitive")
declare("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", meshgrid,
        "primitive")


@primitive("aten::complex(Tensor real, Tensor imag) -> Tensor")
def make_complex(real, imag):
    return Tensor._wrap(real._array + 1j * imag._array)
