"""float32 logarithm, sine and cosine as PyTorch's AVX2 code for normal numbers computes them.

The polynomials are those of the Cephes library.  Multiply-adds are fused wherever that code fuses
them, since the last bit of the random numbers depends on it.
"""

from __future__ import annotations

import numpy as np

f32 = np.float32

LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
LOG2_LOW, LOG2_HIGH = f32(-2.12194440e-4), f32(0.693359375)
"""log(2) as a sum of two, of which the larger has few digits."""

SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
QUARTER = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
"""-pi/4 as a sum of three parts."""


def fused(a: np.ndarray, b, c) -> np.ndarray:
    """a * b + c in float32, rounded once."""
    return (a.astype(np.float64) * np.float64(b) + c).astype(f32)


def polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """The value of a polynomial by Horner's rule; coefficients from the highest power down."""
    y = np.full_like(x, f32(coefficients[0]))
    for c in coefficients[1:]:
        y = fused(y, x, f32(c))
    return y


def log(x: np.ndarray) -> np.ndarray:
    """The natural logarithm of positive normal numbers."""
    mantissa, exponent = np.frexp(x)
    low = mantissa < f32(0.707106781186547524)
    e = exponent.astype(f32) - low.astype(f32)
    m = (mantissa - f32(1)) + np.where(low, mantissa, f32(0))
    square = m * m
    y = fused(polynomial(m, LOG) * m, square, e * LOG2_LOW) - square * f32(0.5)
    return fused(e, LOG2_HIGH, m + y)


def sin_cos(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sin, cos) of nonnegative numbers."""
    octant = ((x * f32(1.27323954473516)).astype(np.int32) + 1) & ~1
    rest = x
    for part in QUARTER:
        rest = fused(octant.astype(f32), f32(part), rest)
    square = rest * rest
    cos = fused(polynomial(square, COS) * square, square, square * f32(-0.5)) + f32(1)
    sin = fused(polynomial(square, SIN) * square, rest, rest)
    swapped = octant & 2 != 0
    sin, cos = np.where(swapped, cos, sin), np.where(swapped, sin, cos)
    return (np.where(octant & 4 != 0, -sin, sin), np.where((octant - 2) & 4 == 0, -cos, cos))
