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


def sums_that_are_cut():
    """Sums end at 0 and at the greatest number of the first operand's type."""
    for dtype in ("float32", "float64", "int8", "int16", "int32", "int64"):
        x = (A.normal(3, 4) * 100).astype(dtype)
        for other in (x * 2, (A.normal(4) * 100).astype("float32"), A.integers(-200, 200, 3, 4)):
            yield call("_add_relu", x, other)
            yield call("_add_relu", x, other, alpha=-2)
        for other in ((A.normal(4) * 3).astype("float16"), np.array([[True], [False], [True]])):
            yield call("_add_relu", x, other)
        for other in (5, -5, 2.5, True, 1j, 1000):
            yield call("_add_relu", x, other)
        for alpha in (3, 2.5, True, 1j, 2 + 0j, 1e300):
            yield call("_add_relu", x, 7, alpha)
            yield call("_add_relu", x, x, alpha=alpha)
        yield call("_add_relu_", x.copy(), x)
        yield call("_add_relu_", x.copy(), 3)
        yield call("_add_relu_", x.copy(), 2.5)
        yield call("_add_relu_", x.copy(), np.ones((2, 3, 4), dtype))
    for dtype in ("float16", "uint8", "bool", "complex64"):  # these are refused
        yield call("_add_relu", np.ones((2, 3), dtype), np.ones(3, dtype))
        yield call("_add_relu", np.ones((2, 3), dtype), np.ones(2, dtype))
        yield call("_add_relu", np.ones(0, dtype), 1)
        yield call("_add_relu", np.ones(2, "float32"), np.ones(2, dtype))
    edges = np.array([np.inf, -np.inf, 3e38, -3e38, 127.0, 128.0, 3e9], "float32")
    for x in (edges, edges.astype("float64"), np.ones(7, "int8"), np.ones(7, "int64")):
        yield call("_add_relu", x, edges)
        yield call("_add_relu", x, edges.astype("float64"))
    yield call("_add_relu", np.array([100], "int8"), np.array([100], "int8"))
    yield call("_add_relu", np.array([2**63 - 1]), np.array([1]))
    yield call("_add_relu", np.array([2**63 - 1]), -1)
    for x in (np.array(1.0), np.array(1, "int32"), np.array(1, "int8")):
        for other in (A.normal(2), np.ones(2, "int8"), np.ones(2, "uint8")):
            yield call("_add_relu", x, other)


SAMPLES = [*samples(), *nothing(), *sums_that_are_cut()]
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
