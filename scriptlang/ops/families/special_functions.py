"""The `special_` operators: Bessel and gamma functions, error functions, orthogonal polynomials.

Kernels compute in float64 and round once.  Formulas are those of Abramowitz and Stegun; their
numbers are given where they are used.
"""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes
from ...tensors import Tensor
from ..calling import functions as torch
from ..shared.elementwise import apply, declare_pointwise, floating, store
from ..shared.layout import rows
from ..shared.special import digamma, erfc, erfinv, lgamma
from ..table import composite, declare, describe, primitive

EULER = 0.5772156649015329
SERIES_LIMIT = 16.0
"""Where Bessel functions switch from their power series to their asymptotic expansion."""


def harmonic(k: int) -> float:
    return sum(1 / i for i in range(1, k + 1))


def power_series(x, order: int, sign: float):
    """(sum of (sign x^2/4)^k / (k! (k+order)!), the same with terms times H_k + H_(k+order))."""
    z = sign * x * x / 4
    term = np.full_like(z, 1 / math.factorial(order))
    plain, weighted = term.copy(), term * (harmonic(0) + harmonic(order))
    for k in range(1, 90):
        term = term * z / (k * (k + order))
        plain = plain + term
        weighted = weighted + term * (harmonic(k) + harmonic(k + order))
    return plain, weighted


def hankel(x, order: int):
    """P, Q and the angle of the asymptotic expansions of J and Y (9.2.9, 9.2.10).

    The expansions are cut at their least term.
    """
    mu = 4.0 * order * order
    p, q, term = np.ones_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, 30):
        step = (mu - (2 * k - 1) ** 2) / (k * 8 * x)
        term = np.where(np.abs(step) < 1, term * step, 0)
        if k % 2:
            q = q + term * (1 if k % 4 == 1 else -1)
        else:
            p = p + term * (-1 if k % 4 == 2 else 1)
    return p, q, x - (order / 2 + 0.25) * math.pi


def bessel_j(order: int):
    def f(x):
        size = np.abs(x)
        small, large = np.minimum(size, SERIES_LIMIT), np.maximum(size, SERIES_LIMIT)
        near = power_series(small, order, -1)[0] * (small / 2) ** order
        p, q, angle = hankel(large, order)
        far = np.sqrt(2 / (math.pi * large)) * (p * np.cos(angle) - q * np.sin(angle))
        value = np.where(size < SERIES_LIMIT, near, far)
        return value * np.sign(x) if order else np.where(np.isnan(x), x, value)

    return f


def bessel_y(order: int):
    def f(x):
        small = np.clip(x, 0, SERIES_LIMIT)
        large = np.maximum(x, SERIES_LIMIT)
        plain, weighted = power_series(small, order, -1)
        half = (small / 2) ** order
        near = 2 * (np.log(small / 2) + EULER) * plain * half - half * weighted
        near = near / math.pi
        if order:
            near = near - 2 / (math.pi * small)
        p, q, angle = hankel(large, order)
        far = np.sqrt(2 / (math.pi * large)) * (p * np.sin(angle) + q * np.cos(angle))
        value = np.where(x < SERIES_LIMIT, near, far)
        return np.where(x == 0, -np.inf, np.where(x < 0, np.nan, value))

    return f


def bessel_i(order: int, scaled: bool):
    def f(x):
        size = np.abs(x)
        small, large = np.minimum(size, 30.0), np.maximum(size, 30.0)
        near = power_series(small, order, 1)[0] * (small / 2) ** order * np.exp(-small)
        mu, term = 4.0 * order * order, np.ones_like(large)
        far = term.copy()
        for k in range(1, 30):
            term = term * -(mu - (2 * k - 1) ** 2) / (k * 8 * large)
            far = far + term
        value = np.where(size < 30, near, far / np.sqrt(2 * math.pi * large))
        value = value if scaled else value * np.exp(size)
        return value * np.where(x < 0, -1, 1) if order else np.where(np.isnan(x), x, value)

    return f


