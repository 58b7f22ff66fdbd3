"""Medians, modes, quantiles, histograms, covariances, and spreads of large and close values."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("statistics")


def rows():
    """Medians, modes and quantiles of each kind of element."""
    for x in A.every_kind():
        tolerance = 5e-3 if x.dtype == np.float16 else 1e-5
        for name in ("median", "nanmedian"):
            yield call(name, x, tolerance=tolerance)
        for name in ("median", "nanmedian", "mode"):
            if name == "mode" and np.issubdtype(x.dtype, np.floating) and np.isnan(x).any():
                continue  # PyTorch's choice among nans is arbitrary
            for dim in (0, -1, 3):
                yield call(name, x, dim, tolerance=tolerance)
                yield call(name, x, dim, True, tolerance=tolerance)
    x = A.normal(4, 5)
    for interpolation in ("linear", "lower", "higher", "midpoint", "nearest", "cubic"):
        yield call("quantile", x, 0.3, 1, interpolation=interpolation)
        yield call("quantile", x, A.uniform(3), 0, True, interpolation=interpolation)
        yield call(
            "nanquantile", np.array([1, np.nan, 3], np.float32), 0.5, interpolation=interpolation
        )
    yield call("quantile", x, 1.5)
    yield call("cov", x)
    yield call("corrcoef", x)
    yield call("corrcoef", A.complex(3, 4), tolerance=1e-4)
    yield call("corrcoef", x[0])
    yield call("corrcoef", A.normal(2, 2, 2))
    yield call("histogram", A.normal(20), 4)
    yield call("histogram", A.normal(20), 4, range=[-1.0, 1.0])
    yield call("mode", A.integers(0, 9, 3, 14), 1)


def chosen():
    """What is the mode where several are as frequent, and with NaN."""
    nan = np.nan
    for row in (
        [nan, 1],
        [2, 1, nan, nan, 2],
        [nan, 2, 2, 1, 1, nan],
        [1, 1, nan, 2, 2],
        [nan, nan],
        [3, 2, 1, nan],
        [nan, 3, nan, 2, nan, 1, 1],
    ):
        yield call("mode", np.array([row, row[::-1]], "float32"))


def histograms():
    for dtype in ("float16", "float32", "float64"):
        x = (A.normal(200, dtype="float64") * 5).astype(dtype)
        yield call("histc", x, 37, -10, 0)
        yield call("histc", x, 100, -3, 3)
    for dtype, most in (("float32", 3e38), ("float64", 1.7e308)):  # sums that overflow
        x = np.array([most, -most, 0, most / 2, most / 30, 1], dtype)
        yield call("histc", x, 4, -most, most)
        yield call("histc", x, 100, 0, most)
    points, edges = A.uniform(30, 2) * 4, [np.array([3.0, 0.5, 2, 4], "float32")] * 2
    yield call("histogramdd", points, edges)  # edges in no order
    yield call("histogram", points, edges[0])
    yield call("histogram", points, 5, weight=A.uniform(30, 2), density=True)


def spreads():
    """Values whose squares are too large or too small, and those that lie close together."""
    x = np.array([[1, 2, -3], [3, 3, 3]])
    for dtype, scales in (
        ("float32", (1e37, 1e30, 1e-30)),
        ("float16", (2e4,)),
        ("complex64", (1e30j,)),
        ("float64", (1e200,)),
    ):
        for scale in scales:
            for name in ("var", "std", "var_mean", "std_mean"):
                yield call(name, (x * scale).astype(dtype), False)
                yield call(name, (x * scale).astype(dtype), [1])
                yield call(name, (x * scale).astype(dtype), [0], correction=0.5)
    yield call("var_mean", (x + 1e6).astype("float32"), [1])


def covariances():
    x, whole, part = A.normal(3, 4), np.array([1, 2, 0, 3]), A.uniform(4)
    for dtype in ("float16", "float32", "float64"):
        yield call("cov", x.astype(dtype), aweights=part, tolerance=1e-3)
        yield call("cov", x.astype(dtype), fweights=whole, tolerance=1e-3)
    yield call("cov", x, fweights=whole, aweights=part.astype("float64"))
    yield call("cov", x, fweights=-whole)  # all of these are refused
    yield call("cov", x, aweights=-part)
    yield call("cov", x, fweights=part)
    yield call("cov", x, aweights=whole)
    yield call("cov", np.zeros((2, 0), "float32"))


SAMPLES = [*rows(), *chosen(), *histograms(), *spreads(), *covariances()]
test_recorded, test_pytorch = both_tests("statistics", SAMPLES)
