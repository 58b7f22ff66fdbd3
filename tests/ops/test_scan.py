"""Running sums and extremes, differences, integrals and gradients."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("scan")


SCANS = "cumsum cumprod cummax cummin logcumsumexp".split()


def samples():
    for x in A.every_kind():
        tolerance = 5e-3 if x.dtype == np.float16 else 1e-5
        for name in SCANS:
            for dim in (0, -1, 3) if x.size else (0, -1):
                yield call(name, x, dim, tolerance=tolerance)
        yield call("diff", x)
        for n in (0, 1, 2, 5):
            yield call("diff", x, n)
        yield call("diff", x, 1, -1, x[..., :1] if x.ndim else x)
        yield call("diff", x, 1, 0, None, x[:2] if x.ndim else x)
        yield call("cumsum", x, 0, dtype=TorchDtype(6), tolerance=tolerance)
        yield call("cumprod", x, 0, dtype=TorchDtype(4), tolerance=tolerance)
        yield call("trapezoid", x, tolerance=tolerance)
        yield call("cumulative_trapezoid", x, dx=2, tolerance=tolerance)
    x = A.normal(4, 5)
    yield call("trapezoid", x)
    yield call("trapz", x, dx=0.5)
    yield call("trapz", x, x + 1)
    yield call("cumulative_trapezoid", x, dx=2)
    yield call("gradient", x)
    for order in (1, 2, 3):
        yield call("gradient", x, spacing=0.5, edge_order=order)
        yield call("gradient", x, dim=1, edge_order=order)
    yield call("gradient", x[:1])
    # Runs in which no extreme changes.
    x = A.normal(2, 100)
    x[1, 70] = np.nan
    for name in ("cummax", "cummin"):
        for dim in (0, 1):
            yield call(name, x, dim)
    y, x = (A.integers(0, 256, 2, 4, dtype="uint8") for _ in range(2))
    yield call("trapezoid", y, x)
    yield call("cumulative_trapezoid", y, x)
    yield call("trapezoid", A.normal(2, 4), dx=2)
    yield call("gradient", A.complex(5))
    yield call("gradient", A.complex(4, 5), spacing=2.0, dim=[0, 1], edge_order=2)


def areas():
    """Integrals of small integers, whose neighbours are added in their type, and of inf."""
    whole, ends = np.array([200, 100, 255], "uint8"), np.array([1, 2, 3, np.inf], "float32")
    for y in (whole, ends, ends[::-1], whole > 150):
        for dx in (1, 2.5):
            yield call("trapezoid", y, dx=dx)
            yield call("cumulative_trapezoid", y, dx=dx)
    x = np.array([3, 1, 9], "float32")
    for a, b in ((whole, x), (x, whole), (whole, whole)):
        yield call("trapezoid", a, b)
        yield call("cumulative_trapezoid", a, b)


def in_place():
    """Running sums of types that they change, of no dimension and of no elements."""
    for x in (
        np.array(True),
        np.zeros(0, bool),
        np.array([True, False]),
        np.array(3, "int32"),
        np.array([3, 4], "uint8"),
    ):
        yield call("cumsum_", x, 0)
        yield call("cumprod_", x, 0)


SAMPLES = [*samples(), *areas(), *in_place()]
test_recorded, test_pytorch = both_tests("scan", SAMPLES)
