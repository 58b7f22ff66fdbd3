"""Binary operators over pairs of element types and shapes: promotion, rounding, overflow."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang.ops.calling import functions as F
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("arithmetic")
TYPES = ("float32", "int64", "uint8", "bool", "float16", "complex64")
NAMES = (
    "add sub mul div floor_divide remainder fmod pow maximum minimum atan2 hypot rsub eq ne "
    "lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor fmax "
    "fmin copysign xlogy gcd lcm bitwise_left_shift bitwise_right_shift logaddexp"
).split()
SCALARS = (
    "add sub mul div floor_divide remainder fmod pow rsub eq ne lt le gt ge bitwise_and "
    "bitwise_or bitwise_xor xlogy"
).split()
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1.5, 3], np.float32)


def array(dtype, *shape):
    if dtype == "bool":
        return A.integers(0, 2, *shape, dtype=bool)
    if dtype == "complex64":
        return (A.normal(*shape) + 1j * A.normal(*shape)).astype(np.complex64)
    if dtype.startswith("float"):
        return (A.normal(*shape) * 3).astype(dtype)
    return A.integers(1, 7, *shape, dtype=dtype)


def samples():
    for name in NAMES:
        for a in TYPES:
            for b in TYPES:
                tolerance = 5e-3 if "float16" in (a, b) else 1e-5
                yield call(name, array(a, 2, 3), array(b, 3), tolerance=tolerance)
        yield call(name, array("float32", 2, 3), array("float64"))  # the type of a zero-dim tensor
        yield call(name, array("int64", 2), array("float32", 1))
        yield call(name, array("float32", 2, 3), array("float32", 2))
        yield call(name, EDGES[:, None], EDGES[None])
    for name in SCALARS:
        for a in TYPES:
            for b in (2, -3, 1.5, True):
                yield call(name, array(a, 2, 2), b, tolerance=5e-3 if a == "float16" else 1e-5)
    for mode in (None, "trunc", "floor", "up"):
        for a in ("float32", "int64", "uint8", "bool"):
            yield call("div", array(a, 3), array(a, 3), rounding_mode=mode)
        yield call("div", EDGES[:, None], EDGES[None], rounding_mode=mode)
        yield call("div", np.array([7, -7, 8]), 2, rounding_mode=mode)
        yield call("div", np.array([7, -7, 8]), 0, rounding_mode=mode)
    for dtype in ("float16", "float32"):
        x = A.normal(4, 5).astype(dtype)
        yield call("div", x * 20, x[:, ::-1], rounding_mode="trunc")
    for alpha in (2, 0.5, True):
        for name in ("add", "sub", "rsub"):
            yield call(name, array("float32", 3), array("float32", 3), alpha=alpha)
            yield call(name, array("int64", 3), array("int64", 3), alpha=alpha)
    for name in ("add_", "sub_", "mul_", "div_", "pow_", "remainder_", "floor_divide_"):
        for a in ("float32", "int64", "uint8"):
            yield call(name, array(a, 2, 3), array("float32", 3))
            yield call(name, array(a, 2, 3), array("int64", 2, 3))
            yield call(name, array(a, 3), array("float32", 2, 3))
    for name in ("addcmul", "addcdiv"):
        yield call(
            name, array("float32", 3), array("float32", 2, 3), array("float32", 3), value=0.5
        )
        yield call(name, array("int64", 3), array("int64", 3), array("int64", 3))
    yield call("lerp", array("float32", 3), array("float32", 3), 0.3)
    yield call("lerp", array("float32", 3), array("float32", 3), array("float32", 3))
    yield call("lerp", array("float32", 3), array("float64", 3), 0.3)
    yield call("add", np.array([250, 5], np.uint8), np.array([10, 251], np.uint8))
    yield call("mul", np.array([2**40]), np.array([2**40]))
    yield call("pow", np.array([2, 3, -1, 0]), np.array([3, -1, -3, 0]))
    yield call("pow", 2, np.array([1.0, 2.0], np.float32))
    yield call("remainder", np.array([7, -7]), np.array([0, 3]))


def nothing():
    """Remainders of no elements, and of zero by zero."""
    whole = np.zeros((1, 3), "int32")
    for name in ("fmod", "remainder", "floor_divide"):
        yield call(name, whole[:0], whole)
        yield call(name, whole, whole)


SAMPLES = [*samples(), *nothing()]
test_recorded, test_pytorch = both_tests("arithmetic", SAMPLES)


def test_python_operators_are_the_operators():
    x = from_numpy(np.array([1.0, 2.0], np.float32))
    assert (2 - x).tolist() == [1, 0] and (1 / x).tolist() == [1, 0.5]
    assert (2**x).tolist() == [2, 4]
    assert (x // 2).tolist() == [0, 1] and (5 % x).tolist() == [0, 1] and (-x).tolist() == [-1, -2]
    assert (x > 1).tolist() == [False, True] and (~(x > 1)).tolist() == [True, False]


def test_in_place_operators_write_the_memory_of_the_tensor():
    array = np.array([1.0, 2.0], np.float32)
    x = from_numpy(array)
    alias = x
    x += 1
    x *= 2
    assert alias is x and array.tolist() == [4, 6]


def test_sizes_that_do_not_match_are_named():
    with pytest.raises(
        RuntimeError,
        match=r"size of tensor a \(3\) must match the size of tensor "
        "b "
        r"\(2\) at non-singleton dimension 0",
    ):
        F.add(from_numpy(np.ones(3)), from_numpy(np.ones(2)))