def bessel_k(order: float, scaled: bool):
    """By the integral of exp(-x cosh t) cosh(order t) (9.6.24), with the trapezoid rule."""

    def f(x):
        positive = np.where((x > 0) & np.isfinite(x), x, 1.0)[..., None]
        step = np.arccosh(1 + 745 / positive) / 400
        t = step * np.arange(400)
        weight = step * np.where(np.arange(400) == 0, 0.5, 1)
        decay = np.exp(-2 * positive * np.sinh(t / 2) ** 2)
        value = np.sum(decay * np.cosh(order * t) * weight, -1)
        value = value if scaled else value * np.exp(-positive[..., 0])
        return np.where(x == 0, np.inf, np.where(x == np.inf, 0.0, np.where(x > 0, value, np.nan)))

    return f


def airy_ai(x):
    """The Airy function Ai.

    By its series near zero, K of order 1/3 above (Abramowitz and Stegun, 10.4.14), and a cosine
    below (10.4.60).
    """
    near = np.clip(x, -8, 2)
    cube = near**3
    f, g = np.ones_like(near), near.copy()
    term_f, term_g = f.copy(), g.copy()
    for k in range(1, 60):
        term_f = term_f * cube / ((3 * k - 1) * (3 * k))
        term_g = term_g * cube / (3 * k * (3 * k + 1))
        f, g = f + term_f, g + term_g
    middle = 0.3550280538878172 * f - 0.2588194037928068 * g
    up = np.maximum(x, 2)
    zeta = 2 / 3 * up**1.5
    above = np.sqrt(up / 3) / math.pi * bessel_k(1 / 3, False)(zeta)
    down = np.maximum(-x, 8)
    zeta = 2 / 3 * down**1.5
    p, q, term = np.ones_like(zeta), np.zeros_like(zeta), np.ones_like(zeta)
    for k in range(1, 12):
        term = term * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1) * zeta)
        sign = -1 if (k // 2) % 2 else 1
        p, q = (p, q + sign * term) if k % 2 else (p + sign * term, q)
    angle = zeta + math.pi / 4
    below = (np.sin(angle) * p - np.cos(angle) * q) / (math.sqrt(math.pi) * down**0.25)
    value = np.where(x > 2, above, np.where(x < -8, below, middle))
    return np.where(np.isinf(x), np.nan, value)


# gamma family

BERNOULLI = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
)
"""B_2k / (2k)! of the Euler-Maclaurin formula."""


def zeta(x, q):
    """The Hurwitz zeta function: the sum of (q + k)^-x, with the tail by Euler-Maclaurin (23.2)."""
    x, q = np.broadcast_arrays(x, q)
    total, at = np.zeros(x.shape), q.astype(np.float64)
    pole = (q <= 0) & (q == np.floor(q))
    good = (x > 1) & np.isfinite(x) & np.isfinite(q) & ~pole & ((q > 0) | (x == np.floor(x)))
    power = np.where(good, x, 2.0)
    at = np.where(good, at, 1.0)
    if np.any(at < -12):  # terms far below zero, summed from above
        skipped = np.where(at < -12, np.ceil(-12 - at), 0.0)
        away = np.where(at < -12, -at, 20.0)
        sign = np.where(power % 2 == 0, 1.0, -1.0)
        between = zeta(power, away - skipped + 1) - zeta(power, away + 1)
        total = total + np.where(at < -12, sign * between, 0.0)
        at = at + skipped
    for _ in range(26):
        more = at < 12
        total = total + np.where(more, np.power(at, -power), 0)
        at = np.where(more, at + 1, at)
    total = total + np.power(at, 1 - power) / (power - 1) + np.power(at, -power) / 2
    factor = power * np.power(at, -power - 1)
    for k, b in enumerate(BERNOULLI):
        total = total + b * factor
        factor = factor * (power + 2 * k + 1) * (power + 2 * k + 2) / (at * at)
    edge = np.select(
        [x == 1, x < 1, pole, np.isnan(x) | np.isnan(q) | np.isinf(q), x == np.inf],
        [np.inf, np.nan, np.inf, np.nan, np.where(q < 1, np.inf, np.where(q == 1, 1.0, np.nan))],
        np.nan,
    )
    # Where all terms underflow, PyTorch's tail multiplies zeros by 23 factors of about x.
    lost = good & (q > 1) & (np.power(at, -power) == 0) & np.isinf(np.power(power, 23))
    return np.where(good & ~lost, total, edge)


