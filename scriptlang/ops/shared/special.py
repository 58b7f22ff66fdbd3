"""Mathematical functions that numpy does not have, on arrays."""

from __future__ import annotations

import math

import numpy as np

BLOCK = 8192
"""How many elements are computed at a time, so that temporaries stay in the cache."""


def _in_double(f):
    """Wrap f to compute in float64 and return the argument's type."""

    def g(a):
        if a.size <= BLOCK:
            return f(np.asarray(a, np.float64)).astype(a.dtype)
        flat = a.reshape(-1)
        result = np.empty_like(flat)
        for i in range(0, flat.size, BLOCK):
            result[i : i + BLOCK] = f(np.asarray(flat[i : i + BLOCK], np.float64))
        return result.reshape(a.shape)

    g.__name__ = f.__name__
    g.__doc__ = f.__doc__
    return g


ERF_SMALL = (
    (
        0.185777706184603153,
        3.16112374387056560,
        113.864154151050156,
        377.485237685302021,
        3209.37758913846947,
    ),
    (1.0, 23.6012909523441209, 244.024637934444173, 1282.61652607737228, 2844.23683343917062),
)
ERFC_MIDDLE = (
    (
        2.15311535474403846e-8,
        0.564188496988670089,
        8.88314979438837594,
        66.1191906371416295,
        298.635138197400131,
        881.952221241769090,
        1712.04761263407058,
        2051.07837782607147,
        1230.33935479799725,
    ),
    (
        1.0,
        15.7449261107098347,
        117.693950891312499,
        537.181101862009858,
        1621.38957456669019,
        3290.79923573345963,
        4362.61909014324716,
        3439.36767414372164,
        1230.33935480374942,
    ),
)
ERFC_FAR = (
    (
        1.63153871373020978e-2,
        0.305326634961232344,
        0.360344899949804439,
        0.125781726111229246,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242,
        1.87295284992346725,
        0.527905102951428412,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)
"""Cody's rational approximations (1969), highest power first: erf(x) / x in x^2 up to 0.46875,
erfc(x) exp(x^2) in x up to 4, and beyond that its difference from the limit, in 1 / x^2."""


def _ratio(coefficients, x):
    numerator, denominator = coefficients
    return np.polyval(numerator, x) / np.polyval(denominator, x)


def _erfc_scaled(z):
    """erfc(z) exp(z^2) for z > 0.46."""
    with np.errstate(all="ignore"):
        middle = _ratio(ERFC_MIDDLE, np.minimum(z, 4.0))
        z = np.maximum(z, 4.0)
        square = 1 / (z * z)
        return np.where(
            z > 4.0, (1 / math.sqrt(math.pi) - square * _ratio(ERFC_FAR, square)) / z, middle
        )


@_in_double
def erf(x):
    """The error function."""
    z = np.abs(x)
    small = x * _ratio(ERF_SMALL, np.minimum(z, 0.5) ** 2)
    large = 1 - np.exp(-z * z) * _erfc_scaled(np.maximum(z, 0.46))
    return np.where(z <= 0.46875, small, np.copysign(large, x))


@_in_double
def erfc(x):
    """1 - erf(x), accurate in the tail."""
    z = np.abs(x)
    tail = np.exp(-z * z) * _erfc_scaled(np.maximum(z, 0.46))
    positive = np.where(z <= 0.46875, 1 - z * _ratio(ERF_SMALL, np.minimum(z, 0.5) ** 2), tail)
    return np.where(x < 0, 2 - positive, positive)


@_in_double
def erfinv(y):
    """The inverse of erf on (-1, 1), by an initial guess and Newton steps."""
    with np.errstate(all="ignore"):
        w = np.log1p(-y * y)
        t = 2 / (math.pi * 0.147) + w / 2
        x = np.copysign(np.sqrt(np.sqrt(t * t - w / 0.147) - t), y)
        for _ in range(4):
            slope = 2 / math.sqrt(math.pi) * np.exp(-x * x)
            step = (erf(x) - y) / slope
            x = np.where(np.isfinite(step), x - step / (1 + x * step), x)
        x = np.where(np.abs(y) == 1, np.copysign(np.inf, y), x)
        return np.where(np.abs(y) > 1, np.nan, x)


LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)
"""Coefficients of Lanczos's approximation of the gamma function, g = 7."""


