"""Reductions and scans over dimensions, element types, empty tensors and nan."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("reduce")
WHOLE = "sum mean prod std var amax amin max min any all nansum median argmax argmin".split()
ALONG = (
    "sum mean prod std var amax amin max min any all nansum median nanmedian argmax argmin "
    "mode logsumexp nanmean"
).split()
SCANS = "cumsum cumprod cummax cummin logcumsumexp".split()


def arrays():
    yield A.normal(3, 4, 2)
    yield A.normal(3, 4, dtype="float64")
    yield A.integers(-4, 5, 3, 4)
    yield A.integers(0, 2, 3, 4, dtype=bool)
    yield A.integers(0, 5, 3, 2, dtype=np.uint8)
    yield A.normal(3, 4).astype(np.float16)
    yield A.normal(3, 2).astype(np.complex64)
    yield A.normal()
    yield A.normal(0, 3)
    yield np.array([[1, np.nan, 3], [2, 5, -np.inf]], np.float32)


def samples():
    for x in arrays():
        tolerance = 5e-3 if x.dtype == np.float16 else 1e-5
        for name in WHOLE:
            yield call(name, x, tolerance=tolerance)
        for name in ALONG:
            if name == "mode" and np.issubdtype(x.dtype, np.floating) and np.isnan(x).any():
                continue  # PyTorch's choice among nans is arbitrary
            for dim in (0, -1, 3):
                where = [dim] if name in ("std", "var") else dim
                yield call(name, x, where, tolerance=tolerance)
                yield call(name, x, where, True, tolerance=tolerance)
        for name in SCANS:
            yield call(name, x, 0, tolerance=tolerance)
            yield call(name, x, -1, tolerance=tolerance)
        for name in ("sum", "mean", "amax", "std", "count_nonzero", "any"):
            yield call(name, x, [0, 1], tolerance=tolerance)
        for p in (0, 1, 2, 3, np.inf, -np.inf):
            yield call("linalg_vector_norm", x, p, tolerance=tolerance)
            yield call("linalg_vector_norm", x, p, [0], True, tolerance=tolerance)
        yield call("norm", x, tolerance=tolerance)
        yield call("var_mean", x, tolerance=tolerance)
        yield call("var", x, [0], correction=0, tolerance=tolerance)
        yield call("std_mean", x, [0], correction=2, tolerance=tolerance)
        yield call("aminmax", x)
        yield call("aminmax", x, dim=0)
        yield call("diff", x)
        yield call("sum", x, dtype=TorchDtype(7), tolerance=tolerance)
        yield call("cumsum", x, 0, dtype=TorchDtype(6), tolerance=tolerance)
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
    yield call("trapezoid", x)
    yield call("cumulative_trapezoid", x, dx=2)
    yield call("gradient", x)
    yield call("renorm", x, 2, 0, 1.0)
    yield call("dist", x, A.normal(4, 5))
    yield call("trace", x)
    yield call("histogram", A.normal(20), 4)
    yield call("sum", A.normal(200, 300), 0)
    yield call("mean", A.uniform(100000))
    # Long rows, several blocks of rows, and runs in which no extreme changes.
    x = A.normal(3, 150, 35)
    x[1, 5:140:9, 3] = np.nan
    for dim in ([-1], [0], [1], [0, 1], None):
        yield call("nansum", x, dim)
        yield call("sum", x.astype("float16"), dim, tolerance=2e-2)
    x = A.normal(2, 100)
    x[1, 70] = np.nan
    yield call("nansum", np.tile(x, (1, 700)), [1], tolerance=1e-4)
    for name in ("cummax", "cummin"):
        for dim in (0, 1):
            yield call(name, x, dim)
    yield call("mode", A.integers(0, 9, 3, 14), 1)
    yield call("pow", A.normal(3, 50), 3)
    for p in (1.0, 2.0, 3.0):
        yield call("pdist", A.normal(9, 21), p)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("reduce", SAMPLES)
