"""C arithmetic on Python numbers: 64-bit ints, IEEE floats that never raise, complex."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable

import numpy as np

TWO63 = 1 << 63
INT_MIN = -TWO63


def magnitude(a):
    """The absolute value: ints wrap, and for complex numbers an overflow gives infinity."""
    if type(a) is complex:
        return math.hypot(a.real, a.imag)
    return wrap(abs(a)) if type(a) is int else abs(a)


def wrap(n: int) -> int:
    """n wrapped to a signed 64-bit integer."""
    return ((n + TWO63) & ((1 << 64) - 1)) - TWO63


def truncate(x: float) -> int:
    """Truncate a float to an int; nan and what does not fit in 64 bits give the least integer."""
    return int(x) if -TWO63 <= x < TWO63 else INT_MIN


def single(x):
    """A float rounded to float32, as results of PyTorch's `math` functions on a Scalar are."""
    return float(np.float32(x)) if type(x) is float else x


def quiet(f: Callable, fallback: Callable) -> Callable:
    """Wrap f to call `fallback`, which returns nan or inf, if Python raises for the arguments."""

    def kernel(*args):
        try:
            return f(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            with np.errstate(all="ignore"):
                return fallback(*args)

    return kernel


def _numpy(f: Callable) -> Callable:
    return lambda *args: f(*map(np.float64, args)).item()


def _numpy_complex(f: Callable) -> Callable:
    return lambda *args: f(*map(np.complex128, args)).item()


def _whole_gamma(x: float) -> float:
    """The gamma function where Python's raises: at poles, and where it overflows."""
    if x == 0:
        return math.copysign(math.inf, x)
    return math.nan if x == -math.inf or (x < 0 and x == math.floor(x)) else math.inf


NUMPY_NAMES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
}
ELEMENTARY = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "log",
    "log10",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
)


def _np(name: str) -> Callable:
    return getattr(np, NUMPY_NAMES.get(name, name))


REAL = {name: quiet(getattr(math, name), _numpy(_np(name))) for name in ELEMENTARY}
COMPLEX = {name: quiet(getattr(cmath, name), _numpy_complex(_np(name))) for name in ELEMENTARY}
REAL_ONLY = {
    "degrees": lambda x: x * 180.0 / math.pi,
    "erf": math.erf,
    "erfc": math.erfc,
    "expm1": quiet(math.expm1, _numpy(np.expm1)),
    "fabs": math.fabs,
    "gamma": quiet(math.gamma, _whole_gamma),
    "lgamma": quiet(math.lgamma, lambda x: math.inf),
    "log1p": quiet(math.log1p, _numpy(np.log1p)),
    "radians": lambda x: x * math.pi / 180.0,
}

fmod = quiet(math.fmod, _numpy(np.fmod))
ieee_remainder = quiet(math.remainder, lambda a, b: math.nan)
ldexp = quiet(math.ldexp, lambda x, i: math.copysign(math.inf, x))


def multiply(a, b):
    """a * b; a complex number times a real one multiplies each part by it."""
    if type(a) is not type(b):
        if type(a) is complex:
            return complex(a.real * b, a.imag * b)
        if type(b) is complex:
            return complex(a * b.real, a * b.imag)
    return a * b


def divide(a, b):
    """a / b as floats or complex numbers; division by zero returns inf or nan."""
    if type(a) is complex or type(b) is complex:
        return _divide_complex(complex(a), complex(b))
    return _divide(float(a), float(b))


_divide = quiet(lambda a, b: a / b, _numpy(np.divide))
_divide_complex = quiet(lambda a, b: a / b, _numpy_complex(np.divide))


