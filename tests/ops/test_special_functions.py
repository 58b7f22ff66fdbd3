"""Special functions: PyTorch's values, and identities where ours are the more accurate."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang.ops.calling import functions as F
from scriptlang.ops.families import special_functions
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("special")
SPECIAL = np.array([0.0, -0.0, 1, -1, 0.5, 2.5, np.inf, -np.inf, np.nan, 20, 1e-6], np.float32)
AT_INFINITY = {
    "special_airy_ai",
    "special_bessel_y0",
    "special_bessel_y1",
    "special_bessel_j0",
    "special_bessel_j1",
    "special_i1",
    "special_i1e",
    "special_i0e",
    "special_erfcx",
    "special_modified_bessel_i0",
    "special_modified_bessel_i1",
    "special_log_ndtr",
    "special_modified_bessel_k0",
    "special_modified_bessel_k1",
    "special_scaled_modified_bessel_k0",
    "special_scaled_modified_bessel_k1",
}
"""Functions that PyTorch leaves to overflow at infinity."""


def samples():
    for name in [
        *special_functions.UNARY,
        *special_functions.UNARY_OF_X,
        "special_ndtr",
        "special_entr",
    ]:
        for x in (
            A.normal(3, 4) * 4,
            A.uniform(5),
            A.uniform(4, dtype="float64") * 8,
            A.integers(1, 6, 4),
        ):
            yield call(name, x, tolerance=1e-4)
        yield call(
            name, SPECIAL[np.isfinite(SPECIAL)] if name in AT_INFINITY else SPECIAL, tolerance=1e-4
        )
    for name in special_functions.POLYNOMIALS:
        for x in (A.normal(6), A.uniform(6, dtype="float64")):
            degrees = np.array([0, 1, 2, 3, 7, -1], np.float32)
            yield call(f"special_{name}", x, degrees, tolerance=1e-4)
            yield call(f"special_{name}", x, 4, tolerance=1e-4)
    for name in ("igamma", "igammac"):
        yield call(name, A.uniform(5) * 5, A.uniform(5) * 5)
        yield call(
            name,
            np.array([0, 0, 1, -1, 5, 30], np.float32),
            np.array([0, 1, 0, 1, np.inf, 29], np.float32),
        )
    for n in (0, 1, 2, 5):
        yield call("polygamma", n, A.uniform(5) * 5 + 0.1, tolerance=1e-3)
    yield call("special_zeta", A.uniform(5) * 4 + 1.1, A.uniform(5) * 5 + 0.1, tolerance=1e-4)
    yield call("special_zeta", np.array([1.0, 0.5, 2, 3], np.float32), 0.0)
    yield call("mvlgamma", A.uniform(4) + 3, 3, tolerance=1e-4)
    yield call("mvlgamma", A.uniform(4), 0)
    x = np.array([-1113, 1113, 1113, 0, 1, 5])
    n = np.array([1113, -10701, 10701, 7, 3, 2])
    for name in "chebyshev_polynomial_t chebyshev_polynomial_w hermite_polynomial_h".split():
        yield call(f"special_{name}", x, n, tolerance=1e-4)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("special_functions", SAMPLES)


@pytest.mark.parametrize("x", [0.5, 3.0, 12.0, 15.99, 16.01, 40.0])
def test_bessel_functions_satisfy_their_wronskian(x):
    """J1(x) Y0(x) - J0(x) Y1(x) = 2 / (pi x) (9.1.16)."""
    t = from_numpy(np.array([x]))
    j0, j1 = F.special_bessel_j0(t).item(), F.special_bessel_j1(t).item()
    y0, y1 = F.special_bessel_y0(t).item(), F.special_bessel_y1(t).item()
    assert j1 * y0 - j0 * y1 == pytest.approx(2 / (np.pi * x), rel=1e-8)


@pytest.mark.parametrize("x", [0.25, 2.0, 20.0])
def test_modified_bessel_functions_satisfy_theirs(x):
    """I0(x) K1(x) + I1(x) K0(x) = 1 / x (9.6.15)."""
    t = from_numpy(np.array([x]))
    i0, i1 = F.special_modified_bessel_i0(t).item(), F.special_modified_bessel_i1(t).item()
    k0, k1 = F.special_modified_bessel_k0(t).item(), F.special_modified_bessel_k1(t).item()
    assert i0 * k1 + i1 * k0 == pytest.approx(1 / x, rel=1e-12)


def test_the_normal_distribution_and_its_inverse():
    p = from_numpy(np.array([1e-12, 1e-3, 0.3, 0.5, 0.99]))
    again = F.special_ndtr(F.special_ndtri(p)).numpy()
    # One is added before halving, as PyTorch does: the last bit of one is the limit.
    np.testing.assert_allclose(again, p.numpy(), rtol=1e-9, atol=2.0**-53)
