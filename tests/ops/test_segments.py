"""Reductions over segments, grouped products, fractional pooling, and rows kept below a norm."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang import from_numpy, ones
from tests.ops.harness import Arrays, both_tests, call
from tests.ops.one_operator import chosen, run_natively

A = Arrays("segments")


def samples():
    x = A.normal(6, 3)
    for name in ("sum", "mean", "max", "min", "prod", "median"):
        for initial in (None, 2):
            yield call("segment_reduce", x, name, lengths=np.array([2, 0, 4]), initial=initial)
    yield call("segment_reduce", x, "sum", offsets=np.array([0, 1, 6]))
    yield call(
        "segment_reduce", x.T.copy(), "max", lengths=np.array([[2, 4], [1, 5], [3, 3]]), axis=1
    )
    yield call("segment_reduce", x, "sum", lengths=np.array([2, 3]))
    yield call("segment_reduce", x, "mean", lengths=np.array([2, 3]), unsafe=True)
    yield call("segment_reduce", x, "max", lengths=np.array([-1, 7]))
    for offsets in ([1, 2, 4], [6, 6], [3], [2, 6]):
        yield call("segment_reduce", x, "sum", offsets=np.array(offsets), initial=1)
        yield call("segment_reduce", x, "mean", offsets=np.array(offsets))
    yield call("segment_reduce", x, "sum", offsets=np.array([0, 4, 2, 6]))
    yield call("segment_reduce", x, "sum")
    draws = A.uniform(2, 3, 2)
    yield call("fractional_max_pool2d", A.normal(2, 3, 7, 8), [2, 2], [4, 3], draws)
    yield call("fractional_max_pool2d", A.normal(2, 3, 7, 8), [2, 3], [1, 1], draws)
    yield call("fractional_max_pool2d", A.normal(2, 3, 7, 8), [5, 5], [5, 5], draws)
    yield call(
        "fractional_max_pool3d", A.normal(2, 3, 7, 8, 6), [2, 2, 2], [4, 3, 2], A.uniform(2, 3, 3)
    )
    yield call("embedding_renorm_", A.normal(5, 4) * 3, np.array([0, 2, 2]), 1.0, 2.0)
    yield call("embedding_renorm_", A.normal(5, 4) * 3, np.array([[0, 4]]), 1.5, 1.0)
    masked = A.normal(3, 4)
    masked[1] = -np.inf
    yield call("_safe_softmax", masked, -1)
    yield call("_safe_softmax", masked, 0)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("segments", SAMPLES)


@pytest.mark.parametrize(
    "given",
    [
        {"offsets": [0, 9]},
        {"offsets": [-1, 3]},
        {"offsets": [0, 2**62]},
        {"lengths": [2, 9], "unsafe": True},
        {"lengths": [2**62, 2**62], "unsafe": True},
    ],
    ids=str,
)
def test_segments_outside_of_the_data_are_refused(given):
    """PyTorch reads what lies behind the tensor."""
    settings = {k: from_numpy(np.array(v)) if isinstance(v, list) else v for k, v in given.items()}
    operator, values = chosen("segment_reduce", [ones(6, 3), "sum"], settings)
    for run in (lambda: operator.kernel(*values), lambda: run_natively(operator, values)):
        with pytest.raises(RuntimeError, match="segment_reduce"):
            run()


@pytest.mark.parametrize("size", [-1, 2**63 - 1])
def test_rows_that_cannot_be_counted(size):
    rows = from_numpy(np.array([0, 1]))
    operator, args = chosen("aten::_convert_indices_from_coo_to_csr", (rows, size, False), {})
    for run in (lambda: operator.kernel(*args), lambda: run_natively(operator, args)):
        with pytest.raises(RuntimeError, match="rows cannot be made"):
            run()