@_in_double
def lgamma(x):
    """log |gamma(x)|, by Lanczos's approximation and reflection."""
    with np.errstate(all="ignore"):
        z = np.where(x < 0.5, 1 - x, x) - 1
        series = LANCZOS[0] + sum(c / (z + i) for i, c in enumerate(LANCZOS) if i)
        t = z + 7.5
        right = 0.5 * math.log(2 * math.pi) + (z + 0.5) * np.log(t) - t + np.log(series)
        left = math.log(math.pi) - np.log(np.abs(np.sin(math.pi * x))) - right
        value = np.where(x < 0.5, left, right)
        value = np.where((x == 1) | (x == 2), 0.0, value)
        pole = (x <= 0) & (x == np.floor(x))
        return np.where(pole | np.isinf(x), np.inf, value)


@_in_double
def digamma(x):
    """The logarithmic derivative of gamma, by recurrence and its asymptotic series."""
    with np.errstate(all="ignore"):
        reflect = x < 0.5
        z = np.where(reflect, 1 - x, x)
        shift = np.zeros_like(z)
        for _ in range(10):
            small = z < 10
            shift = np.where(small, shift - 1 / z, shift)
            z = np.where(small, z + 1, z)
        w = 1 / (z * z)
        tail = w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w / 132))))
        value = shift + np.log(z) - 0.5 / z - tail
        value = np.where(reflect, value - math.pi / np.tan(math.pi * x), value)
        value = np.where(x == 0, -np.copysign(np.inf, x), value)
        return np.where((x < 0) & (x == np.floor(x)), np.nan, value)


@_in_double
def i0(x):
    """The modified Bessel function of order 0."""
    return np.i0(x).reshape(x.shape)


def logaddexp(a, b):
    """log(exp(a) + exp(b)), also of complex numbers."""
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    low, high = np.where(a.real < b.real, a, b), np.where(a.real < b.real, b, a)
    value = high + np.log1p(np.exp(low - high))
    same = np.isinf(a.real) & (a == b)
    return np.where(same, a, value)


def logaddexp2(a, b):
    return np.logaddexp2(a, b)


def floor_divide(a, b):
    """Division rounded down, as in Python; division by zero returns what true division does."""
    with np.errstate(all="ignore"):
        return np.where(b == 0, a / b, np.floor_divide(a, b)).astype(a.dtype)


def floor_divide_halves(a, b, rounded):
    """`floor_divide` of half types: rounds after every step, as PyTorch's loops do."""
    quotient, rest = a / b, rounded(np.fmod(a, b))
    exact = rounded(rounded(a - rest) / b)
    apart = (rest != 0) & ((b < 0) != (rest < 0))
    exact = np.where(apart, rounded(exact - 1), exact)
    down = np.floor(exact)
    down = np.where(rounded(exact - down) > 0.5, rounded(down + 1), down)
    down = np.where(exact == 0, np.copysign(a.dtype.type(0), quotient), down)
    return np.where(b == 0, quotient, down)


def trunc_divide_int(a, b):
    """Integer division rounded towards zero."""
    quotient = np.floor_divide(a, b)
    return quotient + ((quotient < 0) & (quotient * b != a)).astype(quotient.dtype)


def gcd(a, b):
    """The greatest common divisor.

    The least integer of a type has no absolute value: it stays negative, and so may its divisors,
    as in PyTorch.
    """
    found = np.gcd(a, b)
    if a.dtype.kind == "u":
        return found
    least = np.iinfo(a.dtype).min
    odd = np.broadcast_to((a == least) | (b == least), found.shape)
    if odd.any():
        pairs = zip(*(np.broadcast_to(x, found.shape)[odd].tolist() for x in (a, b)))
        found = np.array(found)
        found[odd] = [divisor(x, y, least) for x, y in pairs]
    return found


def divisor(a: int, b: int, least: int) -> int:
    a, b = (x if x == least else abs(x) for x in (a, b))
    while a:
        a, b = b - a * int_quotient(b, a), a
    return b


def int_quotient(a: int, b: int) -> int:
    """The quotient, rounded towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def lcm(a, b):
    """The least common multiple, computed in at least 32 bits; smaller types keep the low bits."""
    wide = np.int32 if a.dtype.itemsize < 4 else a.dtype
    with np.errstate(all="ignore"):
        g = gcd(a, b)
        parts = trunc_divide_int(a, np.where(g == 0, 1, g).astype(a.dtype))
        return np.abs(parts.astype(wide) * b.astype(wide)).astype(a.dtype)


def int_power(a, b):
    """Integer power that wraps; a negative exponent returns the real result, truncated."""
    if a.dtype.kind == "b":
        return a | ~b
    with np.errstate(all="ignore"):
        value = np.power(a, np.where(b < 0, 0, b))
        one = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0))
        return np.where(b < 0, one, value).astype(a.dtype)
