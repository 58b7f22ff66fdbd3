"""Joining, repeating, creating and converting."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, TorchDtype, both_tests, call

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
        yield call("tril", x)
        yield call("triu", x, 1)
        yield call("combinations", x)
        yield call("clone", x)
        for code in (0, 4, 5, 6, 7, 9, 11):
            yield call("to", x, TorchDtype(code))
        yield call("type_as", x, d)
        yield call("full_like", x, 2)
        yield call("zeros_like", x, dtype=TorchDtype(3))
        yield call("ones_like", x)
        yield call("new_full", x, [2], 3)
        yield call("new_zeros", x, [2, 0])
        yield call("fill", x, 3)
        yield call("equal", x, x)
        yield call("allclose", x, x)
        yield call("isclose", x, x)
        yield call("clamp", x, 1)
        yield call("clamp", x, None, 1)
        yield call("clamp", x, -0.5, 0.5)
        yield call("clamp", x)
        yield call("clamp_min", x, x)
    yield call("to", np.array([300.7, -1.5, 1e10], np.float32), TorchDtype(3))
    yield call("to", np.array([300, -1]), TorchDtype(0))
    for end in (5, 0, -1, 2.5):
        yield call("arange", end)
    for start, end, step in ((1, 10, 3), (0, 1, 0.3), (5, 0, -2), (0, 5, -1), (0, 5, 0)):
        yield call("arange", start, end, step)
    for steps in (0, 1, 2, 5, -1):
        yield call("linspace", -1, 2.5, steps)
        yield call("linspace", 3, 9, steps, dtype=TorchDtype(4))
        yield call("logspace", 0, 2, steps)
    for size in ([], [0], [2, 3], [-1]):
        yield call("zeros", size)
        yield call("ones", size, dtype=TorchDtype(11))
        yield call("full", size, 2)
        yield call("full", size, 2.5)
        yield call("full", size, True)
    yield call("eye", 3)
    yield call("eye", 2, 4, dtype=TorchDtype(4))
    yield call("scalar_tensor", 3)
    yield call("meshgrid", [A.normal(2), A.normal(3)], indexing="xy")
    yield call("meshgrid", [A.normal(2), A.normal(2, 2)], indexing="ij")
    yield call("cartesian_prod", [A.normal(2), A.normal(3)])
    yield call("broadcast_tensors", [A.normal(2, 1), A.normal(3)])
    yield call("complex", A.normal(3), A.normal(3))
    yield call("complex", A.integers(0, 3, 3), A.normal(3))
    yield call("view_as_real", A.normal(3).astype(np.complex64))
    yield call("view_as_complex", A.normal(3, 2))
    yield call("cross", A.normal(2, 3), A.normal(2, 3))


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("join", SAMPLES)
