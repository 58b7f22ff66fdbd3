"""Operators on Python numbers: arithmetic, comparison, `math`, conversions.

Integers wrap at 64 bits, and float functions return nan or inf where C does.  Operators are
declared by tables of operand types, from which `binary` and `unary` make schemas.
"""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Callable
from typing import Any

from ...tensors import Tensor
from ..shared import scalar_math as M
from ..shared.elementwise import DISPLAY
from ..table import declare, primitive

PAIRS = (
    "int complex float int_complex complex_int float_complex complex_float int_float "
    "float_int Scalar"
)
"""Operand types of arithmetic, in PyTorch's order; a single type is that of both operands."""
ORDERED_PAIRS = "int float int_float float_int"
REAL_PAIRS = ORDERED_PAIRS + " Scalar"
WIDTH = ("Scalar", "complex", "float", "int", "bool")


def binary(
    name: str,
    rows: str,
    kernel: Callable,
    result: str | None = None,
    scalar: str = "",
    scalar_result: str | None = None,
    arguments: str = "a b",
    **facts,
) -> None:
    """Declare a binary operator for each row of operand types (`int`, `int_float`, ...).

    result: the return type, by default that of the widest operand.  scalar: the overload name of
    the row Scalar; scalar_result: its return type.
    """
    first, second = arguments.split()
    for row in rows.split():
        left, _, right = row.partition("_")
        right = right or left
        overload = row if row != "Scalar" else scalar
        returns = (
            scalar_result
            if row == "Scalar" and scalar_result
            else result or next((t for t in WIDTH if t in (left, right)), left)
        )
        declare(
            f"{name}{'.' if overload else ''}{overload}({left} {first}, {right} {second}) -> "
            f"{returns}",
            kernel,
            "primitive",
            **facts,
        )


def unary(name: str, rows: str, kernel: Callable, **facts) -> None:
    """Declare a unary operator for rows `int->float`; the operand type is the overload name."""
    for row in rows.split():
        operand, result = row.split("->")
        declare(f"{name}.{operand}({operand} a) -> {result}", kernel, "primitive", **facts)


def wrapping(f: Callable) -> Callable:
    """Wrap f to reduce an int result to 64 bits."""

    def kernel(a, b):
        result = f(a, b)
        return result if type(result) is not int or -M.TWO63 <= result < M.TWO63 else M.wrap(result)

    return kernel


def real(f: Callable) -> Callable:
    """Wrap f to convert both operands to float."""
    return lambda a, b: f(float(a), float(b))


def by_kind(integral: Callable, floating: Callable) -> Callable:
    """Call one function for two ints, another if an operand is a float."""
    return lambda a, b: (
        integral(a, b)
        if isinstance(a, int) and isinstance(b, int)
        else floating(float(a), float(b))
    )


def comparison(f: Callable) -> Callable:
    """Wrap a comparison: int and float are compared as floats, as in C."""

    def kernel(a, b):
        if type(a) is float and type(b) is int or type(a) is int and type(b) is float:
            return f(float(a), float(b))
        if f not in (operator.eq, operator.ne) and complex in (type(a), type(b)):
            raise RuntimeError("complex numbers have no order: compare their parts or abs()")
        return f(a, b)

    return kernel


def smaller(a, b):
    """min as in C++: b unless a < b, so that a nan on the left loses."""
    a, b = same_kind(a, b)
    return a if a < b else b


def larger(a, b):
    a, b = same_kind(a, b)
    return a if a > b else b


def same_kind(a, b):
    if bool in (type(a), type(b)):
        raise TypeError("expected a value of type float but got bool")
    return (float(a), float(b)) if type(a) is not type(b) else (a, b)


binary("aten::add", PAIRS, wrapping(operator.add), total=True)
binary("aten::sub", PAIRS, wrapping(operator.sub), total=True)
binary("aten::mul", PAIRS, wrapping(M.multiply), total=True)
binary("aten::div", "int", M.divide, "float")
binary("aten::div", "complex float Scalar", M.divide, scalar_result="float")
binary("aten::floordiv", REAL_PAIRS, by_kind(M.floor_divide_int, M.floor_divide_float))
binary("aten::remainder", REAL_PAIRS, by_kind(M.remainder_int, M.remainder_float))
binary("aten::fmod", REAL_PAIRS, real(M.fmod), "float")
binary("aten::mathremainder", REAL_PAIRS, real(M.ieee_remainder), "float")
binary("aten::copysign", REAL_PAIRS, real(math.copysign), "float")
binary("aten::atan2", REAL_PAIRS, real(math.atan2), "float", scalar="Scalar_Scalar")
binary(
    "aten::polar",
    REAL_PAIRS,
    real(M.polar),
    "complex",
    scalar="Scalar_Scalar",
    scalar_result="Scalar",
)
binary("aten::pow", "int", M.power, "float")
binary("aten::pow", "complex float int_float float_int float_complex complex_float", M.power)
binary("aten::pow", "Scalar", M.power_scalar, "float", scalar="Scalar_Scalar")
declare("aten::pow.int_to_int(int a, int b) -> int", M.power_int, "primitive")

