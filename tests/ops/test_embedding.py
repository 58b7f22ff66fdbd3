"""Rows of a table, alone and in bags; one-hot rows; and places that are not there."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("embedding")


def samples():
    weight = A.normal(6, 4)
    for at in (
        A.integers(0, 6, 5),
        A.integers(0, 6, 2, 3, dtype=np.int32),
        np.array(2),
        A.integers(0, 1, 0),
    ):
        yield call("embedding", weight, at)
        yield call("embedding", weight, at, 1, True, False)
    yield call("embedding", weight.astype("float16"), A.integers(0, 6, 5))
    yield call("embedding", weight, np.array([6]))
    yield call("embedding", weight, A.normal(2))
    yield call("embedding", A.normal(6), np.array([1]))
    for classes in (-1, 6, 3):
        for at in (A.integers(0, 6, 4), A.integers(0, 6, 2, 3), np.array(2), A.integers(0, 1, 0)):
            yield call("one_hot", at, classes)
    yield call("one_hot", np.array([-1, 2]))
    yield call("one_hot", A.normal(2))
    for norm in (1.0, 2.0, float("inf")):
        yield call("embedding_renorm_", A.normal(6, 4) * 3, A.integers(0, 6, 3), 1.0, norm)


def shortened():
    """Rows that are too long are shortened, in place and in a copy; and rows that are not there."""
    for at in (np.array([0, 3, 3, 5]), np.array(4), np.array([], "int64")):
        for norm in (1.0, 2.0):
            yield call("embedding_renorm_", A.normal(6, 4) * 3, at, 1.0, norm)
            yield call("embedding_renorm", A.normal(6, 4, dtype="float64"), at, 0.5, norm)
    yield call("embedding_renorm_", A.normal(6, 4), np.array([1, 0], "int32"), 9.0, 2.0)
    yield call("embedding_renorm_", A.normal(6, 4), np.array([6]), 1.0, 2.0)  # these are refused
    yield call("embedding_renorm_", A.normal(6, 4), np.array([-7]), 1.0, 2.0)
    yield call("embedding_renorm_", A.normal(6), np.array([0]), 1.0, 2.0)


def bags():
    weight, at = A.normal(6, 70), A.integers(0, 6, 12)
    for mode in range(3):
        yield call("embedding_bag", weight, at, np.array([0, 5, 5]), False, mode)
    yield call("embedding_bag", weight, at, np.array([0, 5, 5]), False, 0, False, A.normal(12))
    flat, ends = A.integers(0, 6, 7), np.array([0, 3, 3, 7])
    for mode in range(3):
        for padding in (-1, int(flat[1])):
            yield call(
                "_embedding_bag", weight, flat, ends, False, mode, False, None, True, padding
            )
        yield call(
            "embedding_bag", weight, flat, ends[:3], False, mode, False, None, False, int(flat[1])
        )
    yield call("embedding_bag", weight, flat, np.array([1, 3]))
    yield call("embedding_bag", weight, flat, ends[:2], False, 1, False, A.normal(7))
    yield call("embedding_bag", weight, flat, np.array([0, 9]))


def types_of_indices():
    """Indices and offsets get a common type, which is that of the results besides the first."""
    weight = A.normal(6, 4)
    for indices, offsets in (
        ("int32", "int32"),
        ("int32", "int64"),
        ("int64", "int32"),
        ("int64", "uint8"),
        ("uint8", "int32"),
        ("bool", "int64"),
        ("uint8", "int8"),  # from here on they are refused
        ("int16", "int16"),
        ("bool", "bool"),
        ("float32", "int64"),
        ("int64", "float64"),
        ("int32", "float16"),
        ("complex64", "int64"),
    ):
        at, starts = np.array([0, 1, 1], indices), np.array([0, 1], offsets)
        for mode in range(3):
            yield call("_embedding_bag", weight, at, starts, False, mode)
        yield call("embedding_bag", weight, at, starts, False, 1)
        yield call("embedding_bag", weight, at, starts, False, 1, False, None, False, 1)
    for dtype in ("int16", "bool", "float64", "complex128"):
        yield call("embedding", weight, np.array([0, 1], dtype))
        yield call("embedding_renorm_", weight, np.array([0, 1], dtype), 1.0, 2.0)


def from_the_end():
    """embedding_renorm_ takes indices that count from the end; embedding does not."""
    for at in ([-1], [-6, 0], [5, -1, -1], [[2, -3], [-2, 1]]):
        for dtype in ("int64", "int32"):
            yield call("embedding_renorm_", A.normal(6, 4) * 3, np.array(at, dtype), 1.0, 2.0)
    yield call("embedding_renorm_", A.normal(6, 4), np.array([1, -7]), 1.0, 2.0)
    yield call("embedding", A.normal(6, 4), np.array([-1]))


SAMPLES = [*samples(), *shortened(), *bags(), *types_of_indices(), *from_the_end()]
test_recorded, test_pytorch = both_tests("embedding", SAMPLES)
