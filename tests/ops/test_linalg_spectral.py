"""Householder factors of matrices, and histograms of points."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("factors")  # the seed of what is recorded


def samples():
    for shape in ((4, 3), (3, 3), (2, 5, 3), (0, 3)):
        for dtype in ("float32", "float64", "complex64"):
            yield call("geqrf", A.normal(*shape, dtype=dtype), tolerance=1e-4)
    tau = A.uniform(2) + 0.5
    for left in (True, False):
        for transpose in (True, False):
            other = A.normal(4, 3) if left else A.normal(3, 4)
            yield call("ormqr", A.normal(4, 2), tau, other, left, transpose, tolerance=1e-4)
    points = A.uniform(20, 2, dtype="float64") * 4
    for density in (False, True):
        yield call("histogramdd", points, [3, 2], density=density)
        yield call("histogramdd", points, [3, 2], range=[0.0, 3.0, 1.0, 4.0], density=density)
        yield call(
            "histogramdd", points, [3, 2], weight=A.uniform(20, dtype="float64"), density=density
        )
    yield call("histogramdd", points, 4)
    yield call("histogramdd", points, [np.array([0.0, 1, 3]), np.array([0.0, 2, 2.5, 4])])
    square = A.normal(2, 4, 4, dtype="float64")  # of which the lower triangle is read
    yield call("linalg_pinv", square, hermitian=True)
    yield call("linalg_pinv", (square + 1j * square).astype("complex128"), hermitian=True)
    yield call("linalg_pinv", square, 0.5, hermitian=True)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("linalg_spectral", SAMPLES)