EQUALITY = "int complex float int_float float_int float_complex complex_float Scalar str"
for _name in ("eq", "ne"):
    _kernel = comparison(getattr(operator, _name))
    for _type in ("Device", "bool", "AnyEnumType"):
        _overload = {"Device": "device", "AnyEnumType": "enum"}.get(_type, _type)
        declare(
            f"aten::{_name}.{_overload}({_type} a, {_type} b) -> bool",
            _kernel,
            "primitive",
            total=True,
        )
    binary(f"aten::{_name}", EQUALITY, _kernel, "bool", total=True)
for _name in ("lt", "gt", "le", "ge"):
    _kernel = comparison(getattr(operator, _name))
    binary(f"aten::{_name}", ORDERED_PAIRS, _kernel, "bool", total=True)
    binary(f"aten::{_name}", "Scalar", _kernel, "bool")  # complex numbers have no order
    binary(f"aten::{_name}", "str", _kernel, "bool", total=True)
for _name, _f in (("__and__", operator.and_), ("__or__", operator.or_), ("__xor__", operator.xor)):
    binary(f"aten::{_name}", "bool int", _f, total=True)
for _name, _f in (("__lshift__", operator.lshift), ("__rshift__", operator.rshift)):
    binary(f"aten::{_name}", "int", lambda a, b, f=_f: M.wrap(f(a, b & 63)))
declare("aten::__not__(bool self) -> bool", operator.not_, "primitive", total=True)
for _name, _f in (("max", larger), ("min", smaller)):
    binary(f"prim::{_name}", ORDERED_PAIRS, _f, total=True)
    binary(f"prim::{_name}", "Scalar", _f)
binary("aten::gcd", "int", lambda a, b: M.wrap(math.gcd(a, b)))
binary("aten::__round_to_zero_floordiv", "int", lambda a, b: M.truncated_quotient(a, b))
for _row in ("int", "float", "int_float", "float_int"):
    _left, _, _right = _row.partition("_")
    _result = "int" if _row == "int" else "float"
    declare(
        f"aten::divmod.{_row}({_left} x, {_right or _left} y) -> ({_result}, {_result})",
        by_kind(M.divmod_int, M.divmod_float),
        "primitive",
    )


def function(f_real: Callable, f_complex: Callable | None = None) -> Callable:
    """Make the kernel of a `math` function of one number, real or complex."""

    def kernel(a):
        if type(a) is complex:
            if f_complex is None:
                raise TypeError("this function takes a real number, not a complex one")
            return f_complex(a)
        return f_real(float(a))

    return kernel


def of_scalar(kernel: Callable) -> Callable:
    return lambda a: M.single(kernel(a))


for _name in M.ELEMENTARY:
    _kernel = function(M.REAL[_name], M.COMPLEX[_name])
    unary(f"aten::{_name}", "int->float float->float complex->complex", _kernel)
    unary(f"aten::{_name}", "Scalar->Scalar", of_scalar(_kernel))
for _name, _f in {**M.REAL_ONLY, "round": M.round_half_even}.items():
    unary(f"aten::{_name}", "int->float float->float", function(_f))
    unary(f"aten::{_name}", "Scalar->Scalar", of_scalar(function(_f)))
unary("aten::angle", "int->float float->float complex->float", M.angle)
unary("aten::angle", "Scalar->Scalar", of_scalar(M.angle))
unary("aten::ceil", "int->int float->int Scalar->Scalar", M.to_integer(math.ceil))
unary("aten::floor", "int->int float->int Scalar->Scalar", M.to_integer(math.floor))
unary(
    "aten::neg",
    "int->int float->float complex->complex",
    lambda a: M.wrap(-a) if type(a) is int else -a,
    total=True,
)
unary(
    "aten::neg",
    "Scalar->Scalar",
    of_scalar(lambda a: M.wrap(-a) if type(a) is int else -a),
    total=True,
)
unary("prim::abs", "int->int float->float complex->float Scalar->Scalar", M.magnitude, total=True)
unary("aten::factorial", "int->int", M.factorial)
for _row in (
    "int_int float_float complex_complex int_float float_int int_complex complex_int float_complex"
    " complex_float Scalar_Scalar"
).split():
    _left, _right = _row.split("_")
    _result = "complex" if "complex" in _row else "float"
    declare(f"aten::log.{_row}({_left} a, {_right} b) -> {_result}", M.log_base, "primitive")

for _name in ("isnan", "isinf", "isfinite"):
    for _type, _module in (("float", math), ("complex", M.cmath)):
        declare(f"aten::{_name}.{_type}({_type} a) -> bool", getattr(_module, _name), "primitive")
declare("aten::frexp(float a) -> (float, int)", math.frexp, "primitive")
declare("aten::modf(float a) -> (float, float)", math.modf, "primitive")
declare("aten::ldexp(float x, int i) -> float", M.ldexp, "primitive")

# conversions


def number_of(x: Any):
    return x.item() if isinstance(x, Tensor) else x


