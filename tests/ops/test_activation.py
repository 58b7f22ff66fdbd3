"""Activations over ordinary and special values, element types, and in-place forms."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang
from scriptlang.ops.calling import functions as F
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("activation")
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 20, -20, 1e-6, 3, -3], np.float32)
NAMES = (
    "relu relu6 silu mish hardsigmoid hardswish leaky_relu elu softplus log_sigmoid "
    "hardshrink softshrink hardtanh selu celu rrelu glu gelu"
).split()
IN_PLACE = (
    "relu_ relu6_ silu_ mish_ hardsigmoid_ hardswish_ leaky_relu_ elu_ hardtanh_ selu_ "
    "celu_ rrelu_ gelu_ threshold_"
).split()


def samples():
    finite = np.where(np.isfinite(SPECIAL), SPECIAL, 0)
    for x in (
        A.normal(3, 4) * 3,
        A.normal(2, 4, dtype="float64"),
        A.integers(-5, 5, 3, 4),
        finite,
        A.normal(),
        A.normal(0, 4),
        np.array([True, False]),
    ):
        for name in NAMES:
            yield call(name, x)
    for name in NAMES:
        if name not in ("gelu",):  # at infinity PyTorch's depends on the build
            yield call(name, SPECIAL)
    for name in IN_PLACE:
        yield call(name, A.normal(3, 4) * 3, *([0.5, 2] if name == "threshold_" else []))
    for x in (
        A.normal(3, 4),
        A.normal(2, 3, 4, dtype="float64"),
        A.integers(0, 5, 3),
        A.normal(),
        A.normal(0, 4),
        SPECIAL,
    ):
        for dim in (-1, 0, 1, 2):
            yield call("softmax", x, dim)
            yield call("log_softmax", x, dim)
            yield call("softmax", x, dim, TorchDtype(7))
    yield call("gelu", A.normal(3, 4), approximate="tanh")
    yield call("gelu", A.normal(3, 4), approximate="sigmoid")
    yield call("threshold", A.normal(3, 4), 0.5, 2)
    yield call("hardtanh", A.integers(-9, 9, 8), -2, 1)
    yield call("celu", A.normal(3, 4), 1.5)
    yield call("celu", A.normal(3, 4), 0.0)
    yield call("elu", A.normal(3, 4), 1.5, 2, 0.5)
    yield call("softplus", A.normal(3, 4), 2, 1)
    yield call("softshrink", A.normal(3, 4), -1.0)
    yield call("prelu", A.normal(3, 4), A.normal(1))
    yield call("prelu", A.normal(3, 4, 2), A.normal(4))
    yield call("prelu", A.normal(3, 4), A.normal(3))
    yield call("prelu", A.normal(2, 3), A.normal(1, 3))
    for dtype in ("float16",):
        for name in ("gelu", "silu", "softmax", "hardswish"):
            yield call(
                name,
                A.normal(3, 4, dtype=dtype),
                *([-1] if name == "softmax" else []),
                tolerance=1e-3,
            )


def integers():
    """Integers, which softmax refuses, but where there is nothing to do."""
    for shape in ((0,), (0, 3), (3, 0)):
        yield call("softmax", np.zeros(shape, "int64"), 0)
        yield call("log_softmax", np.zeros(shape, "int32"), -1)
        yield call("softmax", np.zeros(shape, "int64"), 2)


SAMPLES = [*samples(), *integers()]
test_recorded, test_pytorch = both_tests("activation", SAMPLES)


def test_in_place_forms_write_the_tensor_itself():
    x = from_numpy(np.array([-1.0, 2.0], np.float32))
    assert F.relu_(x) is x and x.tolist() == [0.0, 2.0]


def test_in_place_through_a_view():
    x = from_numpy(np.array([[-1.0, 2.0], [-3.0, -4.0]], np.float32))
    F.relu_(x.select(0, 1))
    assert x.tolist() == [[-1.0, 2.0], [0.0, 0.0]]


def test_softmax_of_rows_of_every_width():
    """Kernels treat rows by the number of vectors that they fill, and the last vector apart."""
    for width in (*range(1, 141), 255, 1025):
        x = A.normal(9, width) * 8
        below = (x - x.max(1, keepdims=True)).astype(np.float64)  # rounded, as PyTorch rounds it
        shift = np.log(np.exp(below).sum(1, keepdims=True))
        for name, expected in (("softmax", np.exp(below - shift)), ("log_softmax", below - shift)):
            found = getattr(scriptlang, name)(from_numpy(x), -1).numpy()
            np.testing.assert_allclose(found, expected, 1e-6, 1e-6 * (name != "softmax"))


@pytest.mark.parametrize("width", [1, 16, 21, 128, 140])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_softmax_of_a_row_that_is_not_finite(value, width):
    x = np.zeros((3, width), np.float32)
    x[1] = -np.inf
    x[1, width // 2] = value
    for name, expected in (("softmax", 1 / width), ("log_softmax", -np.log(width))):
        found = getattr(scriptlang, name)(from_numpy(x), -1).numpy()
        assert np.isnan(found[1]).all()
        np.testing.assert_allclose(found[::2], expected, 1e-6)