def polygamma_of(n: int):
    def f(x):
        if n == 0:
            return digamma(x)
        if n > 1:
            factorial = math.gamma(n + 1) if n <= 170 else math.inf
            return (-1.0) ** (n + 1) * factorial * zeta(np.full(x.shape, n + 1.0), x)
        reflected = np.where(x < 0.5, 1 - x, x)
        value = zeta(np.full(x.shape, 2.0), reflected)
        sine = np.sin(math.pi * x)
        value = np.where(x < 0.5, (math.pi / sine) ** 2 - value, value)
        return np.where(np.isposinf(x), 0, value)

    return f


def incomplete_gamma(upper: bool):
    """The regularized incomplete gamma functions, by series or continued fraction (6.5.29, 31)."""

    def f(a, x):
        a, x = np.broadcast_arrays(a, x)
        good = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        p, z = np.where(good, a, 1.0), np.where(good, x, 1.0)
        scale = np.exp(p * np.log(z) - z - lgamma(p))
        term = total = 1 / p
        for k in range(1, 100_000):  # about 8 sqrt(a) terms if x is near a
            term = term * z / (p + k)
            total = total + term
            if np.all((term < total * 1e-17) | (z > np.maximum(p, 1))):
                break
        lower = scale * total
        fraction = np.clip(continued_fraction(p, np.maximum(z, p)), 0, None) * scale
        by_series = z <= np.maximum(p, 1)
        low = np.where(by_series, lower, 1 - fraction)
        high = np.where(by_series, 1 - lower, fraction)
        vast = good & (p > 1e6)  # where the series needs too many terms
        if vast.any():
            low = np.where(vast, of_vast(p, z, -1), low)
            high = np.where(vast, of_vast(p, z, 1), high)
        edge = np.select(
            [(x < 0) | (a < 0), a == 0, x == 0, np.isinf(a), np.isinf(x)],
            [np.nan, np.where(x > 0, 1.0, np.nan), 0.0, np.where(np.isinf(x), np.nan, 0.0), 1.0],
            np.nan,
        )
        return np.where(good, high if upper else low, 1 - edge if upper else edge)

    return f


def of_vast(a, x, sign: int):
    """An incomplete gamma function for large a.

    It is the first term of Temme's expansion (8.12.3, 8.12.7).  sign: 1 for the upper function, -1
    for the lower.
    """
    m = (x - a) / a
    near = np.abs(m) < 1e-2
    few = np.where(near, m, 0.0)
    half = few * few * (1 / 2 - few * (1 / 3 - few * (1 / 4 - few * (1 / 5 - few / 6))))
    half = np.where(near, half, m - np.log1p(np.where(near, 0.0, m)))
    eta = np.copysign(np.sqrt(2 * half), m)
    gap = np.where(near, -1 / 3 + few / 12, 1 / np.where(near, 1.0, m) - 1 / np.where(near, 1, eta))
    rest = np.exp(-a * half) / np.sqrt(2 * math.pi * a) * gap
    return np.clip(erfc(sign * eta * np.sqrt(a / 2)) / 2 + sign * rest, 0.0, 1.0)


