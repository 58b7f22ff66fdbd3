"""Unary functions over element types, shapes and special values."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang.ops.calling import functions as F
from scriptlang.ops.families import pointwise
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("pointwise")
SPECIAL = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-6, 0.5, -2.5, 20], np.float32)
INACCURATE = {
    "erfinv",
    "digamma",
    "lgamma",
    "special_erfinv",
    "special_digamma",
    "special_psi",
    "special_gammaln",
}
"""Functions that PyTorch computes in float32, we in float64."""


def inputs():
    yield A.normal(3, 4)
    yield SPECIAL
    yield A.normal(2, 3, dtype="float64")
    yield A.integers(-5, 6, 3, 4)
    yield A.integers(0, 9, 4, dtype=np.uint8)
    yield np.array([True, False])
    yield A.normal(2, 3).astype(np.float16)
    yield (A.normal(3) + 1j * A.normal(3)).astype(np.complex64)
    yield A.normal()
    yield A.normal(0, 3)


def samples():
    for x in inputs():
        for name in [*pointwise.KERNELS, *pointwise.ALIASES]:
            tolerance = 2e-3 if x.dtype == np.float16 else 1e-4 if name in INACCURATE else 1e-5
            yield call(name, x, tolerance=tolerance)
        yield call("round", x, decimals=1, tolerance=1e-3)
        yield call("nan_to_num", x)
        yield call("nan_to_num", x, 1.0, 2.0, -2.0)
        yield call("logit", x, 0.1, tolerance=2e-3 if x.dtype == np.float16 else 1e-5)
        yield call("frexp", x)
        yield call("angle", x, tolerance=1e-3 if x.dtype == np.float16 else 1e-5)
        yield call("positive", x)
    for name in ("sqrt_", "neg_", "abs_", "floor_", "sigmoid_", "exp_", "logical_not_"):
        yield call(name, A.uniform(3, 2))
        yield call(name, A.integers(1, 5, 3))
        yield call(name, (A.normal(3) + 1j * A.normal(3)).astype(np.complex64))


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("pointwise", SAMPLES)


def test_a_function_keeps_the_layout_of_its_input():
    x = from_numpy(np.ones((2, 3), np.float32)).t()
    assert F.exp(x).stride() == (1, 3)


def test_an_out_form_resizes_and_returns_its_tensor():
    out = from_numpy(np.zeros(1, np.float32))
    assert F.exp(from_numpy(np.zeros((2, 2), np.float32)), out=out) is out
    assert out.tolist() == [[1, 1], [1, 1]]


def test_a_result_that_does_not_fit_the_tensor_is_refused():
    with pytest.raises(
        RuntimeError, match="result type Float can't be cast to the desired output type Long"
    ):
        F.sqrt_(from_numpy(np.arange(3)))


def test_the_elements_of_an_expanded_tensor_cannot_be_written():
    with pytest.raises(RuntimeError, match="single memory location"):
        F.neg_(from_numpy(np.ones((1, 3), np.float32)).expand(2, 3))


def test_the_last_dimension_that_clashes_is_named():
    with pytest.raises(RuntimeError, match=r"tensor a \(3\) .* tensor b \(2\) .* dimension 1"):
        F.add(from_numpy(np.ones((2, 3))), from_numpy(np.ones((3, 2))))
