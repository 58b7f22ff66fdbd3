"""Tensors of numbers, ranges, grids and triangles, of every type; and sizes that are refused."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("create")


def samples():
    kinds = (
        A.normal(2, 3),
        A.integers(0, 5, 2, 3),
        A.integers(0, 2, 2, 3, dtype=bool),
        A.normal(),
        A.normal(0, 2),
    )
    for x in kinds:
        yield call("tril", x)
        yield call("triu", x, 1)
        yield call("full_like", x, 2)
        yield call("zeros_like", x, dtype=TorchDtype(3))
        yield call("ones_like", x)
        yield call("new_full", x, [2], 3)
        yield call("new_zeros", x, [2, 0])
        yield call("new_ones", x, [2], dtype=TorchDtype(4))
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
    yield call("complex", A.normal(3), A.normal(3))
    yield call("complex", A.integers(0, 3, 3), A.normal(3))
    yield call("meshgrid", [A.normal(2), np.arange(3)])
    yield call("triu", A.normal(3))
    for diagonal in (-2, 0, 2, 9):
        yield call("tril", A.normal(2, 3, 4), diagonal)
        yield call("triu", A.integers(0, 9, 4, 3), diagonal)
        yield call("tril_indices", 3, 4, diagonal)
        yield call("triu_indices", 4, 3, diagonal)
    yield call("tril_indices", -1, 2)
    yield call("complex", A.normal(3, dtype="float64"), A.normal(3, dtype="float64"))
    yield call("complex", A.normal(3), A.normal(3, dtype="float64"))
    for dtype in (0, 2, 5, 7):
        yield call("arange", 1, 6, 2, dtype=TorchDtype(dtype))
        yield call("linspace", 0, 6, 4, dtype=TorchDtype(dtype))
        yield call("logspace", 0, 2, 3, 2.0, dtype=TorchDtype(dtype))
        yield call("full", [2], 3, dtype=TorchDtype(dtype))
    yield call("range", 0, 3)
    yield call("range", 3, 0, -1.5)
    yield call("range", 0, 3, -1)
    yield call("eye", 0)
    yield call("eye", -1)
    yield call("eye", 2, 0)


def unwritten():
    """Tensors that are not filled: without elements, since others hold anything."""
    for size in ([0], [2, 0, 3], [-1], [0, -2]):
        yield call("empty", size)
        yield call("empty", size, dtype=TorchDtype(11))
        yield call("new_empty", A.integers(0, 9, 2), size)
        yield call("new_empty", A.normal(2), size, dtype=TorchDtype(7))
    for x in (A.normal(0, 2), A.integers(0, 9, 0), A.complex(2, 0)):
        yield call("empty_like", x)
        yield call("empty_like", x, dtype=TorchDtype(3))
    for size, stride in (([0], [1]), ([0, 2], [1, 1]), ([2, 0], [0, 7]), ([0], [1, 1])):
        yield call("empty_strided", size, stride)
        yield call("new_empty_strided", A.integers(0, 9, 2), size, stride)
    for order in ([0, 1], [1, 0], [0], [1, 1], [0, 2], [-1, 0]):
        yield call("empty_permuted", [2, 0], order)


def in_place():
    """Triangles that are cut out of the tensor itself, and what is made of a tensor."""
    for x in (A.normal(3, 4), A.integers(0, 9, 2, 3, 3), A.uniform(2, 2) > 0.5, A.normal(0, 3)):
        for name in ("tril_", "triu_"):
            yield call(name, x)
            yield call(name, x, -1)
            yield call(name, x, 1)
        yield call("as_tensor", x)
        yield call("as_tensor", x, dtype=TorchDtype(4))
    yield call("tril_", A.normal(3))
    yield call("meshgrid", [A.normal(2), np.arange(3)])  # of two types: refused


SAMPLES = [*samples(), *unwritten(), *in_place()]
test_recorded, test_pytorch = both_tests("create", SAMPLES)
