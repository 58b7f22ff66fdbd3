"""Parts of tensors put side by side; parts from a place that a tensor holds."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("sequences")


def samples():
    for dim in (0, 1, -1):
        for chunks in (1, 2, 3):
            yield call("_chunk_cat", [A.normal(3, 4), A.normal(3, 4)], dim, chunks)
    yield call("_chunk_cat", [A.normal(3, 4), A.normal(2, 4)], 0, 2)
    yield call("_chunk_cat", [A.normal(3, 4)], 0, 0)
    yield call("narrow", A.normal(5, 2), 0, np.array(1), 3)
    yield call("narrow", A.normal(5, 2), 0, np.array(3), 3)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("sequences", SAMPLES)
