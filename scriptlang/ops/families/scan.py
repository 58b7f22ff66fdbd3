"""Cumulative sums, products and extremes; differences and integrals along a dimension."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...dtypes import DISPLAY
from ...tensors import Tensor, wrap_dim
from .. import table
from ..shared.elementwise import apply, array_of, cast, check_kind, floating, store
from ..shared.reductions import summed
from ..table import declare, describe, primitive
from .arithmetic import subtract
from .join import cat
from .reduce import sum_dim
from .view import narrow

WIDER = {"float32": np.float64, "complex64": np.complex128}
"""The types that cumulative sums and products of float32 and complex64 are computed in."""


def scan(f):
    def kernel(self, dim, dtype=None):
        out = summed(self.dtype, dtype)
        axis = wrap_dim(dim, len(self._size))
        array = self._array.astype(dtypes.working_type(out), copy=False)
        sums = WIDER.get(array.dtype.name, array.dtype)
        value = f(array, axis=axis, dtype=sums) if array.ndim else array.copy()
        return cast(Tensor._wrap(np.asarray(value, order="C")), out)

    return kernel


def in_place(f, name):
    def kernel(self, dim, dtype=None):
        if self.dtype is not dtypes.bool:
            return store(self, f(self, dim, dtype))
        wrap_dim(dim, len(self._size))
        if self._size and self.numel():
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
        return self

    return kernel


for _name, _f in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
    declare(
        f"aten::{_name}(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
        scan(_f),
        "primitive",
    )
    declare(
        f"aten::{_name}_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)",
        in_place(scan(_f), _name),
        "primitive",
    )


def running(largest: bool):
    def kernel(self, dim):
        check_kind("cummax" if largest else "cummin", self.dtype, "buif")
        axis = wrap_dim(dim, len(self._size))
        array = np.moveaxis(np.atleast_1d(self._array), axis, 0)
        best, index = array.copy(), np.zeros(array.shape, np.int64)
        for i in range(1, len(array)):
            better = (array[i] >= best[i - 1]) if largest else (array[i] <= best[i - 1])
            better |= array[i] != array[i]
            best[i] = np.where(better, array[i], best[i - 1])
            index[i] = np.where(better, i, index[i - 1])
        back = [
            np.ascontiguousarray(np.moveaxis(a, 0, axis)).reshape(self._size) for a in (best, index)
        ]
        return Tensor._wrap(back[0]), Tensor._wrap(back[1])

    return kernel


for _name, _large in (("cummax", True), ("cummin", False)):
    declare(
        f"aten::{_name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        running(_large),
        "primitive",
    )


@primitive("aten::logcumsumexp(Tensor self, int dim) -> Tensor", shape="like_first")
def logcumsumexp(self, dim):
    axis = wrap_dim(dim, len(self._size))
    if self.dtype.kind not in "fc":
        raise RuntimeError(
            f"logcumsumexp is only implemented for floating and complex types, not {self.dtype}"
        )

    def f(a):
        rows = np.moveaxis(np.atleast_1d(a).copy(), axis, 0)
        for i in range(1, len(rows)):
            rows[i] = _log_add(rows[i - 1], rows[i])
        return np.moveaxis(rows, 0, axis).reshape(a.shape)

    return Tensor._wrap(np.ascontiguousarray(apply(f, self.dtype, self)._array).reshape(self._size))


def _log_add(a, b):
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    low, high = np.where(a.real < b.real, a, b), np.where(a.real < b.real, b, a)
    return np.where(np.isinf(low.real) & (low.real < 0), high, high + np.log1p(np.exp(low - high)))


@primitive(
    "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)"
    " -> Tensor",
    out="converts",
)
def diff(self, n, dim, prepend, append):
    if not self._size:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = wrap_dim(dim, len(self._size))
    parts = [t for t in (prepend, self, append) if t is not None]
    if len({len(t._size) for t in parts}) > 1:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    if n == 0:
        return Tensor._wrap(np.array(self._array))
    x = cat(parts, dim) if len(parts) > 1 else self
    for _ in range(min(n, x._size[dim])):
        length = max(x._size[dim] - 1, 0)
        later, earlier = narrow(x, dim, x._size[dim] - length, length), narrow(x, dim, 0, length)
        x = (
            apply(np.logical_xor, x.dtype, later, earlier)
            if x.dtype.kind == "b"
            else subtract(later, earlier)
        )
    return x


def trapezoids(y: Tensor, x, dim: int):
    """(areas between neighboring points, dimension, type of the result).

    x: the positions of the points, or their distance.
    """
    axis = wrap_dim(dim, len(y._size))
    out = floating(dtypes.result_type(y, x))
    a = array_of(
        y, y.dtype, dtypes.working_type(y.dtype)
    )  # integers stay integers until they are halved
    sides = np.take(a, range(1, a.shape[axis]), axis) + np.take(a, range(a.shape[axis] - 1), axis)
    if not isinstance(x, Tensor):
        return sides * (x / 2), axis, out
    place = array_of(x, x.dtype, dtypes.working_type(x.dtype))
    if len(x._size) == 1 and len(y._size) != 1:
        place = place.reshape([-1 if d == axis else 1 for d in range(len(y._size))])
    elif place.ndim < a.ndim:  # broadcasts
        place = place.reshape([1] * (a.ndim - place.ndim) + list(place.shape))
    have, want = place.shape[axis], a.shape[axis]
    broadcasts = len(x._size) > 1 and 2 in (have, want)  # a single difference for all
    if have != want and not broadcasts:
        raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
    return sides * np.diff(place, axis=axis) / 2, axis, out


def trapezoid(y, x, dim):
    check_has_dim(y, dim)
    if y._size[wrap_dim(dim, len(y._size))] == 0:
        return cast(sum_dim(y, [dim]), y.dtype)
    check_no_bool(y)
    check_real_step("trapezoid", x)
    if not isinstance(x, Tensor):  # the sum minus half of the ends
        axis = wrap_dim(dim, len(y._size))
        a = array_of(y, y.dtype, dtypes.working_type(y.dtype))
        ends = np.take(a, 0, axis) + np.take(a, -1, axis)
        out = floating(dtypes.result_type(y, x))
        return Tensor._wrap(np.asarray((a.sum(axis) - ends / 2) * x).astype(out.numpy))
    areas, axis, dtype = trapezoids(y, x, dim)
    return Tensor._wrap(np.asarray(np.sum(areas, axis=axis)).astype(dtype.numpy))


def check_has_dim(y: Tensor, dim: int) -> None:
    wrap_dim(dim, len(y._size))
    if not y._size:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")


def check_real_step(name: str, step) -> None:
    if isinstance(step, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")


def check_no_bool(y: Tensor) -> None:
    if y.dtype is dtypes.bool:
        raise RuntimeError("trapezoid: received a bool input for `y`, but bool is not supported")


def cumulative_trapezoid(y, x, dim):
    check_has_dim(y, dim)
    check_no_bool(y)
    check_real_step("cumulative_trapezoid", x)
    if isinstance(x, Tensor):
        check_no_bool(x)
    areas, axis, dtype = trapezoids(y, x, dim)
    return Tensor._wrap(np.cumsum(areas, axis=axis).astype(dtype.numpy))


for _name in ("trapezoid", "trapz", "cumulative_trapezoid"):
    _f = cumulative_trapezoid if _name.startswith("cum") else trapezoid
    _step = "float dx=1." if _name == "trapz" else "Scalar dx=1"
    declare(f"aten::{_name}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", _f, "primitive")
    declare(f"aten::{_name}.dx(Tensor y, *, {_step}, int dim=-1) -> Tensor", _f, "primitive")


def gradient(self, spacing=None, dim=None, edge_order=1):
    """Central differences inside, one-sided ones at the edges, as in numpy."""
    dims = list(range(len(self._size))) if dim is None else [dim] if isinstance(dim, int) else dim
    axes = [wrap_dim(d, len(self._size)) for d in dims]
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"dim {dims} appears multiple times in the list of dims")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d in axes:
        if self._size[d] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    if self.dtype in (dtypes.uint8, dtypes.bool):
        raise RuntimeError(f"torch.gradient does not support input of {DISPLAY[self.dtype.name]}")
    steps = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(axes)
    if len(steps) != len(axes):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a "
            f"list of length {len(axes)}, but got a list of length {len(steps)}"
        )
    out = floating(self.dtype)
    array = array_of(self, out, dtypes.working_type(out))
    results = []
    for axis, step in zip(axes, steps):
        by = step._array if isinstance(step, Tensor) else 1 if step is None else step
        # np.gradient rejects such steps, so the result is divided by them.
        turns = isinstance(by, complex) or not isinstance(step, Tensor) and by == 0
        value = np.gradient(array, 1 if turns else by, axis=axis, edge_order=edge_order)
        made = Tensor._wrap(np.ascontiguousarray(value).astype(out.numpy))
        results.append(table.find("aten::div", "Scalar").kernel(made, by) if turns else made)
    return results


for _overload, _args in (
    ("scalarint", "Scalar? spacing=None, int? dim=None"),
    ("scalararray", "Scalar spacing, int[] dim"),
    ("array", "int[] dim"),
    ("scalarrayint", "Scalar[] spacing, int? dim=None"),
    ("scalarrayarray", "Scalar[] spacing, int[] dim"),
    ("tensorarrayint", "Tensor[] spacing, int? dim=None"),
    ("tensorarray", "Tensor[] spacing, int[] dim"),
):
    declare(
        f"aten::gradient.{_overload}(Tensor self, *, {_args}, int edge_order=1) -> Tensor[]",
        (lambda self, dim, edge: gradient(self, None, dim, edge))
        if _overload == "array"
        else gradient,
        "primitive",
    )


describe("cumprod cumsum", autocast="full")
describe("cumprod cumsum", out="typed")
