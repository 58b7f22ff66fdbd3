"""Operators on Python numbers: arithmetic, comparison, `math`, conversions.

Integers wrap at 64 bits and float functions return nan or inf where C does: nothing here raises
OverflowError or a domain error.  Families are tables; `overloads` writes their schemas.
"""

from __future__ import annotations

import math
import operator
import re
from typing import Any, Callable

from ..tensor import Tensor
from . import scalar_math as M
from .table import declare, primitive

PAIRS = ("int complex float int_complex complex_int float_complex complex_float int_float "
         "float_int Scalar")
"""Operand types of arithmetic, in PyTorch's order."""
REAL_PAIRS = "int float int_float float_int Scalar"
EQUALITY = "bool int complex float int_float float_int float_complex complex_float Scalar str"
ORDER = "int float int_float float_int Scalar str"


def result_of(types: list[str]) -> str:
    """The type of an arithmetic result: the widest operand type."""
    return next(t for t in ("Scalar", "complex", "float", "int", "bool", "str") if t in types)


def overloads(name: str, rows: str, kernel: Callable, result: str | None = None,
              arguments: str = "a b", scalar: str = "", scalar_result: str | None = None) -> None:
    """Declare a binary operator once for each operand-type row (`int`, `int_float`, ...).

    result: the return type, by default the widest operand; scalar: overload name of the row Scalar.
    """
    first, second = arguments.split()
    for row in rows.split():
        types = row.split("_") if "_" in row else [row, row]
        overload = f".{row}" if row != "Scalar" else f".{scalar}" if scalar else ""
        returns = (scalar_result if row == "Scalar" and scalar_result else result) \
            or result_of(types)
        declare(f"{name}{overload}({types[0]} {first}, {types[1]} {second}) -> {returns}", kernel,
                "primitive")


def unary(name: str, rows: str, kernel: Callable) -> None:
    """Declare a unary operator for rows `int->float`; the row's operand type names the overload."""
    for row in rows.split():
        operand, result = row.split("->")
        declare(f"{name}.{operand}({operand} a) -> {result}", kernel, "primitive")


def wrapping(f: Callable) -> Callable:
    """f, with an int result reduced to 64 bits."""
    def kernel(a, b):
        result = f(a, b)
        return result if type(result) is not int or -M.TWO63 <= result < M.TWO63 \
            else M.wrap(result)

    return kernel


def real(f: Callable) -> Callable:
    """f on both operands as floats."""
    return lambda a, b: f(float(a), float(b))


def modulo(integral: Callable, floating: Callable) -> Callable:
    """One function for two ints, another where a float takes part."""
    return lambda a, b: integral(a, b) if type(a) is type(b) is int \
        else floating(float(a), float(b))


def comparison(f: Callable) -> Callable:
    """f; an int is compared with a float as a float, as C does."""
    def kernel(a, b):
        if type(a) is not type(b) and float in (type(a), type(b)) and type(a) is not complex \
                and type(b) is not complex:
            return f(float(a), float(b))
        return f(a, b)

    return kernel


def shift(f: Callable) -> Callable:
    """A 64-bit shift whose count is taken modulo 64, as the CPU does."""
    return lambda a, b: M.wrap(f(a, b & 63))


overloads("aten::add", PAIRS, wrapping(operator.add))
overloads("aten::sub", PAIRS, wrapping(operator.sub))
overloads("aten::mul", PAIRS, wrapping(operator.mul))
overloads("aten::div", "int complex float Scalar", M.divide, result=None, scalar_result="float") \
    if False else None
for _row, _result in (("int", "float"), ("complex", "complex"), ("float", "float"),
                      ("Scalar", "float")):
    overloads("aten::div", _row, M.divide, _result)
overloads("aten::floordiv", REAL_PAIRS, modulo(M.floor_divide_int, M.floor_divide_float))
overloads("aten::remainder", REAL_PAIRS, modulo(M.remainder_int, M.remainder_float))
overloads("aten::fmod", REAL_PAIRS, real(M.fmod), "float")
overloads("aten::mathremainder", REAL_PAIRS, real(M.ieee_remainder), "float")
overloads("aten::copysign", REAL_PAIRS, real(math.copysign), "float")
overloads("aten::atan2", REAL_PAIRS, real(math.atan2), "float", scalar="Scalar_Scalar")
overloads("aten::polar", REAL_PAIRS, real(M.polar), "complex", scalar="Scalar_Scalar",
          scalar_result="Scalar")
