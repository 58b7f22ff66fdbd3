"""Comparisons, predicates, bits, limits and sets; and types that they refuse."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("compare")


EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1.5, 3], np.float32)


def samples():
    kinds = (
        A.normal(2, 3),
        A.integers(0, 5, 2, 3),
        A.integers(0, 2, 2, 3, dtype=bool),
        A.normal(),
        A.normal(0, 2),
    )
    for x in (*kinds, A.complex(2, 2)):
        yield call("fill", x, 3)
        yield call("equal", x, x)
        yield call("allclose", x, x)
        yield call("isclose", x, x)
        yield call("clamp", x, 1)
        yield call("clamp", x, None, 1)
        yield call("clamp", x, -0.5, 0.5)
        yield call("clamp", x)
        yield call("clamp_min", x, x)
        for name in ("isnan", "isinf", "isfinite", "isreal", "logical_not", "is_nonzero"):
            yield call(name, x)
    for name in ("isposinf", "isneginf", "signbit"):
        for x in (*kinds, EDGES, A.complex(2)):
            yield call(name, x)
    for name in ("lt", "ge", "ne", "logical_xor", "isclose"):
        yield call(name, EDGES[:, None], EDGES[None])
    yield call("isclose", EDGES[:, None], EDGES[None], equal_nan=True)
    yield call("isclose", A.normal(3), A.normal(3), 0.5, 0.5)
    yield call("isclose", A.normal(3), A.normal(3), -1.0)
    yield call("allclose", A.normal(3), A.normal(3, dtype="float64"))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield call(name, A.integers(0, 9, 3), A.normal(3))
        yield call(name, A.integers(-9, 9, 3), 5)
        yield call(name, 5, A.integers(-9, 9, 3))
    for limits in ((0.5, None), (None, A.normal(3)), (A.normal(3), A.normal(2, 1)), (2.0, -2.0)):
        yield call("clamp", A.normal(2, 3), *limits)
        yield call("clip", A.normal(2, 3), *limits)
    yield call("clamp_max", A.integers(0, 9, 4), 3.5)
    for x in (A.complex(3), np.array([True, False, True]), A.normal(3)):
        yield call("isin", x, x[:2])
    yield call("isin", np.array([1, 2, 3]), 2.5)
    yield call("isin", np.array([1, 2, 3]), 2)
    yield call("isin", 2, np.array([1, 2, 3]), invert=True)
    yield call("equal", A.normal(2), A.normal(3))
    yield call("where", A.uniform(2, 3) > 0.5, A.normal(3), A.integers(0, 9, 2, 1))
    yield call("where", A.uniform(2, 3) > 0.5, 1, 2.5)
    yield call("where", A.normal(2, 3), A.normal(2, 3), A.normal(2, 3))


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("compare", SAMPLES)