def floor_divide_int(a: int, b: int) -> int:
    if b == 0:
        raise RuntimeError("ZeroDivisionError: integer division or modulo by zero")
    return wrap(a // b)


def remainder_int(a: int, b: int) -> int:
    if b == 0:
        raise RuntimeError("ZeroDivisionError: integer division or modulo by zero")
    return a % b


def floor_divide_float(a: float, b: float) -> float:
    quotient = _divide(a, b)
    return (
        quotient
        if not math.isfinite(quotient)
        else math.copysign(float(math.floor(quotient)), quotient)
    )


def truncated_quotient(a: int, b: int) -> int:
    """a / b, rounded towards zero."""
    if b == 0:
        raise RuntimeError("ZeroDivisionError: integer division or modulo by zero")
    quotient = abs(a) // abs(b)
    return wrap(quotient if (a < 0) == (b < 0) else -quotient)


def remainder_float(a: float, b: float) -> float:
    """The remainder with the sign of b, computed as PyTorch does (nan for an infinite b)."""
    return fmod(b + fmod(a, b), b)


def divmod_int(a: int, b: int) -> tuple[int, int]:
    return floor_divide_int(a, b), remainder_int(a, b)


def divmod_float(a: float, b: float) -> tuple[float, float]:
    if b == 0:
        raise RuntimeError("ZeroDivisionError: float divmod()")
    rest = fmod(a, b)
    if rest and (a < 0) != (b < 0):
        rest += b
    return _divide(a - rest, b), rest


_power = quiet(math.pow, _numpy(np.power))


def _product(a: complex, b: complex) -> complex:
    """A complex product as in C: infinite if a factor is, even if both parts would be NaN."""
    made = a * b
    if not (math.isnan(made.real) and math.isnan(made.imag)):
        return made
    if not any(math.isinf(v) for v in (a.real, a.imag, b.real, b.imag)):
        return made
    (p, q), (r, s) = _boxed(a), _boxed(b)
    return complex(math.inf * (p * r - q * s), math.inf * (p * s + q * r))


def _boxed(v: complex) -> tuple[float, float]:
    """Replace infinite parts by 1 and the others by 0, keeping signs; if none is, NaN becomes 0."""
    if not (math.isinf(v.real) or math.isinf(v.imag)):
        real, imag = (math.copysign(0.0, x) if math.isnan(x) else x for x in (v.real, v.imag))
    else:
        real, imag = (math.copysign(float(math.isinf(x)), x) for x in (v.real, v.imag))
    return real, imag


def _power_complex(a: complex, b: complex) -> complex:
    return COMPLEX["exp"](_product(b, COMPLEX["log"](a)))


def power_scalar(a, b) -> float:
    if type(a) is complex or type(b) is complex:
        raise RuntimeError(
            "a complex number and an int or float have no power of one type; make "
            "both complex: a ** complex(b)"
        )
    return _power(float(a), float(b))


def power(a, b):
    """a ** b as floats or complex numbers.  Raises RuntimeError for zero to a negative power."""
    if type(b) is complex and type(a) is not complex:
        if not a > 0:
            return _power_complex(complex(a), b)
        return polar(_power(float(a), b.real), b.imag * REAL["log"](float(a)))
    if type(a) is complex and type(b) is not complex:
        if a.imag == 0 and a.real > 0:
            return complex(_power(a.real, float(b)))
        log = COMPLEX["log"](a)
        return polar(REAL["exp"](b * log.real), b * log.imag)
    if type(a) is complex:
        return _power_complex(a, b)
    if a == 0 and b < 0:
        raise RuntimeError("0.0 cannot be raised to a negative power")
    return _power(float(a), float(b))


def power_int(a: int, b: int) -> int:
    """a ** b, truncated to a 64-bit integer."""
    return truncate(power(a, b))


def _log(a) -> complex:
    """The logarithm as a complex number; for a real number the real one, NaN if it is negative."""
    return COMPLEX["log"](a) if type(a) is complex else complex(REAL["log"](float(a)))


def log_base(a, b):
    """log(a) / log(b)."""
    if type(a) is complex or type(b) is complex:
        return _divide_complex(_log(a), _log(b))
    return _divide(REAL["log"](float(a)), REAL["log"](float(b)))


def polar(length: float, angle: float) -> complex:
    if math.isinf(angle):
        return complex(math.nan, math.nan)
    return complex(length * math.cos(angle), length * math.sin(angle))


def angle(a) -> float:
    if type(a) is complex:
        return cmath.phase(a)
    return math.pi if math.copysign(1.0, a) < 0 else 0.0


def round_half_even(a) -> float:
    return float(np.rint(float(a)))


def to_integer(f: Callable) -> Callable:
    """Wrap floor or ceil to return an int.  Raises RuntimeError if it does not fit in 64 bits."""

    def kernel(a):
        if type(a) is int:
            return a
        if not -TWO63 <= a < TWO63:
            raise RuntimeError("Cannot convert float %f to integer" % a)
        return f(a)

    return kernel


def factorial(n: int) -> int:
    if n < 0:
        raise RuntimeError("factorial() not defined for negative values")
    result = 1
    for i in range(2, min(n, 66) + 1):  # from 66! on the low 64 bits are zero
        result = wrap(result * i)
    return result
