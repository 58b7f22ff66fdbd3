"""Products of a matrix that is turned, as in the gradients of weights: natively, deep and wide."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang
from scriptlang import relu
from scriptlang.ops.calling import functions as torch


def turned(a, b, c):
    sums = torch.addmm(c, a.t(), b)
    return torch.mm(a.t(), b), relu(sums) - relu(-sums), b.t().matmul(a)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k, m, n", [(2500, 70, 1300), (1030, 33, 49), (40, 100, 130), (99, 9, 7)])
def test_products(k, m, n, dtype):
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=s).astype(dtype) for s in ((k, m), (k, n), (n,)))
    want = a.astype("float64").T @ b.astype("float64")
    tolerance = 1e-3 if dtype == "float32" else 1e-10
    program = scriptlang.script(turned, engine="native")
    plain, added, other = program(*map(scriptlang.from_numpy, (a, b, c)))
    np.testing.assert_allclose(plain.numpy(), want, tolerance, tolerance)
    np.testing.assert_allclose(added.numpy(), want + c, tolerance, tolerance)
    np.testing.assert_allclose(other.numpy(), want.T, tolerance, tolerance)
