"""Conversions of elements, parts of complex numbers, single elements, and copies."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("convert")


def samples():
    kinds = (
        A.normal(2, 3),
        A.integers(0, 5, 2, 3),
        A.integers(0, 2, 2, 3, dtype=bool),
        A.normal(),
        A.normal(0, 2),
    )
    d = A.normal(2, 3, dtype="float64")
    for x in kinds:
        yield call("clone", x)
        for code in (0, 4, 5, 6, 7, 9, 11):
            yield call("to", x, TorchDtype(code))
        yield call("type_as", x, d)
    yield call("to", np.array([300.7, -1.5, 1e10], np.float32), TorchDtype(3))
    yield call("to", np.array([300, -1]), TorchDtype(0))
    yield call("view_as_real", A.normal(3).astype(np.complex64))
    yield call("view_as_complex", A.normal(3, 2))
    for x in (
        A.complex(2, 3),
        A.complex(3, dtype="complex128"),
        A.normal(2, 3),
        A.integers(0, 9, 2),
    ):
        for name in ("conj", "real", "imag", "view_as_real", "resolve_conj", "resolve_neg", "cpu"):
            yield call(name, x)
        yield call("contiguous", x.T)
        yield call("item", x)
        yield call("item", x.reshape(-1)[:1])
    yield call("to", np.array([-1113, 1113, 1113, 0, 1, 5]), TorchDtype(29))
    yield call("view_as_complex", A.normal(3))
    yield call("view_as_complex", A.normal(2, 3))
    yield call("view_as_complex", A.integers(0, 3, 3, 2))
    for dtype in (5, 9, 11):
        yield call("to", A.complex(3), TorchDtype(dtype))
    yield call("to", np.array([np.nan, np.inf, -0.0], "float32"), TorchDtype(11))


def parts():
    """Views that only change a sign or a part, their copies, and single elements."""
    for x in (A.complex(2, 3), A.complex(), A.complex(0, 2), A.complex(2, dtype="complex128")):
        for name in ("_conj", "_conj_copy", "_neg_view", "_neg_view_copy", "view_as_real_copy"):
            yield call(name, x)
    for dtype in ("float32", "float64", "int64", "uint8", "bool"):
        x = A.integers(0, 2, 2, 2).astype(dtype)
        for name in ("_neg_view", "_neg_view_copy", "view_as_complex_copy", "view_as_real_copy"):
            yield call(name, x)
        yield call("_local_scalar_dense", x[0, 0])
        yield call("_local_scalar_dense", x[:1, :1])
        yield call("_to_copy", x)
        for code in (0, 5, 7, 9, 11):
            yield call("_to_copy", x, dtype=TorchDtype(code))
    yield call("_local_scalar_dense", A.complex(1))
    yield call("view_as_complex_copy", A.normal())


def casts():
    """What autocast makes of numbers that it casts, and of those that it leaves alone."""
    for dtype in ("float16", "float32", "float64", "int64", "bool"):
        x = A.integers(0, 2, 3).astype(dtype)
        for on in (False, True):
            yield call("_autocast_to_full_precision", x, False, on)
            yield call("_autocast_to_reduced_precision", x, False, on, *[TorchDtype(5)] * 2)


SAMPLES = [*samples(), *parts(), *casts()]
test_recorded, test_pytorch = both_tests("convert", SAMPLES)
