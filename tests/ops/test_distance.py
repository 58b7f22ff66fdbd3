"""Distances of rows, of all pairs of rows, and angles; and sizes that do not go together."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("distance")


def samples():
    for p in (0.0, 1.0, 2.0, 3.0, float("inf"), -1.0):
        yield call("cdist", A.normal(2, 3, 4), A.normal(2, 5, 4), p)
        yield call("cdist", A.normal(3, 4), A.normal(2, 1, 5, 4), p)
        yield call("pdist", A.normal(4, 3), p)
        yield call("pairwise_distance", A.normal(4, 3), A.normal(4, 3), p)
    for p in (1.0, 2.0, 3.0):
        yield call("pdist", A.normal(9, 21), p)
    for dim in (0, 1, -1, 2):
        yield call("cosine_similarity", A.normal(3, 4), A.normal(3, 4), dim)
    yield call("cosine_similarity", A.normal(3, 4), np.zeros(4, np.float32), 1)
    yield call("cosine_similarity", np.float32(2), np.float32(-3), 0)
    yield call("cosine_similarity", A.normal(3, 4), A.normal(4), 1)
    yield call("pairwise_distance", A.normal(4, 3), A.normal(3), 2.0, 1e-6, True)
    for mode in (None, 0, 1, 2):
        yield call("cdist", A.normal(30, 4), A.normal(28, 4), 2.0, mode, tolerance=1e-4)
    yield call("cdist", A.normal(0, 4), A.normal(3, 4))
    yield call("cdist", A.normal(3, 0), A.normal(2, 0))
    yield call("pdist", A.normal(1, 3))
    yield call("pdist", A.normal(0, 3))
    yield call("cdist", A.normal(2, 3), A.normal(2, 4))  # all of these are refused
    yield call("cdist", A.integers(0, 3, 2, 3), A.integers(0, 3, 2, 3))
    yield call("cdist", A.normal(3), A.normal(3))
    yield call("pdist", A.normal(2, 3, 4))


def steps():
    """What distances of all pairs are made of: by formula, and by a product of matrices."""
    for dtype in ("float32", "float64"):
        a, b = A.normal(2, 3, 4, dtype=dtype), A.normal(1, 5, 4, dtype=dtype)
        for p, mode in ((2.0, None), (2.0, 1), (2.0, 2), (1.0, 0), (0.0, None), (np.inf, 2)):
            yield call("_cdist_forward", a, b, p, mode, tolerance=1e-4)
        yield call("_euclidean_dist", a, b, tolerance=1e-4)
        yield call("_euclidean_dist", a[0], b[0], tolerance=1e-4)
    for few, many in (((0, 4), (3, 4)), ((1, 4), (1, 4)), ((2, 0), (3, 0))):
        yield call("_cdist_forward", A.normal(*few), A.normal(*many), 2.0, None)
        yield call("_euclidean_dist", A.normal(*few), A.normal(*many), tolerance=1e-4)
    yield call("_cdist_forward", A.normal(2, 3), A.normal(2, 4), 2.0, None)  # these are refused
    yield call("_cdist_forward", A.normal(2, 3), A.normal(2, 3), -1.0, None)
    yield call("_cdist_forward", A.normal(2, 3), A.normal(2, 3), 2.0, 3)
    yield call("_euclidean_dist", A.normal(2, 3), A.normal(2, 4))


def large():
    """Half numbers whose squares are no half numbers."""
    for scale in (300, 1000):
        x = (A.normal(2, 3) * scale).astype("float16")
        yield call("cosine_similarity", x, x[::-1], 0, tolerance=2e-3)
        yield call("cosine_similarity", x.astype("int16"), x, 1, tolerance=2e-3)
        yield call("pairwise_distance", x, np.zeros_like(x), tolerance=2e-3)


def mixtures():
    """Rows of several types, and without dimensions."""
    whole, half = A.integers(0, 9, 3), A.normal(4, dtype="float16")
    yield call("cosine_similarity", whole, A.normal(2, 3), 1)
    yield call("cosine_similarity", whole, whole, 0)
    yield call("cosine_similarity", np.float32(1.5), half, 0, tolerance=1e-3)
    yield call("pairwise_distance", np.float32(1.5), np.float32(3))


SAMPLES = [*samples(), *steps(), *large(), *mixtures()]
test_recorded, test_pytorch = both_tests("distance", SAMPLES)