def to_int(a) -> int:
    """int() of a number or one-element tensor; floats are truncated, and must fit in 64 bits."""
    value = number_of(a)
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        value = value.real
    if isinstance(value, float):
        if not -M.TWO63 <= value < M.TWO63:
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return int(value)


def to_float(a) -> float:
    value = number_of(a)
    if isinstance(value, complex):
        if value.imag and isinstance(a, Tensor):
            raise RuntimeError("value cannot be converted to type double without overflow")
        value = value.real
    return float(value)


INTEGER = re.compile(r"\s*[+-]?\d+")
FLOAT = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.IGNORECASE)


@primitive("aten::Int.str(str a) -> int")
def int_of_str(text):
    if not INTEGER.fullmatch(text) or not -M.TWO63 <= int(text) < M.TWO63:
        raise RuntimeError(f"invalid literal for int() with base 10: '{text}'")
    return int(text)


@primitive("aten::Float.str(str a) -> float")
def float_of_str(text):
    if not FLOAT.fullmatch(text):
        raise RuntimeError(f"could not convert string to float: '{text}'")
    return float(text)


for _type in ("Tensor", "int", "float"):
    declare(f"aten::Bool.{_type}({_type} a) -> bool", bool, "primitive", total=_type != "Tensor")
for _type in ("Tensor", "bool", "Scalar"):
    declare(f"aten::Int.{_type}({_type} a) -> int", to_int, "primitive", total=_type == "bool")
declare("aten::Int.float(float a) -> int", M.truncate, "primitive")
for _type in ("Tensor", "Scalar", "int", "bool"):
    declare(
        f"aten::Float.{_type}({_type} a) -> float",
        to_float,
        "primitive",
        total=_type in ("int", "bool"),
    )
declare("aten::Complex.Scalar(Scalar a) -> complex", complex, "primitive")
for _pair in (
    "Tensor_Tensor",
    "int_bool",
    "bool_int",
    "float_bool",
    "bool_float",
    "float_int",
    "int_float",
    "int_int",
    "bool_bool",
    "float_float",
    "Tensor_float",
    "float_Tensor",
    "Tensor_int",
    "int_Tensor",
    "Tensor_bool",
    "bool_Tensor",
):
    _left, _right = _pair.split("_")
    _a, _b = ("a", "b") if _pair == "Tensor_Tensor" else ("x", "y")
    declare(
        f"aten::Complex.{_pair}({_left} {_a}, {_right} {_b}) -> complex",
        lambda x, y: complex(to_float(x), to_float(y)),
        "primitive",
    )


def check_scalar(a: Tensor) -> None:
    """Raise RuntimeError if a tensor cannot be used as a number implicitly, as PyTorch does."""
    if a.requires_grad:
        raise RuntimeError("Cannot input a tensor that requires grad as a scalar argument")
    if a.dim():
        raise RuntimeError("Cannot input a tensor of dimension other than 0 as a scalar argument")


def implicit(name: str, result: str, convert: Callable) -> None:
    """Declare the implicit conversion of a tensor without dimensions to a number."""

    def kernel(a):
        check_scalar(a)
        if result == "int" and a.dtype.kind not in "ui":
            raise RuntimeError(
                f"Cannot input a tensor of type {DISPLAY[a.dtype.name]} as an integral argument"
            )
        return convert(a)

    declare(f"aten::{name}(Tensor a) -> {result}", kernel, "primitive")


implicit("IntImplicit", "int", to_int)
implicit("FloatImplicit", "float", to_float)
implicit("ComplexImplicit", "complex", lambda a: complex(a.item()))
implicit("ScalarImplicit", "Scalar", number_of)


@primitive("aten::hash.generic(t value) -> int")
def hash_value(value):
    """The hash of a value: an int itself, a tensor's id; others are equal in every process."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Tensor):
        return M.wrap(id(value))
    total = FNV_START
    for byte in hashed_bytes(value):
        total = (total ^ byte) * FNV_FACTOR & (1 << 64) - 1
    return M.wrap(total)


FNV_START, FNV_FACTOR = 0xCBF29CE484222325, 0x100000001B3
"""The parameters of the 64-bit FNV-1a hash."""


def hashed_bytes(value) -> bytes:
    """The bytes to hash, equal for equal values; numbers are hashed as float64."""
    if isinstance(value, float):
        return struct.pack("<d", value + 0.0 if value == value else math.nan)
    if isinstance(value, complex):
        return hashed_bytes(value.real) + hashed_bytes(value.imag)
    if isinstance(value, tuple):
        return b"".join(struct.pack("<q", hash_value(v)) for v in value)
    text = value if isinstance(value, str) else str(value)
    return text.encode("utf-8", "surrogateescape")


@primitive("aten::__range_length(int lo, int hi, int step) -> int")
def range_length(lo, hi, step):
    if step == 0:
        raise RuntimeError("range() arg 3 must not be zero")
    return len(range(lo, hi, step))


@primitive("aten::__derive_index(int index, int start, int step) -> int")
def derive_index(index, start, step):
    return M.wrap(start + index * step)
