"""Tensors from sizes, numbers and lists.  Layout, device and pinning are accepted and ignored."""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...tensors import Tensor
from ..shared.elementwise import (
    DISPLAY,
    cast,
    check_fits,
    lying,
    rounded,
    rounded_number,
    unsupported,
)
from ..shared.fresh import check_size, filled, laid_out, like
from ..shared.layout import dense_strides, rows
from ..table import declare, describe, primitive

OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
LIKE = OPTIONS + ", MemoryFormat? memory_format=None"


def chosen(dtype: int | None, default: DType | None = None) -> DType:
    if dtype is None:
        return default or dtypes.get_default_dtype()
    return dtypes.by_code(dtype)


declare(
    f"aten::empty.memory_format(int[] size, *, {OPTIONS}, MemoryFormat? memory_format=None) "
    "-> Tensor",
    lambda size, dtype, layout, device, pin, fmt: laid_out(size, 0, chosen(dtype), fmt),
    "primitive",
)
for _name, _value in (("zeros", 0), ("ones", 1)):
    declare(
        f"aten::{_name}(int[] size, *, {OPTIONS}) -> Tensor",
        lambda size, dtype, *_, v=_value: filled(size, v, chosen(dtype)),
        "primitive",
    )
for _name, _value in (("zeros", 0), ("ones", 1), ("empty", 0)):
    declare(
        f"aten::{_name}_like(Tensor self, *, {LIKE}) -> Tensor",
        lambda self, dtype, layout, device, pin, fmt, v=_value: like(
            self, v, chosen(dtype, self.dtype), fmt
        ),
        "primitive",
    )
    declare(
        f"aten::new_{_name}(Tensor self, int[] size, *, {OPTIONS}) -> Tensor",
        lambda self, size, dtype, *_, v=_value: filled(size, v, chosen(dtype, self.dtype)),
        "primitive",
    )


def full_dtype(value, dtype) -> DType:
    return chosen(dtype, dtypes.scalar_dtype(value))


declare(
    f"aten::full(int[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
    lambda size, value, dtype, *_: filled(size, value, full_dtype(value, dtype)),
    "primitive",
)
declare(
    f"aten::full_like(Tensor self, Scalar fill_value, *, {LIKE}) -> Tensor",
    lambda self, value, dtype, layout, device, pin, fmt: like(
        self, value, chosen(dtype, self.dtype), fmt
    ),
    "primitive",
)
declare(
    f"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
    lambda self, size, value, dtype, *_: filled(size, value, chosen(dtype, self.dtype)),
    "primitive",
)
declare(
    f"aten::scalar_tensor(Scalar s, *, {OPTIONS}) -> Tensor",
    lambda s, dtype, *_: filled((), s, chosen(dtype)),
    "primitive",
)
declare(
    f"aten::empty_strided(SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor",
    lambda size, stride, dtype, *_: empty_strided(size, stride, chosen(dtype)),
    "primitive",
)


declare(
    f"aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor",
    lambda self, size, stride, dtype, *_: empty_strided(size, stride, chosen(dtype, self.dtype)),
    "primitive",
)


@primitive(f"aten::empty_permuted(SymInt[] size, int[] physical_layout, *, {OPTIONS}) -> Tensor")
def empty_permuted(size, physical_layout, dtype, *_):
    """A dense tensor whose dimensions are in memory in the order of `physical_layout`."""
    if len(physical_layout) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the "
            f"physical_layout; i.e. len(size) = {len(size)} is not equal to "
            f"len(physical_layout) = {len(physical_layout)}"
        )
    for i, dim in enumerate(physical_layout):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got "
                f"{dim} at index {i}).  NB: negative dims not currently supported; file an issue "
                "if you want it."
            )
        if dim in physical_layout[:i]:
            raise RuntimeError("Duplicate dim not allowed")
    return empty_strided(size, dense_strides(size, physical_layout), chosen(dtype))


def empty_strided(size, stride, dtype):
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of "
            f"strides ({len(stride)})"
        )
    extent = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0
    return Tensor(filled([extent], 0, dtype)._storage, dtype, check_size(size), stride, 0)


