"""Reductions over segments, grouped products, fractional pooling, and rows kept below a norm."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang import from_numpy, ones
from tests.ops.harness import Arrays, TorchDtype, both_tests, call
from tests.ops.one_operator import chosen, run_natively

A = Arrays("segments")
FLOAT, DOUBLE = TorchDtype(6), TorchDtype(7)


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
    yield from grouped_products()


def grouped_products():
    def product(*values, **given):
        return call("_grouped_mm", *values, **given)

    rows, columns = f32(8, 4), f32(4, 8)
    left, right = f32(3, 8, 4), f32(3, 4, 8)
    ends = np.array([2, 2, 8], np.int32)
    yield product(left, right)
    yield product(rows, right, ends)
    yield product(left, columns, ends)
    yield product(columns, f32(8, 4), ends)
    yield product(f32(8, 4), right, np.array([1, 3, 8], np.int32), None, FLOAT)
    for values in (
        (rows, right),
        (left, right, ends),
        (rows, right, ends[:2]),
        (left[:2], right),
        (rows, right, ends.astype(np.int64)),
        (rows, right, ends[None]),
        (rows, right, ends, rows[0]),
        (rows, right, ends, None, DOUBLE),
        (rows[0], right, ends),
        (rows, right[0, 0], ends),
        (rows, right.transpose(0, 2, 1).copy(), ends),
        (rows.astype(np.float64), right, ends),
        (rows, right.astype(np.int32), ends),
    ):
        yield product(*values)


def f32(*sizes: int) -> np.ndarray:
    return A.normal(*sizes).astype(np.float32)


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


@pytest.mark.parametrize("ends", [[3, 2], [9, 9], [-1, 8]], ids=str)
def test_groups_outside_of_the_rows_are_refused(ends):
    """PyTorch leaves rows unwritten."""
    given = ones(8, 4), ones(2, 4, 4), from_numpy(np.array(ends, np.int32)), None, None
    operator, values = chosen("_grouped_mm", given, {})
    for run in (lambda: operator.kernel(*values), lambda: run_natively(operator, values)):
        with pytest.raises(RuntimeError, match="_grouped_mm: offset"):
            run()


@pytest.mark.parametrize("size", [-1, 2**63 - 1])
def test_rows_that_cannot_be_counted(size):
    rows = from_numpy(np.array([0, 1]))
    operator, args = chosen("aten::_convert_indices_from_coo_to_csr", (rows, size, False), {})
    for run in (lambda: operator.kernel(*args), lambda: run_natively(operator, args)):
        with pytest.raises(RuntimeError, match="rows cannot be made"):
            run()
