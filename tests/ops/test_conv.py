"""Convolutions: every rank with strides, padding, dilation, groups, names of padding; and
errors."""

from __future__ import annotations

from itertools import product

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("conv")
SPATIAL = (5, 6, 4)


def samples():
    for n in (1, 2, 3):
        size = SPATIAL[:n]
        for groups, stride, padding, dilation, kernel in (
            (1, 1, 0, 1, 3),
            (1, 2, 1, 1, 3),
            (2, 1, 1, 2, 3),
            (4, 2, 0, 1, 2),
            (1, 1, 0, 1, 1),
        ):
            x, bias = A.normal(2, 4, *size), A.normal(4)
            rest = ([stride], [padding], [dilation], groups)
            yield call(f"conv{n}d", x, A.normal(4, 4 // groups, *[kernel] * n), bias, *rest)
            yield call(
                f"conv_transpose{n}d",
                x,
                A.normal(4, 4 // groups, *[kernel] * n),
                bias,
                [stride],
                [padding],
                [stride - 1],
                groups,
                [dilation],
            )
        yield call(f"conv{n}d", A.normal(4, *size), A.normal(3, 4, *[2] * n))
        for name, kernel in product(("same", "valid", "reflect"), (2, 3)):
            yield call(
                f"conv{n}d",
                A.normal(2, 3, *size),
                A.normal(3, 3, *[kernel] * n),
                None,
                [1],
                name,
                [2],
            )
    x, w = A.normal(2, 4, 5, 5), A.normal(3, 4, 2, 2)
    yield call("conv2d", x, A.normal(3, 3, 2, 2))  # channels
    yield call("conv2d", x, w, A.normal(2))  # bias
    yield call("conv2d", x, A.normal(3, 4, 6, 2))  # window too large
    yield call("conv2d", A.normal(2, 4, 5), w)  # rank
    yield call("conv2d", x, w, None, [0])  # stride
    yield call("conv2d", x, w, None, [1], [-1])  # padding
    yield call("conv2d", x, w, None, [2], "same")
    yield call("conv2d", x.astype("float64"), w)  # types
    yield call("conv2d", A.normal(0, 4, 5, 5), w)  # empty batch
    yield call("conv2d", A.integers(-5, 5, 1, 2, 4, 4), A.integers(-5, 5, 2, 2, 2, 2))
    yield call("conv2d", x.astype("float16"), w.astype("float16"), tolerance=2e-3)
    yield call("convolution", x, w, None, [1], [0], [1], False, [0], 1)
    yield call(
        "_convolution",
        x,
        w,
        None,
        [1, 1],
        [0, 0],
        [1, 1],
        False,
        [0, 0],
        1,
        False,
        False,
        True,
        True,
    )
    yield call("_convolution_mode", x, w, None, [1, 1], "same", [1, 1], 1)
    yield call("im2col", x, [2, 3], [1, 1], [1, 0], [2, 1])
    yield call("im2col", x, [9, 3], [1, 1], [1, 0], [2, 1])
    yield call("col2im", A.normal(2, 24, 9), [5, 5], [2, 3], [1, 1], [1, 0], [2, 1])
    yield call("col2im", A.normal(2, 24, 8), [5, 5], [2, 3], [1, 1], [1, 0], [2, 1])
    yield call("conv_tbc", A.normal(7, 2, 4), A.normal(3, 4, 5), A.normal(5), 1)
    # Dilated so far that most products are with padding.
    for size, kernel, stride, padding, dilation in (
        ([16, 13], [3, 3], 1, [9, 12], [9, 12]),
        ([40], [5], 2, [30], [15]),
        ([12, 12], [3, 3], 1, [24, 24], [24, 24]),
        ([6, 5, 5], [3, 3, 3], 1, 3 * [4], 3 * [4]),
    ):
        n, x = len(size), A.normal(2, 4, *size)
        yield call(f"conv{n}d", x, A.normal(4, 2, *kernel), None, [stride], padding, dilation, 2)
        yield call(
            f"conv{n}d", x, A.normal(3, 4, *kernel), A.normal(3), [stride], padding, dilation
        )


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("conv", SAMPLES)
