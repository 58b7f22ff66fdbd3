"""Derivatives that programs call as operators."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops import harness
from tests.ops.harness import Arrays, TorchDtype, both_tests, call
from tests.ops.test_native import run

A = Arrays("backward")


def samples():
    x, g = A.normal(3, 4), A.normal(3, 4)
    yield call("native_dropout_backward", g, A.integers(0, 2, 3, 4).astype(bool), 1.25)
    for dim in (0, -1):
        yield call("_softmax_backward_data", g, A.uniform(3, 4), dim, TorchDtype(6))
        yield call("_log_softmax_backward_data", g, -A.uniform(3, 4), dim, TorchDtype(6))
    yield call("sigmoid_backward", g, A.uniform(3, 4))
    yield call("tanh_backward", g, A.uniform(3, 4))
    yield call("silu_backward", g, x)
    yield call("silu_backward", g, A.normal(3, 4, dtype="float64"))
    yield call("silu_backward", A.integers(0, 5, 4), A.integers(0, 5, 4))
    for threshold in (0, 0.5):
        yield call("threshold_backward", g, x, threshold)
    indices = np.array([[[[0, 2], [12, 15]], [[5, 6], [8, 11]]]])
    yield call(
        "max_pool2d_with_indices_backward",
        A.normal(1, 2, 2, 2),
        A.normal(1, 2, 4, 4),
        [2, 2],
        [2, 2],
        [0, 0],
        [1, 1],
        False,
        indices,
    )
    yield from activations(g, x)
    yield from losses()
    yield from pads()
    yield from pools()
    yield from convolutions()
    yield from grids()
    yield from more()


def activations(g, x):
    yield call("hardtanh_backward", g, x, -0.5, 1)
    for name in ("hardshrink_backward", "softshrink_backward"):
        yield call(name, g, x, 0.5)
    yield call("leaky_relu_backward", g, x, 0.1, False)
    yield call("_prelu_kernel_backward", g, x, A.normal(1, 4))
    for how in ("none", "tanh"):
        yield call("gelu_backward", A.normal(3, 40), A.normal(3, 40) * 4, approximate=how)
        yield call("gelu_backward", g, A.normal(3, 4, dtype="float64"), approximate=how)
        yield call("gelu_backward", g.astype("float16"), x.astype("float16"), approximate=how)
    yield call("gelu_backward", g[0], np.array([np.inf, -np.inf, np.nan, 1e30], "float32"))
    yield call("gelu_backward", g, x, approximate="erf")
    yield call("gelu_backward", A.integers(0, 5, 4), A.integers(0, 5, 4))


def grids():
    for number, size, out in ((2, (5, 4), (3, 40)), (3, (3, 4, 1), (2, 3, 5))):
        name = f"grid_sampler_{number}d_backward"
        grid = A.normal(2, *out, number) * 1.2
        x, g = A.normal(2, 3, *size), A.normal(2, 3, *out)
        for interpolation in range(3 if number == 2 else 2):
            for padding in range(3):
                for aligned in (False, True):
                    yield call(name, g, x, grid, interpolation, padding, aligned, [True, True])
        wide = [a.astype("float64") for a in (g, x, grid)]
        yield call(name, *wide, 0, 2, False, [True, True])
        yield call(name, g[:, :, :0], x, grid[:, :0], 0, 0, False, [True, True])


def losses():
    x, weight, at = A.normal(3, 5), A.uniform(5), np.array([4, -100, 0])
    total = np.float32(weight[4] + weight[0])
    for given, whole in ((weight, total), (None, np.float32(2))):
        yield call("nll_loss_backward", A.normal(3), x, at, given, 0, -100, np.float32(0))
        for reduction in (1, 2):
            yield call("nll_loss_backward", A.normal(), x, at, given, reduction, -100, whole)
    yield call(
        "nll_loss2d_backward",
        A.normal(2, 2, 3),
        A.normal(2, 4, 2, 3),
        A.integers(0, 4, 2, 2, 3),
        None,
        0,
        -100,
        np.float32(0),
    )


def pads():
    for kind in ("reflection", "replication"):
        yield call(f"{kind}_pad1d_backward", A.normal(2, 3, 8), A.normal(2, 3, 5), [2, 1])
        yield call(f"{kind}_pad2d_backward", A.normal(2, 6, 9), A.normal(2, 4, 5), [3, 1, 0, 2])
        yield call(
            f"{kind}_pad3d_backward",
            A.normal(1, 2, 4, 5, 6),
            A.normal(1, 2, 3, 3, 4),
            [1, 1, 2, 0, 1, 0],
        )


def pools():
    x, cube = A.normal(2, 3, 5, 6), A.normal(1, 2, 4, 5, 6)
    for padded, divisor in ((True, None), (False, None), (True, 3)):
        size = [3, 2], [2, 2], [1, 0], True, padded, divisor
        yield call("avg_pool2d_backward", A.normal(2, 3, 3, 3), x, *size)
    size = [2, 3, 2], [2, 2, 3], [0, 1, 0], False, True, None
    yield call("avg_pool3d_backward", A.normal(1, 2, 2, 3, 2), cube, *size)
    yield call("_adaptive_avg_pool2d_backward", A.normal(2, 3, 2, 4), x)
    yield call("_adaptive_avg_pool3d_backward", A.normal(1, 2, 3, 2, 4), cube)
    at = np.array([[[[0, 4], [14, 29]], [[6, 5], [8, 11]], [[1, 3], [12, 16]]]] * 2)
    yield call("adaptive_max_pool2d_backward", A.normal(2, 3, 2, 2), x, at)
    yield call("fractional_max_pool2d_backward", A.normal(2, 3, 2, 2), x, [2, 2], [2, 2], at)
    deep = np.array([[[[[0, 35], [48, 119]]], [[[7, 7], [50, 90]]]]])
    g = A.normal(1, 2, 1, 2, 2)
    yield call("adaptive_max_pool3d_backward", g, cube, deep)
    yield call("fractional_max_pool3d_backward", g, cube, [2, 2, 2], [1, 2, 2], deep)
    size = [4, 2, 3], [4, 3, 3], [0, 0, 0], [1, 1, 1], False
    yield call("max_pool3d_with_indices_backward", g, cube, *size, deep)


def convolutions():
    every = [True, True, True]
    flat, cube = A.normal(2, 4, 6, 5), A.normal(1, 2, 4, 5, 3)
    for result, weight, settings in (
        ((2, 6, 4, 3), (6, 4, 3, 3), ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)),
        ((2, 6, 6, 5), (6, 2, 3, 3), ([1, 1], [1, 1], [1, 1], False, [0, 0], 2)),
        ((2, 3, 3, 4), (3, 4, 2, 2), ([2, 1], [1, 0], [2, 1], False, [0, 0], 1)),
        ((2, 4, 3, 3), (4, 1, 3, 2), ([2, 2], [1, 1], [1, 1], False, [0, 0], 4)),
        ((2, 5, 6, 5), (5, 4, 1, 1), ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)),
        ((2, 6, 12, 9), (4, 3, 3, 2), ([2, 2], [1, 1], [1, 1], True, [1, 1], 2)),
    ):
        g, w = A.normal(*result), A.normal(*weight)
        yield call("convolution_backward", g, flat, w, [4], *settings, every)
    settings = [1, 2, 1], [1, 0, 1], [1, 1, 1], False, [0, 0, 0], 1
    g, weight = A.normal(1, 3, 5, 2, 4), A.normal(3, 2, 2, 3, 2)
    yield call("convolution_backward", g, cube, weight, None, *settings, every)
    line = A.normal(2, 3, 9, dtype="float64")
    g, weight = A.normal(2, 4, 5, dtype="float64"), A.normal(4, 3, 3, dtype="float64")
    yield call("convolution_backward", g, line, weight, [4], [2], [1], [1], False, [0], 1, every)
    empty = np.zeros((0, 4, 6, 5), np.float32)
    settings = [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    g, weight = np.zeros((0, 6, 4, 3), np.float32), A.normal(6, 4, 3, 3)
    yield call("convolution_backward", g, empty, weight, [6], *settings, every)


def more():
    """Windows that overlap, single images, weights of nothing; and what does not fit."""
    x, at = A.normal(3, 5, 6), np.array([[[8, 8], [8, 27]]] * 3)
    size = [3, 3], [2, 2], [1, 1], [1, 1], False
    g, places = A.normal(3, 3, 3), A.integers(0, 30, 3, 3, 3)
    yield call("max_pool2d_with_indices_backward", g, x, *size, places)
    yield call("adaptive_max_pool2d_backward", A.normal(3, 2, 2), x, at)
    yield call("adaptive_max_pool2d_backward", A.normal(3, 2, 2, dtype="float64"), x, at)
    yield call("adaptive_max_pool2d_backward", A.normal(3, 2, 1), x, at)
    for width, kernel, padded, divisor in (
        (6, 3, False, None),
        (6, 3, True, 0),
        (5, 3, True, None),
        (6, 0, True, None),
    ):
        size = [kernel, 3], [1, 1], [1, 1], False, padded, divisor
        yield call("avg_pool2d_backward", A.normal(3, 5, width), x, *size)
    yield call("_adaptive_avg_pool2d_backward", A.normal(3, 4, 4), x)
    yield call("_adaptive_avg_pool2d_backward", A.normal(3, 0, 4), x)
    yield call("reflection_pad2d_backward", A.normal(3, 6, 7), x, [1, 0, 0, 1])
    yield call("reflection_pad2d_backward", A.normal(3, 6, 8), x, [1, 0, 0, 1])
    yield call("replication_pad2d_backward", A.normal(3, 9, 4), x, [-1, -1, 2, 2])
    yield call("reflection_pad1d_backward", A.normal(3, 5, 12), x, [6, 0])
    yield call("_prelu_kernel_backward", A.normal(3, 4), A.normal(3, 4), A.normal(2, 3, 1))
    scores, none = A.normal(3, 5), np.array([-100, -100, -100])
    for target in (none, np.array([0, 5, 1]), np.array([0, -1, 1]), np.array([0, 1])):
        yield call("nll_loss_backward", A.normal(), scores, target, None, 1, -100, np.float32(0))
    g = A.normal(2)
    yield call("nll_loss_backward", g, scores, np.array([1, 2, 3]), None, 0, -100, np.float32(0))
    g, weight = A.normal(), A.uniform(5)
    yield call("nll_loss_backward", g, scores[0], np.array(2), weight, 0, 2, np.float32(0))


def rows_of_tables():
    """The gradient of embedding: rows that are shared, of padding, or not there."""
    at, g = np.array([0, 2, 0, 5, 2, 2]), A.normal(6, 3)
    for padding in (-1, 2, 0, -4):
        for by_use in (False, True):
            yield call("embedding_dense_backward", g, at, 6, padding, by_use)
    for rows in (3, 0, -1):  # never by use: PyTorch counts uses beyond the end of its memory
        yield call("embedding_dense_backward", g, at, rows, -1, False)
    some = at - 1, at.astype("int32"), at.reshape(2, 3), at.astype("int16"), at > 1, at[:5], at[:0]
    for places in some:
        yield call("embedding_dense_backward", g, places, 6, -1, False)
    for dtype in ("float16", "float64", "complex64", "int64", "int8", "bool"):
        many = np.full((40, 1), 100.3).astype(dtype)
        for by_use in (False, True):
            yield call("embedding_dense_backward", many, np.zeros(40, int), 1, -1, by_use)
    for shape in ((3, 2, 4), (6, 1, 4), (24,), (0, 4), (6, 0)):
        yield call("embedding_dense_backward", A.normal(*shape), at, 6, -1, False)
    yield call("embedding_dense_backward", A.normal(4), np.array(1), 2, -1, True)
    yield call("embedding_dense_backward", A.normal(), np.array(1), 2, -1, True)
    yield call("embedding_dense_backward", np.ones((6, 2), "uint16"), at, 6, -1, False)
    yield call("embedding_dense_backward", A.normal(3, 6).T, at, 6, -1, False)


SAMPLES = [*samples(), *rows_of_tables()]
test_recorded, test_pytorch = both_tests("backward", SAMPLES)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30, -1e12])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("interpolation", [0, 1, 2])
def test_positions_of_a_grid_that_are_far_or_no_numbers(interpolation, padding, bad):
    """Both engines give the same; PyTorch reads elsewhere in memory for a NaN with a border."""
    arrays = Arrays("positions")
    x, g, grid = arrays.normal(1, 2, 4, 4), arrays.normal(1, 2, 2, 4), arrays.normal(1, 2, 4, 2)
    grid[0, 0, 1, 0] = bad
    mask = [True, True]
    sample = call("grid_sampler_2d_backward", g, x, grid, interpolation, padding, False, mask)
    is_native, native = run(sample)
    assert is_native
    for a, b in zip(native, harness.run(sample)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
