"""Pooling: ranks, windows, ceil_mode, nan, adaptive sizes, unpooling; and errors."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, both_tests, call

A = Arrays("pool")
WINDOWS = (
    (2, None, 0, 1, False),
    (3, 2, 1, 1, True),
    (3, 1, 0, 2, False),
    (2, 3, 1, 1, True),
    (2, 1, 2, 1, False),
)


def samples():
    for n in (1, 2, 3):
        size = (7, 6, 5)[:n]
        x = A.normal(2, 2, *size)
        holed = x.copy()
        holed.reshape(-1)[5] = np.nan
        for data in (x, x[0], holed, x[:0], x[:, :0], A.normal(3)):
            for kernel, stride, padding, dilation, ceil in WINDOWS[: 5 if data is x else 2]:
                rest = [] if stride is None else [stride]
                yield call(
                    f"max_pool{n}d_with_indices", data, [kernel], rest, [padding], [dilation], ceil
                )
                if dilation == 1:
                    for include in (True, False):
                        yield call(
                            f"avg_pool{n}d",
                            data,
                            [kernel] * n,
                            rest * n,
                            [padding] * n,
                            ceil,
                            include,
                        )
            for out in (1, 3, 8):
                yield call(f"adaptive_avg_pool{n}d", data, [out] * n)
                yield call(f"adaptive_max_pool{n}d", data, [out] * n)
        yield call(f"max_pool{n}d", x, [2])
        yield call(f"max_pool{n}d", x, [0])
        yield call(f"max_pool{n}d", x, [2], [0])
    x = A.normal(2, 3, 6, 6)
    yield call("avg_pool2d", x, [2], divisor_override=3)
    yield call("avg_pool2d", x, [2], divisor_override=0)
    yield call("max_pool2d", A.integers(-9, 9, 1, 2, 4, 4), [2])
    yield call("avg_pool2d", A.integers(-9, 9, 1, 2, 4, 4), [2])
    yield call("max_pool2d", x.astype("float16"), [2])
    places = np.array([[[[0, 3], [10, 15]]]])
    yield call("max_unpool2d", A.normal(1, 1, 2, 2), places, [4, 4])
    yield call("max_unpool2d", A.normal(1, 1, 2, 2), places, [3, 3])
    yield call(
        "max_unpool3d", A.normal(1, 1, 1, 2, 2), places[None], [1, 4, 4], [1, 2, 2], [0, 0, 0]
    )
    yield call("adaptive_max_pool2d", A.normal(0, 2, 3), [4, 2])


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("pool", SAMPLES)
