"""Joining, repeating, turning and spreading."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("join")


def samples():
    f, d, i, b = (
        A.normal(2, 3),
        A.normal(2, 3, dtype="float64"),
        A.integers(0, 5, 2, 3),
        A.integers(0, 2, 2, 3, dtype=bool),
    )
    for dim in (0, 1, -1, 2):
        yield call("cat", [f, f], dim)
        yield call("cat", [f, d, i], dim)
        yield call("cat", [i, b], dim)
        yield call("cat", [f, A.normal(0)], dim)
        yield call("cat", [f, A.normal(2, 4)], dim)
        yield call("stack", [f, d], dim)
        yield call("stack", [f, A.normal(3, 2)], dim)
    yield call("cat", [])
    for name in ("hstack", "vstack", "dstack", "column_stack", "block_diag", "atleast_3d"):
        yield call(name, [f, f])
        yield call(name, [A.normal(3), A.normal(3)])
        yield call(name, [A.normal(), A.normal()])
    for x in (f, i, b, A.normal(), A.normal(0, 2)):
        yield call("flip", x, [0])
        yield call("flip", x, [0, 0])
        yield call("roll", x, [1], [0])
        yield call("roll", x, [2])
        yield call("rot90", x, 1, [0, 1])
        yield call("repeat", x, [2, 1, 2])
        yield call("repeat", x, [])
        yield call("tile", x, [2])
        yield call("repeat_interleave", x, 2)
        if x.ndim:
            yield call("repeat_interleave", x, 2, 0)
        yield call("diag", x)
        yield call("diagflat", x)
        yield call("diag_embed", x)
        yield call("combinations", x)
    yield call("cartesian_prod", [A.normal(2), A.normal(3)])
    yield call("broadcast_tensors", [A.normal(2, 1), A.normal(3)])
    yield call("cross", A.normal(2, 3), A.normal(2, 3))
    for a, b in (((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), (1, 3)), ((4, 5), (4, 5))):
        yield call("linalg_cross", A.normal(*a), A.normal(*b))
        yield call("cross", A.normal(*a), A.normal(*b))
    yield call("flip", np.float32(2), [0])
    yield call("flip", np.float32(2), [])
    yield call("repeat", A.normal(0, 2), [-1, 2])
    yield call("vander", np.array([2, 3], "float16"))


def names():
    """Second names, and tensors that get dimensions."""
    rows = [A.normal(2, 3), A.integers(0, 5, 2, 3)]
    for name in ("concat", "concatenate"):
        yield call(name, rows)
        yield call(name, rows, -1)
        yield call(name, rows, 2)
        yield call(name, [])
    for parts in (rows, [A.normal(3), A.normal(3)], [A.normal(), A.normal()], [A.normal(0)] * 2):
        yield call("row_stack", parts)
    yield call("row_stack", [A.normal(2, 3), A.normal(2, 4)])
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        for x in (A.normal(), A.normal(3), A.normal(0), A.integers(0, 5, 2, 3), A.normal(1, 2, 1)):
            yield call(name, x)
        yield call(name, [A.normal(), A.normal(2)])
        yield call(name, [])


SAMPLES = [*samples(), *names()]
test_recorded, test_pytorch = both_tests("join", SAMPLES)
