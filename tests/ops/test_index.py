"""Indexing, gathering and scattering: every mix, bounds, and in-place accumulation."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang as sl
from scriptlang import nn
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("index")


def samples():
    for dtype in ("float32", "int64", "bool"):
        x = (
            A.integers(0, 2, 4, 5, dtype=bool)
            if dtype == "bool"
            else (A.normal(4, 5) * 5).astype(dtype)
        )
        at = A.integers(0, 4, 3, 5)
        rows = np.array([0, 2, 2])
        mask = A.integers(0, 2, 4, 5, dtype=bool)
        source = x[:3]
        yield call("gather", x, 0, at)
        yield call("gather", x, 1, A.integers(0, 5, 4, 2))
        yield call("gather", x, 0, A.integers(4, 6, 3, 5))
        yield call("gather", x, 0, A.integers(0, 4, 3))
        yield call("index_select", x, 0, rows)
        yield call("index_select", x, 1, rows)
        yield call("index_select", x, 0, np.array([7]))
        yield call("take", x, A.integers(-20, 20, 3, 2))
        yield call("take_along_dim", x, A.integers(0, 4, 1, 5), 0)
        yield call("scatter", x, 0, at, source)
        yield call("scatter", x, 0, at, 1)
        yield call("scatter_add", x, 0, at, source)
        yield call("index_add", x, 0, rows, source)
        yield call("index_copy", x, 0, np.array([0, 3, 1]), source)
        yield call("index_fill", x, 1, np.array([0, 3]), 1)
        yield call("masked_select", x, mask)
        yield call("masked_fill", x, mask, 1)
        yield call("masked_scatter", x, mask, x[::-1].copy())
        yield call("where", mask, x, x[:1])
        yield call("nonzero", x)
        for reduce in ("sum", "prod", "mean", "amax", "amin", "median"):
            for include in (True, False):
                yield call("scatter_reduce", x, 0, at, source, reduce, include_self=include)
        yield call("put", x, np.array([0, 3, -1]), x.reshape(-1)[:3])
        for key in (
            [rows],
            [None, rows],
            [rows, rows],
            [mask],
            [rows[:, None], rows],
            [None, mask[0]],
            [np.array([9])],
            [rows, np.array([0, 1])],
        ):
            yield call("index", x, key)
        for accumulate in (False, True):
            yield call("index_put", x, [rows], source, accumulate)
            yield call("index_put", x, [mask], np.array(1, x.dtype), accumulate)
            yield call("index_put", x, [None, rows], x[:, :3], accumulate)
        yield call("index_put", x, [rows], x[:2])
    yield call("isin", A.integers(0, 5, 6), np.array([1, 3]))
    yield call("tril_indices", 3, 4, 1)
    yield call("triu_indices", 3, 4, -1)
    yield call("nonzero_static", A.integers(0, 2, 3, 3), size=3)
    yield from samples_of_long_rows()
    yield from samples_of_complex_numbers()
    yield from samples_of_masks()


def samples_of_long_rows():
    """Rows and ranges for which kernels have ways of their own."""
    for dtype in ("int64", "int32", "int8", "float64"):
        x = A.integers(-3, 4, 5, 70).astype(dtype)
        at = A.integers(0, 70, 5, 70)
        for greatest in ("max", "min"):
            yield call(f"arg{greatest}", x, 1)
            yield call(greatest, x, 1, True)
        yield call("gather", x, 1, at)
        yield call("gather", x, 1, np.where(np.arange(70) == 69, 70, at))
        yield call("gather", x.T, 0, at.T)
        yield call("scatter_add", x, 1, at, x)
        yield call("scatter_reduce", x, 1, at, x, "amin")
        yield call("_unique2", x, True, True, True)
        yield call("isin", x, np.array([-3, 1, 100], dtype), invert=True)
    ends = np.array([2**63 - 1, -(2**63), 0, 5, 5, -(2**63), 2**63 - 1])
    yield call("_unique2", ends, True, True, True)
    yield call("isin", ends, ends[:2])
    yield call("isin", ends, ends[3:5])
    yield call("bincount", A.integers(0, 9, 70), minlength=12)
    yield call("bincount", ends[:1])
    yield call("bincount", -ends[3:])


def samples_of_complex_numbers():
    """Sums and products of complex numbers at indices."""
    index = np.array([0, 2, 0])
    for dtype in ("complex64", "complex128"):
        x, source = A.complex(4, 3, dtype=dtype), A.complex(3, 3, dtype=dtype)
        yield call("index_add", x, 0, index, source)
        yield call("index_put", x, [index], source, True)
        yield call("scatter_add", x, 0, np.stack([index] * 3), source)
        yield call("scatter", x, 0, np.stack([index] * 3), source, reduce="multiply")
        yield call("put", x, index, source[0], True)
    real = A.normal(4, 3)
    yield call("index_add", real, 0, index, A.normal(2, 3))  # sizes and types that clash
    yield call("index_add", real, 0, index, A.normal(3, 2))
    yield call("index_add", real, 0, index, A.normal(3, 3, dtype="float64"))
    yield call("index_add", np.float32(1), 0, np.array([0, 0]), A.normal(2))
    yield call("index_copy", real, 0, index.astype("int32"), A.normal(3, 3))
    yield call("index_copy", real, 0, np.array(1), A.normal(1, 3))
    yield call("index_copy", real, 0, np.array([3]), A.normal(2, 3))
    yield call("index_copy", np.float32(1), 0, np.array([0]), np.array([2], "float32"))
    yield call("masked_fill", real, real > 0, 1j)
    yield call("masked_fill", real, real > 0, 2 + 0j)
    yield call("index_add", A.normal(3, 0), 1, np.array([7]), A.normal(3, 1))


def samples_of_masks():
    """Masks without dimensions, single values behind masks, values that do not fit, empty ones."""
    x, mask = A.normal(2, 3), np.array([[True, False, True], [False, True, True]])
    row, yes, none = np.array([True, False]), np.array(True), np.empty(0, "float32")
    for self, at, value in (
        (x, [mask], np.array([3])),
        (x, [mask], np.array([[3]])),
        (x, [row], np.array(3)),
        (x, [np.array([0])], np.array(3)),
        (x, [mask], A.normal(1, 4)),
        (x, [np.array([0, 1])], A.normal(1, 2, 3)),
        (x, [mask & False], A.normal(3)),
        (x, [mask & False], none),
        (x[0], [yes], np.float32(3)),
        (x[0], [~yes], np.float32(3)),
        (np.float32(1), [yes], np.float32(3)),
        (x, [yes, np.array([0])], A.normal(3)),
        (x, [mask.astype("uint8")], np.array([3])),
        (A.normal(1, 0, 2), [np.array([2])], np.float32(1)),
    ):
        yield call("index_put", self, at, value)
    yield call("index_put", x, [mask], np.array([3]), True)
    for self, at in (
        (np.float32(1), yes),
        (x, yes),
        (A.normal(1, 0, 2), np.array([2])),
        (A.normal(0, 2), np.array([2])),
    ):
        yield call("index", self, [at])
    yield call("index", x, [np.array([0]), yes])
    yield call("scatter", x, 0, np.empty((0, 1, 2), "int64"), x)
    yield call("repeat", A.normal(0, 2), [-1, 2])
    yield call("repeat", x, [-1, 2])


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("index", SAMPLES)

KEYS = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, 2),
    None,
    Ellipsis,
    (0, 1),
    (slice(None), 2),
    (Ellipsis, 0),
    (None, 1, Ellipsis),
    [0, 2],
    ([0, 1], [1, 2]),
    (slice(None), [0, 2]),
    ([0, 2], slice(1, 2)),
    np.array([True, False, True, False]),
    (0, [1, 2]),
    (slice(1, None), None, [0]),
    True,
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_subscripts_are_those_of_numpy(key):
    array = np.arange(24.0).reshape(4, 3, 2)
    assert from_numpy(array)[key].numpy().tolist() == array[key].tolist()


@pytest.mark.parametrize("key", KEYS[:-1], ids=str)
def test_assignments_write_where_numpy_writes(key):
    array, copy = np.arange(24.0).reshape(4, 3, 2), np.arange(24.0).reshape(4, 3, 2)
    from_numpy(array)[key] = -1
    copy[key] = -1
    assert array.tolist() == copy.tolist()


def test_basic_subscripts_are_views_and_others_copies():
    x = from_numpy(np.zeros((3, 3)))
    x[1][:] = 1
    x[[0]][:] = 5
    assert x.sum().item() == 3


def test_an_index_out_of_range_is_named():
    with pytest.raises(IndexError, match="index 5 out of range for tensor of size"):
        from_numpy(np.zeros(3))[5]
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 1"):
        from_numpy(np.zeros(3))[0, 0]


class Rows(nn.Module):
    """Operators on rows at indices."""

    def forward(self, name: str, x: sl.Tensor, dim: int, index: sl.Tensor, alpha: int):
        size = list(x.size())
        if len(size) > 0:
            size[dim] = index.numel()
        rows = sl.ones(size, dtype=x.dtype)
        if name == "index_add":
            return x.index_add(dim, index, rows, alpha=alpha)
        if name == "index_copy":
            return x.index_copy(dim, index, rows)
        if name == "index_reduce":
            return x.index_reduce(dim, index, rows, "prod")
        if name == "take":
            return sl.take(x, index)
        return x.put_(index, sl.ones(index.numel()))


IN_SELF = "IndexError", "index out of range in self"

OUTSIDE = [
    ("index_add", (5,), 0, -1, 1, *IN_SELF),
    ("index_add", (), 0, 7, 1, *IN_SELF),
    ("index_add", (5, 3), 0, 7, 1, "RuntimeError", "index 7 is out of bounds for dimension 0 with"),
    ("index_add", (5, 3), 1, -1, 1, "RuntimeError", "index -1 is out of bounds for dimension 1"),
    ("index_add", (5, 3), 1, 7, 2, *IN_SELF),
    ("index_add", (2, 5, 3), 1, 7, 1, *IN_SELF),
    ("index_add", (2, 5, 3), 2, 7, 1, "RuntimeError", "index 7 is out of bounds for dimension 2"),
    ("index_copy", (5, 3), 0, -1, 1, "IndexError", "index_copy_(): index -1 is out of bounds for"),
    ("index_reduce", (5, 3), 0, -1, 1, *IN_SELF),
    ("take", (5, 3), 0, 20, 1, "IndexError", "out of range: tried to access index 20 on a tensor"),
    ("take", (0,), 0, 0, 1, "IndexError", "take(): tried to take from an empty tensor"),
    ("put", (5, 3), 0, -16, 1, "IndexError", "out of range: tried to access index -16 on a tensor"),
]
"""Operator, size, dimension, index, alpha; the class and the beginning of PyTorch's error."""


@pytest.mark.parametrize("engine", available())
@pytest.mark.parametrize("case", OUTSIDE, ids=str)
def test_rows_outside_are_pytorchs_errors(case, engine):
    name, size, dim, index, alpha, kind, text = case
    module = sl.script(Rows(), engine=engine)
    with pytest.raises(Exception) as found:
        module(name, sl.zeros(size), dim, sl.tensor([index]), alpha)
    assert isinstance(found.value, getattr(builtins, kind)), found.type
    assert str(found.value).startswith(text)


@pytest.mark.parametrize("engine", available())
def test_elements_are_counted_from_either_end(engine):
    module = sl.script(Rows(), engine=engine)
    assert module("take", sl.arange(4.0), 0, sl.tensor([-1, 0]), 1).tolist() == [3.0, 0.0]
    assert module("put", sl.zeros(3), 0, sl.tensor([-1]), 1).tolist() == [0.0, 0.0, 1.0]
