"""Derivatives that programs call as operators."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("backward")


def samples():
    x, g = A.normal(3, 4), A.normal(3, 4)
    yield call("native_dropout_backward", g, A.integers(0, 2, 3, 4).astype(bool), 1.25)
    for dim in (0, -1):
        yield call("_softmax_backward_data", g, A.uniform(3, 4), dim, TorchDtype(6))
        yield call("_log_softmax_backward_data", g, -A.uniform(3, 4), dim, TorchDtype(6))
    yield call("sigmoid_backward", g, A.uniform(3, 4))
    yield call("tanh_backward", g, A.uniform(3, 4))
    yield call("silu_backward", g, x)
    yield call("silu_backward", g, A.normal(3, 4, dtype="float64"))
    yield call("silu_backward", A.integers(0, 5, 4), A.integers(0, 5, 4))
    for threshold in (0, 0.5):
        yield call("threshold_backward", g, x, threshold)
    indices = np.array([[[[0, 2], [12, 15]], [[5, 6], [8, 11]]]])
    yield call(
        "max_pool2d_with_indices_backward",
        A.normal(1, 2, 2, 2),
        A.normal(1, 2, 4, 4),
        [2, 2],
        [2, 2],
        [0, 0],
        [1, 1],
        False,
        indices,
    )


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("backward", SAMPLES)
