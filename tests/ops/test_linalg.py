"""Linear algebra; what is unique only up to a sign is checked by what it must satisfy."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang.ops.calling import functions as F
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("linalg")


def kinds():
    yield A.normal(4, 4)
    yield A.normal(2, 3, 3, dtype="float64")
    yield (A.normal(3, 3) + 1j * A.normal(3, 3)).astype(np.complex64)
    yield np.array([[1, 2], [2, 4]], np.float32)  # singular
    yield A.normal(4, 3)
    yield A.normal(0, 0)
    yield A.integers(0, 5, 3, 3)
    yield A.normal(3)


def samples():
    for x in kinds():
        name = (
            "linalg_inv inverse linalg_det linalg_slogdet logdet linalg_matrix_exp "
            "linalg_eigvalsh linalg_svdvals linalg_lu_factor linalg_lu"
        ).split()
        for n in name:
            yield call(n, x, tolerance=1e-4)
        for n in (-1, 0, 3):
            yield call("linalg_matrix_power", x, n, tolerance=1e-4)
        for p in (1, -1, 2, -2, np.inf, -np.inf, 7):
            yield call("linalg_matrix_norm", x, p, tolerance=1e-4)
        for p in ("fro", "nuc", "odd"):
            yield call("linalg_matrix_norm", x, p, tolerance=1e-4)
        yield call("linalg_norm", x, tolerance=1e-4)
        yield call("linalg_matrix_rank", x)
        yield call("linalg_solve", x, x, tolerance=1e-3)
        yield call("linalg_solve_triangular", x, x, upper=True, tolerance=1e-2)
        yield call("linalg_solve_triangular", x, x, upper=False, left=False, tolerance=1e-2)
    square = A.normal(3, 3)
    positive = square @ square.T + np.eye(3, dtype=np.float32)
    for upper in (False, True):
        yield call("linalg_cholesky", positive, upper=upper, tolerance=1e-4)
        yield call(
            "cholesky_solve", A.normal(3, 2), np.linalg.cholesky(positive), upper, tolerance=1e-3
        )
        yield call("cholesky_inverse", np.linalg.cholesky(positive), upper, tolerance=1e-3)
    yield call("linalg_cholesky", square)
    yield call("linalg_cholesky_ex", positive, tolerance=1e-4)
    yield call("linalg_inv_ex", square, tolerance=1e-3)
    yield call("linalg_pinv", A.normal(4, 3), tolerance=1e-4)
    yield call("linalg_cond", square, tolerance=1e-3)
    yield call("linalg_solve", square, A.normal(3), tolerance=1e-4)
    yield call("linalg_solve", square, A.normal(4))
    yield call("linalg_vander", A.normal(3))
    yield call("linalg_tensorinv", A.normal(2, 3, 6), tolerance=1e-3)
    yield call("linalg_tensorsolve", A.normal(2, 3, 6), A.normal(2, 3), tolerance=1e-3)
    yield call("linalg_householder_product", A.normal(4, 3), A.normal(3), tolerance=1e-4)
    yield call("triangular_solve", A.normal(3, 2), positive, tolerance=1e-4)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("linalg", SAMPLES)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_factorisations_multiply_to_the_matrix(shape, dtype):
    array = A.normal(*shape)
    if dtype is np.complex64:
        array = array + 1j * A.normal(*shape)
    x = from_numpy(array.astype(dtype))
    q, r = F.linalg_qr(x)
    u, s, vh = F.linalg_svd(x, False)
    p, lower, upper = F.linalg_lu(x)
    for product in (q @ r, u @ F.diag_embed(s).to(x.dtype) @ vh, p @ lower @ upper):
        np.testing.assert_allclose(product.numpy(), x.numpy(), atol=1e-4)
    identity = F.mH(q) @ q
    want = np.broadcast_to(np.eye(q.shape[-1]), identity.shape)
    np.testing.assert_allclose(identity.numpy(), want, atol=1e-4)


def test_eigenvectors_are_scaled_by_their_eigenvalues():
    x = from_numpy(A.normal(4, 4, dtype="float64"))
    values, vectors = F.linalg_eig(x)
    np.testing.assert_allclose((x.to(vectors.dtype) @ vectors).numpy(), (vectors * values).numpy())
    values, vectors = F.linalg_eigh(x @ x.T)
    np.testing.assert_allclose(((x @ x.T) @ vectors).numpy(), (vectors * values).numpy())


def test_least_squares_make_the_residual_orthogonal():
    a, b = from_numpy(A.normal(6, 3, dtype="float64")), from_numpy(A.normal(6, 2, dtype="float64"))
    solution, residuals, rank, _ = F.linalg_lstsq(a, b, driver="gelsd")
    np.testing.assert_allclose((a.T @ (a @ solution - b)).numpy(), 0, atol=1e-12)
    assert rank.item() == 3 and residuals.shape == (2,)
