"""Reductions over dimensions, of all element types, of nothing, and with NaN."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("reduce")
WHOLE = "sum mean prod std var amax amin max min any all nansum argmax argmin".split()
ALONG = (
    "sum mean prod std var amax amin max min any all nansum argmax argmin logsumexp nanmean"
).split()


def samples():
    for x in A.every_kind():
        tolerance = 5e-3 if x.dtype == np.float16 else 1e-5
        for name in WHOLE:
            yield call(name, x, tolerance=tolerance)
        for name in ALONG:
            for dim in (0, -1, 3):
                where = [dim] if name in ("std", "var") else dim
                yield call(name, x, where, tolerance=tolerance)
                yield call(name, x, where, True, tolerance=tolerance)
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
        yield call("sum", x, dtype=TorchDtype(7), tolerance=tolerance)
    x = A.normal(4, 5)
    yield call("renorm", x, 2, 0, 1.0)
    for scale in (300, 1000):  # halves whose powers are no halves
        half = (A.normal(2, 3) * scale).astype("float16")
        yield call("linalg_vector_norm", half, 3, [1], tolerance=2e-3)
    for one in (np.float32(3), np.array(True), np.array([[1, 2], [3, 4]], "int32")):
        yield call("sum_to_size", one, [])
    yield call("dist", x, A.normal(4, 5))
    yield call("trace", x)
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
    yield call("pow", A.normal(3, 50), 3)
    yield call("sum", A.uniform(2, 3), dtype=TorchDtype(11))


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("reduce", SAMPLES)
