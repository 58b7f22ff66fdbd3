"""What concerns operators of all families: numbers that a type does not hold, and results that are
written into tensors of other types.
"""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("corners")


def numbers():
    """Numbers that an element type does not hold are refused; negative ones of uint8 wrap."""
    where = np.array([True, False])
    for dtype in ("float16", "float32", "int8", "uint8", "int64", "bool"):
        x = np.zeros(2, dtype)
        for value in (1e6, 1e60, float("inf"), -1, -1.5, 300, 127.9, -300):
            yield call("fill", x, value)
            yield call("full_like", x, value)
            yield call("masked_fill", x, where, value)
            yield call("index_fill", x, 0, np.array([0]), value)
            yield call("scatter", x, 0, np.array([0]), value)
            yield call("constant_pad_nd", x, [1, 0], value)
            if dtype != "bool":
                yield call("clamp", x, value)
                yield call("clamp", x, -1, value)
        yield call("where", where, x, 300)
    yield call("full", [2], 1e30, dtype=TorchDtype(4))
    yield call("ldexp", A.normal(3, dtype="float16"), np.array([1, 17, -3]))
    yield call("ldexp", A.normal(3, dtype="float64"), np.array([1, 2, 3], "uint8"))
    yield call("quantile", A.normal(4, 3, dtype="float64"), 0.3, 0)


def outputs():
    """Sums and products compute in the type of their output."""
    x, whole = A.normal(2, 3) * 2, A.integers(90, 250, 2, 3)
    for source in (x, whole):
        for dtype in ("uint8", "int64", "float64", "float16"):
            for name in ("sum", "prod"):
                yield call(name, source, 1, out=np.zeros(2, dtype), tolerance=1e-3)
            for name in ("cumsum", "cumprod"):
                yield call(name, source, 1, out=np.zeros((2, 3), dtype), tolerance=1e-3)


def output_types():
    """Results that are converted to the type of their output, and those that are not."""
    x, at = np.array([[1.0, 2], [4, 3]], "float32"), np.array([[0, 1]])
    for dtype in ("float64", "float32"):
        flat, whole = np.zeros(2, dtype), np.zeros((2, 2), dtype)
        for name, *args in (
            ("amax", x, [1]),
            ("norm", x, 2, [1]),
            ("linalg_vector_norm", x, 2, 1),
            ("std", x, [1]),
            ("mean", x, [1]),
            ("logsumexp", x, [1]),
            ("mv", x, x[0]),
            ("sum", x, [1]),
        ):
            yield call(name, *args, out=flat)
        for name, *args in (
            ("softmax", x, 1),
            ("mm", x, x),
            ("tril", x),
            ("gather", x, 0, at),
            ("clamp", x, 0, 1),
            ("neg", x),
            ("sin", x),
            ("mul", x, x),
            ("index_select", x, 0, at[0]),
            ("cat", [x[:1], x[1:]]),
            ("where", x > 1, x, x),
            ("linalg_inv", x),
            ("take", x, at),
        ):
            yield call(name, *args, out=whole)
    yield call("argmax", x, 1, out=np.zeros(2, "int32"))
    yield call("signbit", x, out=np.zeros((2, 2), "uint8"))
    yield call("sum", x, out=np.zeros((), "float64"))
    yield call("max", x, 1, max=np.zeros(2), max_values=np.zeros(2, "int64"))


SAMPLES = [*numbers(), *outputs(), *output_types()]
test_recorded, test_pytorch = both_tests("corners", SAMPLES)