def continued_fraction(a, x):
    """Gamma(a, x) / (exp(-x) x^a), by Lentz's method."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e300), 1 / np.where(b == 0, 1e-300, b)
    h = d
    for i in range(1, 100_000):
        step = -i * (i - a)
        b = b + 2
        d = 1 / np.where(step * d + b == 0, 1e-300, step * d + b)
        c = np.where(b + step / c == 0, 1e-300, b + step / c)
        h = h * d * c
        if np.all(np.abs(d * c - 1) < 3e-16):
            break
    return h


def multivariate_lgamma(self: Tensor, p: int) -> Tensor:
    if self.dtype.kind == "b":
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")

    kept = np.float64 if self.dtype.itemsize == 8 and self.dtype.kind == "f" else np.float32

    def f(x):
        at = ((x - j / 2).astype(kept).astype(np.float64) for j in range(p))
        return sum(map(lgamma, at)) + p * (p - 1) / 4 * math.log(math.pi)

    value = rounded(f, self, name="mvlgamma")
    return Tensor._wrap(rows(value._array))  # PyTorch's sum makes it row-major


# error functions and entropies


def erfcx(x):
    """exp(x^2) erfc(x)."""
    high = np.maximum(x, 2.0)
    f = np.zeros_like(high)
    for n in range(60, 0, -1):
        f = n / 2 / (high + f)
    return np.where(
        x > 2,
        1 / (math.sqrt(math.pi) * (high + f)),
        np.exp(np.minimum(x, 2) ** 2) * erfc(np.minimum(x, 2)),
    )


def log_ndtr(x):
    z = x / math.sqrt(2)
    return np.where(
        x < -1, np.log(erfcx(np.maximum(-z, 0)) / 2) - z * z, np.log1p(-erfc(np.maximum(z, -1)) / 2)
    )


def ndtri(p):
    inside = np.clip(p, 1e-300, 1 - 1e-16)
    y = math.sqrt(2) * erfinv(np.clip(2 * inside - 1, -1 + 1e-15, 1 - 1e-15))
    for _ in range(8):  # Newton's steps on the logarithm
        log_p = log_ndtr(y)
        slope = np.exp(-y * y / 2 - log_p) / math.sqrt(2 * math.pi)
        y = y - (log_p - np.log(inside)) / slope
    return np.select([p == 0, p == 1, (p > 0) & (p < 1)], [-np.inf, np.inf, y], np.nan)


def entr(self: Tensor) -> Tensor:
    """-x * log(x); half types round the logarithm."""
    dtype = floating(self.dtype)

    def f(a: np.ndarray) -> np.ndarray:
        x = a.astype(np.float64)
        log = np.log(np.where(x > 0, x, 1)).astype(dtype.numpy).astype(np.float64)
        below = np.where(x == 0, 0.0, np.where(np.isnan(x), x, -np.inf))
        return np.where(x > 0, -x * log, below).astype(a.dtype)

    return apply(f, dtype, self, name="special_entr", kinds="f")


def spherical_bessel_j0(x):
    return np.where(
        np.isinf(x),
        0.0,
        np.where(
            np.abs(x) < 0.5,
            1 - x * x / 6 + x**4 / 120 - x**6 / 5040 + x**8 / 362880,
            np.sin(x) / np.where(x == 0, 1, x),
        ),
    )


# orthogonal polynomials: (value at n = 1, value at n + 1 from n, x, values at n and n - 1)

POLYNOMIALS = {
    "chebyshev_polynomial_t": (lambda x: x, lambda n, x, a, b: 2 * x * a - b),
    "chebyshev_polynomial_u": (lambda x: 2 * x, lambda n, x, a, b: 2 * x * a - b),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, lambda n, x, a, b: 2 * x * a - b),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, lambda n, x, a, b: 2 * x * a - b),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda n, x, a, b: 2 * x * a - 2 * n * b),
    "hermite_polynomial_he": (lambda x: x, lambda n, x, a, b: x * a - n * b),
    "laguerre_polynomial_l": (
        lambda x: 1 - x,
        lambda n, x, a, b: ((2 * n + 1 - x) * a - n * b) / (n + 1),
    ),
    "legendre_polynomial_p": (
        lambda x: x,
        lambda n, x, a, b: ((2 * n + 1) * x * a - n * b) / (n + 1),
    ),
}


MOST_DEGREES = 2**20
"""The greatest degree that is computed; polynomials of higher degrees are given as zero."""


def polynomial(first, following, shifted=False):
    """The polynomial of degree n, truncated to an integer, at x; zero for negative degrees.

    A value above `largest` is infinite, and makes the following ones NaN.
    """

    def f(x, n, largest):
        x, n = np.broadcast_arrays(x, np.trunc(np.where(np.isfinite(n), n, -1)))
        x = 2 * x - 1 if shifted else x
        before, value = np.ones_like(x), first(x)
        result = np.where(n == 0, before, np.where(n == 1, value, 0.0))
        for k in range(1, int(min(n.max(initial=0), MOST_DEGREES))):
            before, value = value, following(k, x, value, before)
            value = np.where(np.abs(value) > largest, np.copysign(np.inf, value), value)
            result = np.where(n == k + 1, value, result)
            left = (n > k + 1) & (n <= MOST_DEGREES)
            if np.isnan(value[left]).all():  # all later ones are NaN, too
                return np.where(left, math.nan, result)
        return result

    return f


# declarations


def rounded(f, *operands, name: str) -> Tensor:
    """Compute f of the operands in float64, and round to their common floating type."""
    dtype = floating(dtypes.result_type(*operands))
    return apply(
        lambda *arrays: np.asarray(f(*(a.astype(np.float64) for a in arrays))).astype(
            arrays[0].dtype
        ),
        dtype,
        *operands,
        name=name,
        kinds="f",
    )


def largest_of(*operands) -> float:
    """The largest number of the type that polynomials of these operands are computed in."""
    dtype = floating(dtypes.result_type(*operands))
    return float(np.finfo(np.float64 if dtype.itemsize == 8 else np.float32).max)


UNARY = {
    "special_bessel_j0": bessel_j(0),
    "special_bessel_j1": bessel_j(1),
    "special_bessel_y0": bessel_y(0),
    "special_bessel_y1": bessel_y(1),
    "special_i0e": bessel_i(0, True),
    "special_i1": bessel_i(1, False),
    "special_i1e": bessel_i(1, True),
    "special_modified_bessel_i0": bessel_i(0, False),
    "special_modified_bessel_i1": bessel_i(1, False),
    "special_modified_bessel_k0": bessel_k(0, False),
    "special_modified_bessel_k1": bessel_k(1, False),
    "special_erfcx": erfcx,
    "special_log_ndtr": log_ndtr,
    "special_ndtri": ndtri,
}
UNARY_OF_X = {
    "special_airy_ai": airy_ai,
    "special_spherical_bessel_j0": spherical_bessel_j0,
    "special_scaled_modified_bessel_k0": bessel_k(0, True),
    "special_scaled_modified_bessel_k1": bessel_k(1, True),
}
for _name, _f in UNARY.items():
    declare_pointwise(_name, "", lambda self, f=_f, n=_name: rounded(f, self, name=n))
declare_pointwise("special_entr", "", entr)
for _name, _f in UNARY_OF_X.items():
    declare(
        f"aten::{_name}(Tensor x) -> Tensor",
        lambda x, f=_f, n=_name: rounded(f, x, name=n),
        "primitive",
    )
for _name, _upper in (
    ("igamma", False),
    ("special_gammainc", False),
    ("igammac", True),
    ("special_gammaincc", True),
):
    declare_pointwise(
        _name,
        "Tensor other",
        lambda self, other, f=incomplete_gamma(_upper), n=_name: rounded(f, self, other, name=n),
    )
for _name, _f in POLYNOMIALS.items():
    for _prefix in ("", "shifted_") if _name.startswith("chebyshev") else ("",):
        _whole = f"special_{_prefix}{_name}"
        _kernel = lambda x, n, f=polynomial(*_f, bool(_prefix)), name=_whole: rounded(
            lambda a, b: f(a, b, largest_of(x, n)), x, n, name=name
        )
        declare(f"aten::{_whole}(Tensor x, Tensor n) -> Tensor", _kernel, "primitive")
        declare(f"aten::{_whole}.x_scalar(Scalar x, Tensor n) -> Tensor", _kernel, "primitive")
        declare(f"aten::{_whole}.n_scalar(Tensor x, Scalar n) -> Tensor", _kernel, "primitive")
for _dot, _args in (
    ("", "Tensor self, Tensor other"),
    (".other_scalar", "Tensor self, Scalar other"),
    (".self_scalar", "Scalar self, Tensor other"),
):
    declare(
        f"aten::special_zeta{_dot}({_args}) -> Tensor",
        lambda self, other: rounded(zeta, self, other, name="zeta"),
        "primitive",
    )
declare_pointwise("mvlgamma", "int p", multivariate_lgamma)
declare_pointwise("special_multigammaln", "int p", multivariate_lgamma)


@primitive(
    "aten::polygamma(int n, Tensor self) -> Tensor",
    "aten::special_polygamma(int n, Tensor self) -> Tensor",
    pointwise=True,
)
def polygamma(n, self):
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return rounded(polygamma_of(n), self, name="polygamma")


@primitive("aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)")
def polygamma_(self, n):
    return store(self, polygamma(n, self))


@composite("aten::special_ndtr(Tensor self) -> Tensor", pointwise=True, out_memory="free")
def special_ndtr(self: Tensor) -> Tensor:
    """Rounds after each step, as PyTorch does, so that it is zero below about -6."""
    return (1 + torch.erf(self * 0.7071067811865476)) * 0.5


describe("mvlgamma", out_memory="free")
describe(
    """special_airy_ai special_chebyshev_polynomial_t special_chebyshev_polynomial_u
         special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_hermite_polynomial_h
         special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p
         special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
         special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
         special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
         special_spherical_bessel_j0 special_zeta""",
    pointwise=True,
)
