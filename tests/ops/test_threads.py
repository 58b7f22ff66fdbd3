"""The native engine shares big operators out to threads: no result depends on their number."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang
from tests.ops.test_fused import ENGINES, call, tensor

pytestmark = pytest.mark.skipif("native" not in ENGINES, reason="needs the native engine")


def images(*shape):
    return tensor(*shape).contiguous(memory_format=scriptlang.channels_last)


def conv(x, w, stride=1, padding=0, groups=1):
    return (
        "scriptlang::conv2d",
        x,
        w,
        None,
        [stride] * 2,
        [padding] * 2,
        [1, 1],
        groups,
        None,
        "relu",
        2,
    )


def transposed(x, w, stride, padding):
    return (
        "scriptlang::conv_transpose2d",
        x,
        w,
        None,
        [stride] * 2,
        [padding] * 2,
        [0, 0],
        1,
        [1, 1],
        None,
        "relu6",
        0,
    )


def attention(*shape):
    return (
        "aten::scaled_dot_product_attention",
        tensor(*shape),
        tensor(*shape),
        tensor(*shape),
        None,
        0.0,
        True,
        None,
        False,
    )


CASES = {
    "product by rows": ("aten::mm", tensor(300, 64), tensor(64, 48)),
    "product by panels": ("aten::mm", tensor(20, 256), tensor(256, 1000)),
    "product by both": ("aten::mm", tensor(49, 960), tensor(960, 160)),
    "tall product": ("aten::mm", tensor(197, 192), tensor(192, 768)),
    "one row": ("aten::mm", tensor(1, 700), tensor(700, 1500)),
    "1x1": conv(images(1, 64, 14, 14), tensor(384, 64, 1, 1)),
    "3x3": conv(images(1, 64, 30, 30), tensor(64, 64, 3, 3), padding=1),
    "3x3 by two": conv(images(1, 64, 28, 28), tensor(96, 64, 3, 3), 2, 1),
    "depthwise": conv(images(1, 384, 14, 14), tensor(384, 1, 3, 3), 1, 1, 384),
    "low depthwise": conv(images(1, 960, 4, 7), tensor(960, 1, 5, 5), 1, 2, 960),
    "phases": transposed(images(1, 64, 8, 8), tensor(64, 32, 4, 4), 2, 1),
    "few outputs": transposed(images(2, 64, 32, 32), tensor(64, 3, 4, 4), 2, 1),
    "one pixel": transposed(images(2, 100, 1, 1), tensor(100, 64, 4, 4), 1, 0),
    "average of all": ("aten::adaptive_avg_pool2d", images(2, 48, 56, 57), [1, 1]),
    "averages": ("aten::adaptive_avg_pool2d", images(1, 48, 56, 57), [7, 8]),
    "attention": attention(1, 3, 197, 64),
    "a number for each channel": ("aten::mul.Tensor", images(1, 480, 14, 14), images(1, 480, 1, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_threads(name):
    before = scriptlang.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 7):
            scriptlang.set_num_threads(threads)
            results.append(call("native", *CASES[name]).numpy())
    finally:
        scriptlang.set_num_threads(before)
    np.testing.assert_allclose(results[0], call("python", *CASES[name]).numpy(), 1e-4, 1e-4)
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
