"""Order statistics, covariance and histograms."""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...tensors import Tensor, wrap_dim
from ..shared.elementwise import DISPLAY, array_of, check_kind, floating
from ..shared.layout import rows
from ..table import declare, primitive


def middle(array: np.ndarray, axis: int, skip_nan: bool) -> np.ndarray:
    """The index of the lower median, with the dimension kept; the first nan wins unless skipped."""
    order = np.argsort(array, axis=axis, kind="stable")
    n = array.shape[axis]
    if array.dtype.kind != "f":
        return np.take(order, [(n - 1) // 2], axis=axis)
    lost = np.isnan(array)
    count = n - lost.sum(axis=axis, keepdims=True)
    if skip_nan:
        return np.take_along_axis(order, np.maximum(count - 1, 0) // 2, axis)
    return np.where(
        count < n,
        np.argmax(lost, axis=axis, keepdims=True),
        np.take(order, [(n - 1) // 2], axis=axis),
    )


def working(self: Tensor) -> np.ndarray:
    """The array, at least one-dimensional; half types as float32, which orders them the same."""
    return np.atleast_1d(self._array.astype(dtypes.working_type(self.dtype), copy=False))


def of_nothing(dtype: DType):
    """The median of no elements: NaN as x86-64 converts it to the type."""
    if dtype.kind in "fc":
        return np.nan
    return -1 << dtype.itemsize * 8 - 1 if dtype.name in ("int32", "int64") else 0


def median_of_all(skip_nan):
    def kernel(self):
        if self.numel() == 0 and self.dtype.kind != "b":
            return Tensor._wrap(np.asarray(of_nothing(self.dtype), self.dtype.numpy))
        check_kind("median", self.dtype, "uif")
        flat = working(self).reshape(-1)
        return Tensor._wrap(np.asarray(flat[middle(flat, 0, skip_nan)[0]]).astype(self.dtype.numpy))

    return kernel


def chosen(self: Tensor, index: np.ndarray, axis: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """Return (elements at an index, the index).

    index: has the reduced dimension with size 1; the results have it only if `keepdim`.
    """
    value = np.take_along_axis(np.atleast_1d(self._array), index, axis)
    if not keepdim or not self._size:
        value, index = value.squeeze(axis), index.squeeze(axis)
    return Tensor._wrap(rows(np.asarray(value))), Tensor._wrap(rows(np.asarray(index, np.int64)))


def check_reduced(name, self, dim) -> int:
    axis = wrap_dim(dim, len(self._size))
    if self._size and self._size[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    return axis


def median_along(name, skip_nan):
    def kernel(self, dim, keepdim):
        check_kind(name, self.dtype, "uif")
        axis = check_reduced(name, self, dim)
        return chosen(self, middle(working(self), axis, skip_nan), axis, keepdim)

    return kernel


for _name in ("median", "nanmedian"):
    _skip = _name == "nanmedian"
    declare(f"aten::{_name}(Tensor self) -> Tensor", median_of_all(_skip), "primitive")
    declare(
        f"aten::{_name}.dim(Tensor self, int dim, bool keepdim=False)"
        " -> (Tensor values, Tensor indices)",
        median_along(_name, _skip),
        "primitive",
    )


def inserted(row: np.ndarray) -> list[int]:
    """The order in which PyTorch's insertion sort leaves a short row.

    No element passes a NaN, except to become the first.
    """
    order: list[int] = []
    for i, x in enumerate(row):
        at = len(order)
        first = at and x < row[order[0]]
        while at and (first or x < row[order[at - 1]]):
            at -= 1
        order.insert(at, i)
    return order


@primitive(
    "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"
)
def mode(self, dim, keepdim):
    """The most frequent element (of several, the smallest), and its last index."""
    check_kind("mode", self.dtype, "buif")
    axis = check_reduced("mode", self, dim)
    array = np.moveaxis(working(self), axis, -1)
    order = np.argsort(array, axis=-1, kind="stable")
    if array.shape[-1] <= 16:
        for place in np.argwhere(np.isnan(array).any(-1)):
            order[tuple(place)] = inserted(array[tuple(place)])
    ordered = np.take_along_axis(array, order, -1)
    n = array.shape[-1]
    run, best, where = np.zeros(array.shape[:-1], np.int64), 0, np.zeros(array.shape[:-1], np.int64)
    best = np.zeros_like(run)
    for i in range(n):
        run = run + 1
        ends = np.ones_like(run, bool) if i + 1 == n else ordered[..., i] != ordered[..., i + 1]
        better = ends & (run > best)
        best, where = np.where(better, run, best), np.where(better, order[..., i], where)
        run = np.where(ends, 0, run)
    return chosen(self, np.expand_dims(where, axis), axis, keepdim)


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile_kernel(name, skip_nan):
    def kernel(self, q, dim, keepdim, interpolation):
        return quantile(name, self, q, dim, keepdim, interpolation, skip_nan)

    return kernel


def quantile(name, self, q, dim, keepdim, interpolation, skip_nan):
    """Elements at fractions q of the sorted elements, interpolated between two neighbors."""
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint "
            f"or nearest, but got {interpolation}"
        )
    if self.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if self.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if isinstance(q, Tensor):
        if q.dim() > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if q.dtype is not self.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        fraction = q._array
    else:
        fraction = np.asarray(q, self.dtype.numpy)
    if np.any((fraction < 0) | (fraction > 1)):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    array = np.atleast_1d(self._array).reshape(-1) if dim is None else np.atleast_1d(self._array)
    axis = 0 if dim is None else wrap_dim(dim, len(self._size))
    ordered = np.sort(np.moveaxis(array, axis, -1), axis=-1)
    value = interpolated(ordered, fraction.reshape(-1), interpolation, skip_nan)
    value = np.moveaxis(value, -1, 0)  # the fractions come first
    if keepdim:
        kept = [1] * len(self._size) if dim is None else list(self._size)
        if self._size:
            kept[axis] = 1
        value = value.reshape([len(value), *kept])
    elif not self._size:
        value = value.reshape(len(value))
    if not fraction.ndim:
        return Tensor._wrap(rows(value[0]))
    innermost = rows(np.moveaxis(value, 0, -1))  # the fractions are innermost in memory
    return Tensor._wrap(np.moveaxis(innermost, -1, 0))


def interpolated(ordered, fraction, interpolation, skip_nan):
    """Values at fractions of sorted rows; rows with nan give nan, unless nan is skipped."""
    n = ordered.shape[-1]
    lost = np.isnan(ordered).sum(axis=-1, keepdims=True)
    last = np.maximum(n - lost - 1, 0) if skip_nan else np.where(lost > 0, 0, n - 1)
    rank = (fraction * last).astype(ordered.dtype)
    if not skip_nan:
        rank = np.where(lost > 0, ordered.dtype.type(n - 1), rank)
    if interpolation == "nearest":
        rank = np.rint(rank)
    low = (np.ceil(rank) if interpolation == "higher" else np.floor(rank)).astype(np.int64)
    value = np.take_along_axis(ordered, low, -1)
    if interpolation not in ("linear", "midpoint"):
        return value
    weight = (
        rank - np.floor(rank)
        if interpolation == "linear"
        else np.where(rank == np.floor(rank), 0, 0.5).astype(ordered.dtype)
    )
    above = np.take_along_axis(ordered, np.ceil(rank).astype(np.int64), -1)
    gap = above - value
    with np.errstate(all="ignore"):
        return np.where(weight < 0.5, value + weight * gap, above - gap * (1 - weight)).astype(
            ordered.dtype
        )


for _name in ("quantile", "nanquantile"):
    for _head, _q in (("", "Tensor q"), (".scalar", "float q")):
        declare(
            f"aten::{_name}{_head}(Tensor self, {_q}, int? dim=None, bool keepdim=False, *, "
            'str interpolation="linear") -> Tensor',
            quantile_kernel(_name, _name == "nanquantile"),
            "primitive",
        )


def covariance_type(self: Tensor, fweights: Tensor | None, aweights: Tensor | None) -> dtypes.DType:
    """The element type of covariances.  Raises RuntimeError for unsupported types."""
    if self.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    out = floating(self.dtype)
    if aweights is not None:
        if aweights.dtype.kind != "f":
            raise RuntimeError(
                "cov(): expected aweights to have floating point dtype but got "
                f"aweights with {DISPLAY[aweights.dtype.name]} dtype"
            )
        out = dtypes.promote(out, aweights.dtype)
    if fweights is not None and fweights.dtype.kind not in "ui":
        raise RuntimeError(
            "cov(): expected fweights to have integral dtype but got fweights with "
            f"{DISPLAY[fweights.dtype.name]} dtype"
        )
    return out


def covariance_weights(
    n: int, fweights: Tensor | None, aweights: Tensor | None
) -> np.ndarray | None:
    """The weights (n,) of the observations; None if all are equal."""
    weight = None
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if w.dim() > 1 or w.numel() != n:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are "
                f"observations in the input but got {w.numel()} != {n}"
            )
        if (w._array < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")
        weight = w._array if weight is None else weight * w._array
    return weight


@primitive(
    "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, "
    "Tensor? aweights=None) -> Tensor"
)
def cov(self, correction, fweights, aweights):
    """The covariances of the rows (variables) over the columns (observations)."""
    if len(self._size) > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input "
            f"with {len(self._size)} dimensions"
        )
    out = covariance_type(self, fweights, aweights)
    rows = np.atleast_2d(array_of(self, out, dtypes.working_type(out)))
    n = rows.shape[1]
    weight = covariance_weights(n, fweights, aweights)
    total = n if weight is None else weight.sum()
    with np.errstate(all="ignore"):
        mean = (rows if weight is None else rows * weight).sum(axis=1, keepdims=True) / total
        if weight is not None and aweights is not None and correction:
            norm = total - correction * (weight * aweights._array).sum() / total
        else:
            norm = total - correction
        centred = rows - mean
        right = centred if weight is None else centred * weight
        value = (
            (centred @ right.conj().T / max(norm, 0))
            if norm > 0
            else centred @ right.conj().T / np.float64(0)
        )
    return Tensor._wrap(
        np.asarray(
            np.squeeze(value) if len(self._size) < 2 or rows.shape[0] == 1 else value
        ).astype(out.numpy)
    )


@primitive("aten::corrcoef(Tensor self) -> Tensor")
def corrcoef(self):
    if len(self._size) > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an "
            f"input with {len(self._size)} dimensions"
        )
    covariance = cov(self, 1, None, None)
    c = covariance._array
    with np.errstate(all="ignore"):
        if not c.ndim:
            return Tensor._wrap(np.asarray(c / c))
        deviation = np.sqrt(np.diagonal(c).real)
        value = c / deviation[:, None] / deviation[None]
        value = (
            np.clip(value.real, -1, 1) + 1j * np.clip(value.imag, -1, 1)
            if c.dtype.kind == "c"
            else np.clip(value, -1, 1)
        )
    return Tensor._wrap(value.astype(c.dtype))


def histogram_edges(x: np.ndarray, bins: int, limits) -> np.ndarray:
    """The edges of equal bins between the limits, or between the extremes of the elements."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins}")
    low, high = (
        limits if limits is not None else (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
    )
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogram(): range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("torch.histogram(): max must be larger than min")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1)


def counts_in(points: np.ndarray, edges: list[np.ndarray], weight: Tensor | None) -> np.ndarray:
    """The number of points, or the sum of their weights, in each cell between the edges.

    Edges need not be sorted: the result is then that of PyTorch's search.
    """
    inside, cells = np.ones(len(points), bool), []
    for x, edge in zip(points.astype(np.float64).T, (e.astype(np.float64) for e in edges)):
        cell = np.minimum(places_above(edge, x) - 1, len(edge) - 2)
        inside &= (x >= edge[0]) & (x <= edge[-1]) & (cell >= 0)
        cells.append(cell)
    count = np.zeros([len(e) - 1 for e in edges])
    weights = np.ones(len(points)) if weight is None else weight._array.reshape(-1)
    np.add.at(count, tuple(cell[inside] for cell in cells), weights[inside])
    return count


def places_above(edges: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The index of the first edge that is greater than x, for every x, by bisection."""
    first, size = np.zeros(len(x), np.int64), np.full(len(x), len(edges))
    while size.any():
        half = size >> 1
        middle = np.minimum(first + half, len(edges) - 1)
        right = (size > 0) & ~(x < edges[middle])
        first = np.where(right, middle + 1, first)
        size = np.where(right, size - half - 1, half)
    return first


def histogram(self, bins, limits, weight, density):
    if self.dtype.kind != "f":
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{self.dtype}'")
    x = self._array.reshape(-1)
    if weight is not None and weight._size != self._size:
        raise RuntimeError(
            "torch.histogram(): if weight tensor is provided it should have the same shape as the "
            f"input, got {weight.numel()} weights for {self.numel()} values"
        )
    if limits is not None and (len(limits) != 2 or limits[0] > limits[1]):
        raise RuntimeError(
            f"torch.histogramdd: a range has a least and a greatest number, but got {list(limits)}"
        )
    if isinstance(bins, Tensor) and (bins.dim() != 1 or bins.numel() == 0):
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have one dimension and at least "
            f"1 element, but got size {list(bins._size)}"
        )
    edges = bins._array if isinstance(bins, Tensor) else histogram_edges(x, bins, limits)
    rounded = edges.astype(self.dtype.numpy)
    count = counts_in(x[:, None], [rounded], weight)
    if density:
        count = count / count.sum() / np.diff(edges)
    return (
        Tensor._wrap(count.astype(self.dtype.numpy)),
        Tensor._wrap(np.array(edges, self.dtype.numpy)),
    )


declare(
    "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, "
    "bool density=False) -> (Tensor hist, Tensor bin_edges)",
    lambda self, bins, weight, density: histogram(self, bins, None, weight, density),
    "primitive",
)
declare(
    "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, "
    "Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
    histogram,
    "primitive",
)


def histogramdd(self, edges_of, weight, density):
    """The counts of points, which are the rows of the last dimension.

    edges_of(points) returns the edges of the bins for each coordinate.
    """
    if self.dtype.kind != "f":
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{self.dtype}'")
    if self.dim() < 2:
        raise RuntimeError(
            "torch.histogramdd(): input tensor should have at least 2 dimensions, "
            f"but got {self.dim()}"
        )
    points = self._array.reshape(math.prod(self._size[:-1]), self._size[-1])
    edges = [np.asarray(e, self.dtype.numpy) for e in edges_of(points)]
    if len(edges) != points.shape[1]:
        raise RuntimeError(
            f"torch.histogramdd(): expected {points.shape[1]} sequences of bins, "
            f"but got {len(edges)}"
        )
    # points without coordinates are in no bin
    count = counts_in(points, edges, weight) if edges else np.zeros((), points.dtype)
    if density:
        count = count / count.sum()
        for d, e in enumerate(edges):
            count = count / np.diff(e).reshape([-1 if i == d else 1 for i in range(len(edges))])
    return Tensor._wrap(count.astype(self.dtype.numpy)), [Tensor._wrap(e) for e in edges]


def equal_bins(bins, limits):
    """Make a function of points that returns the edges of equal bins for each coordinate.

    bins: their number, for each coordinate or for all.
    """

    def edges(points):
        n = points.shape[1]
        counts = [bins] * n if isinstance(bins, int) else bins
        if limits is not None and len(limits) != 2 * n:
            raise RuntimeError(
                f"torch.histogramdd(): for a {n}-dimensional histogram range should have {2 * n} "
                f"elements, but got {len(limits)}"
            )
        ends = [None] * n if limits is None else zip(limits[::2], limits[1::2])
        return [histogram_edges(x, c, e) for x, c, e in zip(points.T, counts, ends)]

    return edges


_TAIL = (
    "float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] "
    "bin_edges)"
)
for _head in (" int[] bins", ".int_bins int bins"):
    _dot, _, _bins = _head.partition(" ")
    declare(
        f"aten::histogramdd{_dot}(Tensor self, {_bins}, {_TAIL}",
        lambda self, bins, limits, weight, density: histogramdd(
            self, equal_bins(bins, limits), weight, density
        ),
        "primitive",
    )
declare(
    f"aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, {_TAIL}",
    lambda self, bins, limits, weight, density: histogramdd(
        self, lambda points: [b._array for b in bins], weight, density
    ),
    "primitive",
)
