"""Sorting, searching, the greatest of a row, sets and counts; and errors."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("sorting")


def orders():
    """Sorting, the greatest of a row, and what is equal, of complex numbers and bools, too."""
    for x in (A.complex(3), np.array([True, False, True]), A.normal(3)):
        for name in ("sort", "msort", "argsort", "_unique2", "unique_consecutive", "mode"):
            yield call(name, x)
        yield call("topk", x, 1)
        yield call("kthvalue", x, 1)
        yield call("searchsorted", np.sort(x), x)
    for x, dim in (
        (np.array([1, 1, 2, 3, 3]), 0),
        (np.array([1, 1, 2]), -1),
        (np.array([[1, 2], [1, 2], [3, 2]]), 0),
        (np.array([[1, 1], [1, 1]]), 1),
    ):
        yield call("unique_consecutive", x, dim=dim)
        yield call("unique_dim_consecutive", x, dim)
        yield call("unique_consecutive", x, True, dim=dim)
    yield call("topk", np.float32(2), 0)


def places():
    """Searching in sorted rows, and in rows in no order."""
    for row in ([1, 2, np.nan], [1, np.nan, np.nan], [1, 2, 3, np.nan]):
        for right in (False, True):
            yield call("searchsorted", np.array(row), np.array([np.nan, 0, 1.5, 2, 3]), right=right)
    mixed = A.integers(0, 9, 3, 11)  # rows in no order
    for right in (False, True):
        for rows in (mixed, mixed[0], mixed.astype("float32")):
            yield call("searchsorted", rows, mixed.astype(rows.dtype), right=right)
        yield call("bucketize", mixed, mixed[1], right=right)
        yield call("searchsorted", mixed[0], mixed, sorter=A.integers(0, 11, 11), right=right)


def counts():
    """How often each value is there, by value and by range."""
    for dtype in ("int64", "uint8", "float32", "float64"):
        x = A.integers(0, 9, 20).astype(dtype)
        yield call("bincount", x)
        yield call("bincount", x, A.normal(20), 12)
        yield call("histc", x, 5)
        yield call("histc", x, 5, 2, 7)
    yield call("bincount", A.integers(0, 9, 2, 3))
    yield call("bincount", A.integers(0, 9, 3), A.normal(2))
    yield call("histc", A.normal(5), 0)
    yield call("histc", A.normal(5), 3, 2, 1)


def rows():
    """Every dimension, both directions, equal elements and NaN; dimensions out of range."""
    for x in A.every_kind():
        for dim in (0, -1, 3):
            for descending in (False, True):
                yield call("sort", x, stable=True, dim=dim, descending=descending)
                if not np.isnan(x).any():
                    yield call("argsort", x, stable=True, dim=dim, descending=descending)
            yield call("topk", x, 1, dim)
            yield call("topk", x, 2, dim, False)
            if x.dtype.kind == "f":  # equal elements: PyTorch chooses any
                yield call("kthvalue", x, 1, dim)
                yield call("kthvalue", x, 9, dim)
        yield call("msort", x)
        if not np.isnan(x).any():
            yield call("unique_dim", x, 0, True, True, True)
            yield call("_unique2", x, True, True, True)
        yield call("unique_consecutive", x, True, True)


def nothing():
    """Sets and searches without elements; histograms of infinity and of complex numbers."""
    for shape in ((0,), (0, 3), (3, 0)):
        yield call("unique_dim", np.zeros(shape, "float32"), 0)
        yield call("unique_consecutive", np.zeros(shape, "float32"), dim=0)
    yield call("unique_dim", np.zeros((0, 0), "float32"), 0)
    none = np.zeros((2, 0), "float32")
    yield call("searchsorted", none, none)
    yield call("histc", np.array([np.inf, 0], "float32"), 3)
    yield call("histc", A.complex(3), 3)


SAMPLES = [*orders(), *places(), *counts(), *rows(), *nothing()]
test_recorded, test_pytorch = both_tests("sorting", SAMPLES)
