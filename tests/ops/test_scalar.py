"""Arithmetic on Python numbers: wrapping, floor semantics, C's special values, conversions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scriptlang.ops import table
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("scalar")
FLOATS = (0.0, -1.0, 2.5, -7.25, math.inf, -math.inf, math.nan)
PAIRS = (
    (2.0, 3.0),
    (7.5, -2.0),
    (-7.5, 2.0),
    (0.0, -0.5),
    (5.0, 0.0),
    (-1.0, math.inf),
    (math.nan, 1.0),
    (1.0, math.nan),
    (-8.0, 1 / 3),
)
INTS = ((7, 2), (-7, 2), (7, -2), (-7, -2), (0, 5), (2**62, 3), (-(2**63), -1))
UNARY = (
    "acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh degrees "
    "erf erfc expm1 fabs gamma lgamma log1p radians round ceil floor neg"
).split()
BINARY = (
    "add sub mul div floordiv remainder fmod mathremainder copysign atan2 eq ne lt le gt ge"
).split()


def samples():
    for name in UNARY:
        for x in FLOATS:
            yield call(f"aten::{name}.float", x)
        yield call(f"aten::{name}.int", 3)
        yield call(f"aten::{name}.Scalar", 2.5)
    for name in ("acos", "exp", "log", "sqrt", "tanh", "neg"):
        yield call(f"aten::{name}.complex", 1.5 - 2j)
    for name in BINARY:
        for pair in PAIRS:
            yield call(f"aten::{name}.float", *pair)
        for pair in INTS:
            if name != "remainder" and (name, pair) != ("floordiv", INTS[-1]):
                yield call(f"aten::{name}.int", *pair)
        if name != "div":
            yield call(f"aten::{name}.int_float", 7, 2.5)
            yield call(f"aten::{name}.float_int", 7.5, -2)
        scalar = ".Scalar_Scalar" if name == "atan2" else ""
        yield call(f"aten::{name}{scalar}", 7, 2.5)
        yield call(f"aten::{name}{scalar}", 7.5, 2.5)
    for a, b in PAIRS + ((0.0, -1.0), (2.0, 1e5)):
        yield call("aten::pow.float", a, b)
        yield call("aten::pow.Scalar_Scalar", a, b)
        yield call("aten::log.float_float", abs(a), b)
        yield call("prim::max.float", a, b)
        yield call("prim::min.float", a, b)
        yield call("aten::divmod.float", a, b)
    for a, b in ((2, 3), (2, -1), (0, -1), (2, 100)):
        yield call("aten::pow.int", a, b)
    for a, b in INTS[:-2]:
        yield call("aten::divmod.int", a, b)
        yield call("aten::gcd.int", a, b)
        yield call("aten::__round_to_zero_floordiv.int", a, b)
    for name in ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__"):
        for a, b in ((12, 5), (-5, 1), (1, 63), (1, 64)):
            yield call(f"aten::{name}.int", a, b)
    for name, values in (("floordiv", (1, 0)), ("divmod", (1, 0))):
        yield call(f"aten::{name}.int", *values)
    for x in FLOATS[:4] + (1e30,):
        yield call("aten::Int.float", x)
        yield call("aten::Int.Scalar", x)
        yield call("aten::frexp", x)
        yield call("aten::modf", x)
    for text in ("12", " 12", "12 ", "x", "12.5", "0x10", "", "-7", "+3", "9" * 30):
        yield call("aten::Int.str", text)
        yield call("aten::Float.str", text if text != "0x10" else "nan")
    for x in (
        A.normal(),
        A.normal(1),
        A.normal(2),
        A.integers(0, 9),
        np.array(True),
        np.array(1 + 2j),
        np.array(2 + 0j),
        np.array(1e30),
    ):
        for name in (
            "Int.Tensor",
            "Float.Tensor",
            "Bool.Tensor",
            "IntImplicit",
            "FloatImplicit",
            "ScalarImplicit",
        ):
            yield call(f"aten::{name}", x)
    for n in (0, 5, 20, 25, -1):
        yield call("aten::factorial.int", n)
    for lo, hi, step in ((0, 10, 3), (10, 0, -4), (0, 5, -1), (0, 5, 0)):
        yield call("aten::__range_length", lo, hi, step)
        yield call("aten::__derive_index", 2, lo, step)
    yield call("aten::polar.float", 2.0, 3.0)
    yield call("aten::ldexp", 5.5, 3)
    yield call("aten::Complex.float_int", 1.5, 2)
    yield call("prim::abs.int", -(2**63))
    yield call("prim::abs.complex", 3 + 4j)
    yield call("aten::angle.float", -1.0)
    yield call("aten::angle.complex", 1j)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("scalar", SAMPLES)


def kernel(name: str, overload: str = ""):
    return table.find(name, overload).kernel


def test_remainder_by_zero_is_an_error():  # PyTorch's process dies of it
    with pytest.raises(RuntimeError, match="modulo by zero"):
        kernel("aten::remainder", "int")(1, 0)


def test_remainder_has_the_sign_of_the_divisor():
    assert [kernel("aten::remainder", "int")(a, b) for a, b in INTS[:4]] == [1, 1, -1, -1]


def test_division_of_the_smallest_integer_wraps():
    assert kernel("aten::floordiv", "int")(-(2**63), -1) == -(2**63)


def test_hash_is_the_same_in_every_process():
    assert kernel("aten::hash", "generic")("scriptlang") == -4749691394921729690
    assert kernel("aten::hash", "generic")(7) == 7
