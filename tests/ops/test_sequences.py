"""Tensors of different lengths put together."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("sequences")


def samples():
    rows = [A.normal(3, 2), A.normal(1, 2), A.normal(4, 2)]
    for first in (True, False):
        for side in ("left", "right"):
            yield call("pad_sequence", rows, first, -1.5, side)
    yield call("pad_sequence", [A.normal(2), A.normal(0)])
    yield call("pad_sequence", [])
    for dim in (0, 1, -1):
        for chunks in (1, 2, 3):
            yield call("_chunk_cat", [A.normal(3, 4), A.normal(3, 4)], dim, chunks)
    yield call("_chunk_cat", [A.normal(3, 4), A.normal(2, 4)], 0, 2)
    yield call("_chunk_cat", [A.normal(3, 4)], 0, 0)
    yield call("narrow", A.normal(5, 2), 0, np.array(1), 3)
    yield call("narrow", A.normal(5, 2), 0, np.array(3), 3)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("sequences", SAMPLES)