def real_bound(value):
    """A bound as a real number; raises RuntimeError if it has an imaginary part."""
    if not isinstance(value, complex):
        return value
    if value.imag:
        raise RuntimeError("value cannot be converted to type double without overflow")
    return value.real


def arange(start, end, step, dtype):
    start, end, step = map(real_bound, (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not math.isfinite(start) or not math.isfinite(end) or math.isnan(step):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        whole = all(isinstance(v, int) for v in (start, end, step))
        target = dtypes.int64 if whole else dtypes.get_default_dtype()
    else:
        target = dtypes.by_code(dtype)
    if target.kind in "bc":
        raise unsupported("arange", target)
    if target is dtypes.int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise RuntimeError("step must be nonzero")
        n = max(-(-(end - start) // step), 0)
    else:
        n = max(math.ceil((end - start) / step), 0)
    if target.kind in "ui":
        start, step = int(start), int(step)
        return Tensor._wrap((start + step * np.arange(n, dtype=np.int64)).astype(target.numpy))
    return Tensor._wrap((start + step * np.arange(n, dtype=np.float64)).astype(target.numpy))


declare(
    f"aten::arange(Scalar end, *, {OPTIONS}) -> Tensor",
    lambda end, dtype, *_: arange(0, end, 1, dtype),
    "primitive",
)
declare(
    f"aten::arange.start(Scalar start, Scalar end, *, {OPTIONS}) -> Tensor",
    lambda start, end, dtype, *_: arange(start, end, 1, dtype),
    "primitive",
)
declare(
    f"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor",
    lambda start, end, step, dtype, *_: arange(start, end, step, dtype),
    "primitive",
)


def ends(start, end) -> tuple:
    """The ends of a range as numbers.  Raises RuntimeError for tensors with dimensions."""
    for x in (start, end):
        if isinstance(x, Tensor) and x.dim():
            raise RuntimeError(
                "linspace only supports 0-dimensional start and end tensors, but "
                f"got start with {x.dim()} dimension(s)."
            )
    return tuple(x.item() if isinstance(x, Tensor) else x for x in (start, end))


def range_dtype(dtype, *limits) -> DType:
    given = any(isinstance(x, complex) for x in limits)
    if dtype is None and given:
        return dtypes.scalar_dtype(1j)
    target = chosen(dtype)
    if given and target.kind != "c":
        raise RuntimeError(
            "torch.linspace(): inferred dtype ComplexFloat can't be safely cast to passed dtype "
            f"{DISPLAY[target.name]}"
        )
    return target


def line(start, end, steps: int, dtype: DType) -> np.ndarray:
    """`steps` evenly spaced numbers, each computed from the nearer end, for a result of `dtype`."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if steps == 1:
        return np.array([start])
    if dtype.kind == "c":
        work = np.complex128
        start, end = complex(start), complex(end)
    elif dtype.kind in "ui":
        work, start, end = np.float64, int(start), int(end)
    else:
        work = np.float64 if dtype.itemsize == 8 else np.float32
    if dtypes.is_half(dtype):
        return line_of_halves(start, end, steps, dtype)
    step = work((end - start) / max(steps - 1, 1))
    i = np.arange(steps).astype(work)
    return np.where(
        np.arange(steps) < steps // 2, work(start) + step * i, work(end) - step * (steps - 1 - i)
    )


def line_of_halves(start: float, end: float, steps: int, dtype: DType) -> np.ndarray:
    """`line` for half types, which round every step."""
    start, end = (np.float32(rounded_number(x, dtype)) for x in (start, end))
    step = np.float32(rounded_number((end - start) / np.float32(max(steps - 1, 1)), dtype))
    i = np.arange(steps).astype(np.float32)
    up, down = (rounded(step * n, dtype) for n in (i, steps - 1 - i))
    return np.where(np.arange(steps) < steps // 2, start + up, end - down)


def linspace(start, end, steps, dtype=None, *_):
    start, end = ends(start, end)
    check_size([steps])
    target = range_dtype(dtype, start, end)
    return Tensor._wrap(line(start, end, steps, target).astype(target.numpy))


def logspace(start, end, steps, base, dtype=None, *_):
    start, end = ends(start, end)
    check_size([steps])
    target = range_dtype(dtype, start, end)
    wide = np.complex128 if target.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        value = np.power(wide(base), line(start, end, steps, target).astype(wide))
        return Tensor._wrap(value.astype(target.numpy))


for _name, _more, _f in (
    ("linspace", "int steps", linspace),
    ("logspace", "int steps, float base=10.", logspace),
):
    for _dot, _a, _b in (
        ("", "Scalar", "Scalar"),
        (".Tensor_Tensor", "Tensor", "Tensor"),
        (".Tensor_Scalar", "Tensor", "Scalar"),
        (".Scalar_Tensor", "Scalar", "Tensor"),
    ):
        declare(
            f"aten::{_name}{_dot}({_a} start, {_b} end, {_more}, *, {OPTIONS}) -> Tensor",
            _f,
            "primitive",
        )


def inclusive_range(start, end, step=1, dtype=None, *_):
    """`torch.range`: arange including the end."""
    for x in (start, end, step):
        check_fits(x, dtypes.float64)
    start, end, step = (x.real if isinstance(x, complex) else x for x in (start, end, step))
    target = chosen(dtype)
    if target.kind in "buif" and not all(map(math.isfinite, (start, end))):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if target.kind in "bui":
        start, end, step = int(start), int(end), int(step)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = math.floor((end - start) / step) + 1
    check_size([count])
    return Tensor._wrap((start + step * np.arange(count)).astype(target.numpy))


declare(
    f"aten::range(Scalar start, Scalar end, *, {OPTIONS}) -> Tensor",
    lambda start, end, *options: inclusive_range(start, end, 1, *options),
    "primitive",
)
declare(
    f"aten::range.step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor",
    inclusive_range,
    "primitive",
)


def check_counts(**counts: int) -> None:
    for name, n in counts.items():
        if n < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {n}")


@primitive(f"aten::eye(SymInt n, *, {OPTIONS}) -> Tensor")
def eye(n, dtype, *_):
    check_counts(n=n)
    return Tensor._wrap(np.eye(n, dtype=chosen(dtype).numpy))


@primitive(f"aten::eye.m(SymInt n, SymInt m, *, {OPTIONS}) -> Tensor")
def eye_m(n, m, dtype, *_):
    check_counts(n=n, m=m)
    return Tensor._wrap(np.eye(n, m, dtype=chosen(dtype).numpy))


def from_list(data, dtype: int | None) -> Tensor:
    """torch.tensor(data): has the type of the numbers; floats have the default type."""
    if isinstance(data, Tensor):
        return cast(Tensor._wrap(data._array.copy()), chosen(dtype, data.dtype))
    array = np.asarray(_items(data))
    if array.dtype == object:
        raise ValueError("expected sequences of equal length at every level")
    if dtype is not None:
        target = dtypes.by_code(dtype)
        if target.kind == "q":
            raise NotImplementedError(f"no tensor of {target} is made of numbers; quantize one")
    elif (first := _first_tensor(data)) is not None:
        target = first.dtype
    elif array.size == 0 or array.dtype.kind == "f":
        target = dtypes.get_default_dtype()
    elif array.dtype.kind == "c":
        target = dtypes.scalar_dtype(1j)
    else:
        target = dtypes.bool if array.dtype.kind == "b" else dtypes.int64
    return cast(Tensor._wrap(array), target)


def _first_tensor(data) -> Tensor | None:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data if isinstance(data, Tensor) else None


def _items(data):
    if isinstance(data, (list, tuple)):
        try:
            return np.array([_items(v) for v in data]) if data else np.zeros(0)
        except ValueError:
            raise ValueError("expected sequences of equal length at every level") from None
    return data.item() if isinstance(data, Tensor) else data


def _tensor(data, dtype=None, device=None, requires_grad=False):
    made = from_list(data, dtype)
    if requires_grad and made.dtype.kind not in "fc":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    made.requires_grad = requires_grad
    return made


for _t in ("float", "int", "bool", "complex"):
    declare(
        f"aten::tensor.{_t}({_t} t, *, ScalarType? dtype=None, Device? device=None, "
        "bool requires_grad=False) -> Tensor",
        _tensor,
        "primitive",
    )
    declare(
        f"aten::as_tensor.{_t}({_t} t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
        _tensor,
        "primitive",
    )
declare(
    "aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, "
    "bool requires_grad=False) -> Tensor",
    _tensor,
    "primitive",
)
declare(
    "aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None)"
    " -> Tensor(b|a)",
    lambda data, dtype, device: cast(data, chosen(dtype, data.dtype)),
    "primitive",
)
declare(
    "aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    _tensor,
    "primitive",
)


def triangle(name, f):
    def kernel(self, diagonal):
        if self.dim() < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        reach = sum(self._size[-2:])  # larger offsets change nothing
        return Tensor._wrap(rows(f(self._array, min(max(diagonal, -reach), reach))))

    return kernel


for _name, _f in (("triu", np.triu), ("tril", np.tril)):
    declare(
        f"aten::{_name}(Tensor self, int diagonal=0) -> Tensor",
        triangle(_name, _f),
        "primitive",
        shape="like_first",
        out_memory="free",
    )


def triangle_count(rows: int, columns: int, offset: int) -> int:
    """The number of elements of a matrix on or below the diagonal `offset`."""
    first = min(max(0, -offset), rows)  # the first row with such an element
    whole = min(max(first, columns - offset - 1), rows)  # the first row of which all elements count
    growing = whole - first
    return growing * (first + offset + 1) + growing * (growing - 1) // 2 + (rows - whole) * columns


def _indices(name: str):
    lower = name == "tril"

    def kernel(row, col, offset, dtype, *_):
        check_counts(row=row, col=col)
        offset = min(max(offset, -row - col), row + col)  # larger offsets change nothing
        if lower:  # the part beyond the triangle may be arbitrarily large
            col = min(col, max(0, row + offset))
        else:
            row = min(row, max(0, col - offset))
        count = triangle_count(row, col, offset if lower else offset - 1)
        count = count if lower else row * col - count
        if count >= 1 << 40:
            raise RuntimeError(f"a matrix of {row} x {col} has too many indices")
        target = chosen(dtype, dtypes.int64)
        if target.name not in ("int32", "int64"):
            raise NotImplementedError(
                f"\"{name}_indices\" not implemented for '{DISPLAY[target.name]}'"
            )
        if not count:
            row = col = 0
        places = (np.tril_indices if lower else np.triu_indices)(row, offset, col)
        return Tensor._wrap(np.stack(places).astype(target.numpy))

    return kernel


for _name in ("triu", "tril"):
    declare(
        f"aten::{_name}_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        _indices(_name),
        "primitive",
    )


def meshgrid(tensors, indexing="ij"):
    """Views of the tensors, each expanded over the dimensions of all."""
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + indexing
        )
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but "
                f"got: {list(t._size)}"
            )
    if len({t.dtype for t in tensors}) > 1:
        raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = [tensors[i].numel() for i in order]
    return [
        t._as_view(
            shape,
            [
                t._stride[0]
                if t._size and order[d] == i and t._size[0] != 1
                else 1
                if order[d] == i
                else 0
                for d in range(len(shape))
            ],
            t._offset,
        )
        for i, t in enumerate(tensors)
    ]


declare("aten::meshgrid(Tensor[] tensors) -> Tensor[]", meshgrid, "primitive")
declare(
    "aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", meshgrid, "primitive"
)


@primitive("aten::complex(Tensor real, Tensor imag) -> Tensor", pointwise=True, out="exact")
def make_complex(real, imag):
    if real.dtype.kind != "f" or imag.dtype.kind != "f" or real.dtype is dtypes.bfloat16:
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{DISPLAY[real.dtype.name]} and {DISPLAY[imag.dtype.name]}"
        )
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {DISPLAY[real.dtype.name]} but got "
            f"scalar type {DISPLAY[imag.dtype.name]} for second argument"
        )
    dtypes.complex_of(real.dtype)
    made = real._array + 1j * imag._array
    return lying(made, None, real, imag)


describe("arange linspace logspace range", out="row")
describe("as_tensor meshgrid tensor", may_share=True)
describe("set_data", reshapes=True)
