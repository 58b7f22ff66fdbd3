"""Normalisations in training and inference, their running statistics, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter import native

from scriptlang.ops.calling import functions as F
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("norm")


def samples():
    for shape in ((4, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 2, 2)):
        for dtype in ("float32", "float64") if len(shape) < 4 else ("float32",):
            x = A.normal(*shape, dtype=dtype)
            w, b, mean = (A.normal(3, dtype=dtype) for _ in range(3))
            var = A.uniform(3, dtype=dtype) + 0.5
            for training in (False, True):
                for affine in ((w, b), (None, None), (w, None)):
                    yield call("batch_norm", x, *affine, mean, var, training, 0.1, 1e-5, False)
                    yield call("native_batch_norm", x, *affine, mean, var, training, 0.1, 1e-5)
                    if len(shape) > 2:
                        yield call(
                            "instance_norm", x, *affine, mean, var, training, 0.1, 1e-5, False
                        )
                yield call("batch_norm", x, w, b, None, None, training, 0.1, 1e-5, False)
            for groups in (1, 3, 2):
                yield call("group_norm", x, groups, w, b)
            last = shape[-1:]
            yield call("layer_norm", x, list(last))
            yield call(
                "layer_norm",
                x,
                list(last),
                A.normal(*last, dtype=dtype),
                A.normal(*last, dtype=dtype),
                1e-3,
            )
            yield call("native_layer_norm", x, list(shape[-2:]), None, None, 1e-5)
            yield call("rms_norm", x, list(last), A.normal(*last, dtype=dtype))
    x = A.normal(4, 4)
    yield call("batch_norm", x, None, None, A.normal(3), A.uniform(3), False, 0.1, 1e-5, False)
    yield call("group_norm", x, 2, A.normal(3))
    x = A.normal(2, 3)
    yield call("layer_norm", x, [7])
    yield call("layer_norm", x, [])
    yield call("layer_norm", x, [3], A.normal(2))
    yield call("layer_norm", A.integers(0, 9, 2, 3), [3])
    yield call(
        "batch_norm", x, A.normal(2), None, A.normal(3), A.uniform(3), False, 0.1, 1e-5, False
    )
    half = A.normal(4, 3, dtype="float16")
    for saved in ("float16", "float32"):
        w, mean = A.normal(3, dtype=saved), A.normal(3, dtype=saved)
        yield call(
            "native_batch_norm",
            half,
            w,
            w,
            mean,
            np.ones(3, saved),
            True,
            0.1,
            1e-5,
            tolerance=3e-3,
        )
    yield call("rms_norm", x, [3], None, 1e-2)
    yield call("layer_norm", A.normal(2, 8, dtype="float16"), [8], tolerance=1e-3)
    yield call(
        "batch_norm",
        A.normal(2, 3, 4, dtype="float16"),
        None,
        None,
        A.normal(3),
        A.uniform(3),
        False,
        0.1,
        1e-5,
        False,
        tolerance=1e-3,
    )


def parameters():
    """Parameters of other types than the input."""
    for dtype, other in (
        ("float64", "float32"),
        ("float32", "float64"),
        ("float16", "float32"),
        ("float16", "float64"),
        ("float16", "float16"),
    ):
        x, ones = A.normal(2, 4, 3).astype(dtype), np.ones(4, other)
        mean, rest = np.zeros(4, dtype), (0.1, 1e-5, False)
        for name, *given in (
            ("layer_norm", [3], ones[:3], ones[:3]),
            ("group_norm", 2, ones, ones),
            ("batch_norm", ones, ones, mean, mean + 1, False, *rest),
            ("batch_norm", None, None, ones - 1, ones, False, *rest),
            ("instance_norm", ones, ones, None, None, True, *rest),
        ):
            yield call(name, x, *given, tolerance=2e-3)


SAMPLES = [*samples(), *parameters()]
test_recorded, test_pytorch = both_tests("norm", SAMPLES)


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_training_updates_the_running_statistics(name):
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    mean, var = (from_numpy(np.full(2, v, np.float32)) for v in (0, 1))
    getattr(F, name)(from_numpy(x), None, None, mean, var, True, 0.5, 1e-5, False)
    np.testing.assert_allclose(mean.numpy(), x.mean((0, 2)) / 2)
    spread = x.var((0, 2), ddof=1) if name == "batch_norm" else x.var(2, ddof=1).mean(0)
    np.testing.assert_allclose(var.numpy(), 0.5 + spread / 2, rtol=1e-6)


def test_running_statistics_of_one_value_and_of_none():
    import scriptlang
    from scriptlang.ops import table
    from tests.ops.one_operator import run_natively

    norm = table.find("aten::batch_norm", "")
    runs = [lambda args: norm.kernel(*args)]
    if not native.why_absent():
        runs.append(lambda args: run_natively(norm, args))
    for run in runs:
        mean, var = scriptlang.zeros(3), scriptlang.ones(3)
        rest = (None, None, mean, var, True, 0.5, 1e-5, False)
        run((scriptlang.ones(0, 3), *rest))
        assert mean.tolist() == [0, 0, 0] and var.tolist() == [1, 1, 1]
        run((scriptlang.ones(1, 3), *rest))
        assert mean.tolist() == [0.5, 0.5, 0.5] and all(v != v for v in var.tolist())
