"""Operators on Python numbers: arithmetic, comparison, `math`, conversions.

Integers wrap at 64 bits and float functions return nan or inf where C does.  Families are tables of
operand types; `binary` and `unary` write their schemas.
"""

from __future__ import annotations

import hashlib
import math
import operator
import re
from typing import Any, Callable

from ..tensor import Tensor
from . import scalar_math as M
from .elementwise import DISPLAY
from .table import declare, primitive

PAIRS = ("int complex float int_complex complex_int float_complex complex_float int_float "
         "float_int Scalar")
"""Operand types of arithmetic, in PyTorch's order; a single name stands for both operands."""
REAL_PAIRS = "int float int_float float_int Scalar"
WIDTH = ("Scalar", "complex", "float", "int", "bool")


def binary(name: str, rows: str, kernel: Callable, result: str | None = None,
           scalar: str = "", scalar_result: str | None = None, arguments: str = "a b") -> None:
    """Declare a binary operator once for each row of operand types (`int`, `int_float`, ...).

    result: the return type, by default the widest operand.  scalar: the overload name of the row
    Scalar; scalar_result: its return type.
    """
    first, second = arguments.split()
    for row in rows.split():
        left, _, right = row.partition("_")
        right = right or left
        overload = row if row != "Scalar" else scalar
        returns = scalar_result if row == "Scalar" and scalar_result else \
            result or next((t for t in WIDTH if t in (left, right)), left)
        declare(f"{name}{'.' if overload else ''}{overload}({left} {first}, {right} {second}) -> "
                f"{returns}", kernel, "primitive")


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


def by_kind(integral: Callable, floating: Callable) -> Callable:
    """One function for two ints, another where a float takes part."""
    return lambda a, b: integral(a, b) if isinstance(a, int) and isinstance(b, int) \
        else floating(float(a), float(b))


def comparison(f: Callable) -> Callable:
    """f; an int is compared with a float as a float, as C does."""
    def kernel(a, b):
        if type(a) is float and type(b) is int or type(a) is int and type(b) is float:
            return f(float(a), float(b))
        if f not in (operator.eq, operator.ne) and complex in (type(a), type(b)):
            raise RuntimeError("complex numbers have no order: compare their parts or abs()")
        return f(a, b)

    return kernel


def smaller(a, b):
    """min as C++ writes it: b unless a < b; so a nan on the left loses."""
    a, b = same_kind(a, b)
    return a if a < b else b


def larger(a, b):
    a, b = same_kind(a, b)
    return a if a > b else b


def same_kind(a, b):
    return (float(a), float(b)) if type(a) is not type(b) else (a, b)


binary("aten::add", PAIRS, wrapping(operator.add))
binary("aten::sub", PAIRS, wrapping(operator.sub))
binary("aten::mul", PAIRS, wrapping(operator.mul))
binary("aten::div", "int complex float Scalar", M.divide, scalar_result="float") if False else None
