"""Mathematical functions that numpy does not have, on arrays."""

from __future__ import annotations

import math

import numpy as np


def _in_double(f):
    """Compute in float64 and give the argument's type back."""
    def g(a):
        return f(np.asarray(a, np.float64)).astype(a.dtype)

    g.__name__ = f.__name__
    g.__doc__ = f.__doc__
    return g


@_in_double
def erf(x):
    """The error function, by its series near zero and a continued fraction far from it."""
    z = np.abs(x)
    small = np.minimum(z, 3.0)
    term, total = small.copy(), small.copy()
    for n in range(1, 60):
        term = term * (-small * small) / n
        total = total + term / (2 * n + 1)
    near = 2 / math.sqrt(math.pi) * total
    far = 1 - _erfc_tail(np.maximum(z, 2.0))
    return np.where(np.isnan(x), x, np.copysign(np.where(z < 2.5, near, far), x))


@_in_double
def erfc(x):
    """1 - erf(x), accurate in the tail."""
    z = np.abs(x)
    tail = _erfc_tail(np.maximum(z, 2.0))
    positive = np.where(z < 2.0, 1 - erf(z), tail)
    return np.where(np.isnan(x), x, np.where(x < 0, 2 - positive, positive))


def _erfc_tail(z):
    """erfc for z >= 2, by a continued fraction evaluated from the inside."""
    with np.errstate(all="ignore"):
        f = np.zeros_like(z)
        for n in range(60, 0, -1):
            f = n / 2 / (z + f)
        return np.where(np.isinf(z), 0.0, np.exp(-z * z) / math.sqrt(math.pi) / (z + f))


@_in_double
def erfinv(y):
    """The inverse of erf on (-1, 1), by a starting guess and Newton steps."""
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


LANCZOS = (0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
           -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
           1.5056327351493116e-7)
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


def xlogy(a, b):
    """a * log(b), zero where a is (nan where b is)."""
    with np.errstate(all="ignore"):
        return np.where(np.isnan(b), b, np.where(a == 0, a.dtype.type(0), a * np.log(b)))


def xlog1py(a, b):
    """a * log(1 + b), zero where a is (nan where b is)."""
    return np.where(np.isnan(b), b, np.where(a == 0, a.dtype.type(0), a * np.log1p(b)))


def logaddexp(a, b):
    """log(exp(a) + exp(b)); of complex numbers too."""
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    low, high = np.where(a.real < b.real, a, b), np.where(a.real < b.real, b, a)
    value = high + np.log1p(np.exp(low - high))
    same = np.isinf(a.real) & (a == b)
    return np.where(same, a, value)


def logaddexp2(a, b):
    return np.logaddexp2(a, b)


def floor_divide(a, b):
    """Division rounded down, as Python's; division by zero gives what true division gives."""
    with np.errstate(all="ignore"):
        return np.where(b == 0, a / b, np.floor_divide(a, b)).astype(a.dtype)


def trunc_divide_int(a, b):
    """Integer division rounded towards zero."""
    quotient = np.floor_divide(a, b)
    return quotient + ((quotient < 0) & (quotient * b != a)).astype(quotient.dtype)


def int_power(a, b):
    """Integer power with wrapping; a negative exponent gives what truncating the real result gives."""
    if a.dtype.kind == "b":
        return a | ~b
    with np.errstate(all="ignore"):
        value = np.power(a, np.where(b < 0, 0, b))
        one = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0))
        return np.where(b < 0, one, value).astype(a.dtype)
