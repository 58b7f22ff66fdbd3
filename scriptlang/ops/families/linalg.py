"""Solving, inverting and factoring matrices, which are the last two dimensions of batches."""

from __future__ import annotations

import contextlib
import math

import numpy as np

from ... import dtypes
from ...tensors import Tensor
from ..shared.elementwise import DISPLAY
from ..shared.layout import rows
from ..shared.numeric import check_floating
from ..table import declare, describe, primitive

REAL = {"complex64": np.float32, "complex128": np.float64}


def real_type(a: np.ndarray) -> np.dtype:
    """The type of the real and imaginary parts of complex numbers; a real type itself."""
    return np.dtype(REAL.get(a.dtype.name, a.dtype))


def matrices(name: str, *tensors: Tensor, square: bool = False) -> list[np.ndarray]:
    """The arrays of batches of matrices.  Raises RuntimeError unless they are float or complex."""
    for x in tensors:
        if x.dim() < 2:
            raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
        if square and x._size[-1] != x._size[-2]:
            raise RuntimeError(
                f"{name}: A must be batches of square matrices, but they are "
                f"{x._size[-2]} by {x._size[-1]} matrices"
            )
        if x.dtype.kind not in "fc":
            raise RuntimeError(
                f"{name}: Expected a floating point or complex tensor as input. Got "
                f"{DISPLAY[x.dtype.name]}"
            )
        if dtypes.is_half(x.dtype):
            raise RuntimeError(
                f"{name}: Low precision dtypes not supported. Got {DISPLAY[x.dtype.name]}"
            )
    return [x._array for x in tensors]


def check_same(name: str, a: Tensor, b: Tensor) -> None:
    """Raise RuntimeError unless both sides of an equation have the same element type."""
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type "
            f"{DISPLAY[a.dtype.name]} and B of type {DISPLAY[b.dtype.name]} instead"
        )


def columns_first(a: np.ndarray) -> np.ndarray:
    """The matrices in column-major order, as LAPACK stores its results."""
    return np.swapaxes(np.ascontiguousarray(np.swapaxes(a, -1, -2)), -1, -2)


def wrap(a, of: np.ndarray | None = None) -> Tensor:
    """A result as a row-major tensor, with the element type of `of` if given."""
    a = np.asarray(a)
    return Tensor._wrap(rows(a if of is None else a.astype(of.dtype, copy=False)))


def by_columns(a: np.ndarray, of: np.ndarray | None = None) -> Tensor:
    """Matrices as a tensor with column-major matrices."""
    return Tensor._wrap(columns_first(a if of is None else a.astype(of.dtype, copy=False)))


def adjoint(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a.conj(), -1, -2)


def singular(name: str, batch: bool, index: int = 0) -> RuntimeError:
    where = f"(Batch element {index}): " if batch else ""
    return RuntimeError(
        f"{name}: {where}The diagonal element is zero, the inversion could not be "
        "completed because the input matrix is singular."
    )


# inverses and solutions


@primitive(
    "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    out_memory="free",
)
def inv_ex(A, check_errors):
    (a,) = matrices("linalg.inv", A, square=True)
    info = zero_pivots(a)
    if check_errors and info.any():
        raise singular("linalg.inv", a.ndim > 2, int(np.argmax(info.reshape(-1) > 0)))
    safe = np.where((info > 0)[..., None, None], np.eye(a.shape[-1], dtype=a.dtype), a)
    value = np.where((info > 0)[..., None, None], np.inf, np.linalg.inv(safe)) if a.size else a
    return by_columns(value.astype(a.dtype)), wrap(info)


@primitive(
    "aten::linalg_inv(Tensor A) -> Tensor",
    "aten::inverse(Tensor self) -> Tensor",
    shape="like_first",
)
def inv(A):
    return inv_ex(A, True)[0]


def zero_pivots(a: np.ndarray) -> np.ndarray:
    """LAPACK's info for an LU factorization: 1 + the index of the first zero pivot, or 0."""
    lu, _ = factored(a, True)
    diagonal = np.diagonal(lu, axis1=-2, axis2=-1) == 0
    if not diagonal.shape[-1]:
        return np.zeros(a.shape[:-2], np.int32)
    return np.where(diagonal.any(-1), diagonal.argmax(-1) + 1, 0).astype(np.int32)


def is_vector(a: Tensor, b: Tensor) -> bool:
    """Whether the right-hand side is a batch of vectors rather than matrices."""
    return b.dim() == 1 or (a.dim() - 1 == b.dim() and b._size == a._size[:-1])


def solve_ex(A, B, left, check_errors):
    (a,) = matrices("linalg.solve", A, square=True)
    check_same("linalg.solve", A, B)
    vector = is_vector(A, B)
    b = B._array[..., None] if vector else B._array
    if not left:
        a, b = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B "
            f"({list(A._size)} and {list(B._size)})"
        )
    info = zero_pivots(a)
    if check_errors and info.any():
        raise RuntimeError(
            "torch.linalg.solve: The solver failed because the input matrix is singular."
        )
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not math.prod(batch) or not b.size:
        value = np.zeros((*batch, *b.shape[-2:]), a.dtype)
    else:
        with np.errstate(all="ignore"):
            value = (
                np.linalg.solve(
                    np.broadcast_to(a, (*batch, *a.shape[-2:])),
                    np.broadcast_to(b, (*batch, *b.shape[-2:])),
                )
                if not info.any()
                else np.full((*batch, *b.shape[-2:]), np.inf)
            )
    value = value.astype(A._array.dtype, copy=False)
    if vector:
        value = value if left else np.swapaxes(value, -1, -2)
        return laid_vectors(value[..., 0]), wrap(info)
    return (by_columns(value) if left else wrap(np.swapaxes(value, -1, -2))), wrap(info)


def laid_vectors(x: np.ndarray) -> Tensor:
    """Vectors as a tensor in the layout that PyTorch gives them: as if they were matrices."""
    return by_columns(x) if x.ndim > 1 else wrap(x)


declare(
    "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)"
    " -> (Tensor result, Tensor info)",
    solve_ex,
    "primitive",
)
declare(
    "aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    lambda A, B, left: solve_ex(A, B, left, True)[0],
    "primitive",
)


def triangle(a: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    a = np.triu(a) if upper else np.tril(a)
    if unit:
        i = np.arange(a.shape[-1])
        a[..., i, i] = 1
    return a


@primitive(
    "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, "
    "bool unitriangular=False) -> Tensor",
    out_memory="free",
)
def solve_triangular(self, B, upper, left, unitriangular):
    a, b = matrices("linalg.solve_triangular", self, B)
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            "linalg.solve_triangular: A must be batches of square matrices, but "
            f"they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    if not left:
        result = solve_triangular(
            Tensor._wrap(np.swapaxes(a, -1, -2)),
            Tensor._wrap(np.swapaxes(b, -1, -2)),
            not upper,
            True,
            unitriangular,
        )
        return by_columns(np.swapaxes(result._array, -1, -2))
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            "linalg.solve_triangular: Incompatible shapes of A and B for the "
            f"equation AX = B ({a.shape[-2]}x{a.shape[-1]} and "
            f"{b.shape[-2]}x{b.shape[-1]})"
        )
    return by_columns(substitute(triangle(a, upper, unitriangular), b, upper), a)


def substitute(a: np.ndarray, b: np.ndarray, upper: bool) -> np.ndarray:
    """Solve triangular equations by substitution, row by row."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    n = a.shape[-1]
    with np.errstate(all="ignore"):
        for i in range(n - 1, -1, -1) if upper else range(n):
            known = slice(i + 1, n) if upper else slice(0, i)
            rest = a[..., i : i + 1, known] @ x[..., known, :]
            x[..., i, :] = (x[..., i, :] - rest[..., 0, :]) / a[..., i, i][..., None]
    return x


@primitive(
    "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
    "bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)"
)
def triangular_solve(self, A, upper, transpose, unitriangular):
    matrices("triangular_solve", A, square=True)
    if self.dim() < 2 or self._size[-2] != A._size[-1] or self.dtype is not A.dtype:
        raise RuntimeError(
            f"triangular_solve: Incompatible A {list(A._size)} and b {list(self._size)}"
        )
    a = triangle(A._array.copy(), upper, unitriangular)
    turned = np.swapaxes(a, -1, -2) if transpose else a
    batch = np.broadcast_shapes(A._size[:-2], self._size[:-2])
    x = substitute(turned, self._array, upper != transpose)
    clone = np.array(np.broadcast_to(A._array, (*batch, *A._size[-2:])))
    return by_columns(x), by_columns(clone)


# LU


def factored(a: np.ndarray, pivot: bool) -> tuple[np.ndarray, np.ndarray]:
    """(LU, 1-based pivots) of batches of matrices, by partial pivoting of rows."""
    lu = np.array(a)
    m, n = lu.shape[-2:]
    k = min(m, n)
    flat = lu.reshape(-1, m, n) if lu.size else lu.reshape(math.prod(a.shape[:-2]), m, n)
    pivots = np.tile(np.arange(1, k + 1, dtype=np.int32), (len(flat), 1))
    rows = np.arange(len(flat))
    with np.errstate(all="ignore"):
        for j in range(k if flat.size else 0):
            if pivot:
                column = flat[:, j:, j]  # LAPACK's magnitude
                p = (np.abs(column.real) + np.abs(column.imag)).argmax(1) + j
                pivots[:, j] = p + 1
                flat[rows, j], flat[rows, p] = flat[rows, p].copy(), flat[rows, j].copy()
            there = flat[:, j, j] != 0
            scale = np.where(there, flat[:, j, j], 1)[:, None]
            flat[:, j + 1 :, j] = np.where(
                there[:, None] | (not pivot), flat[:, j + 1 :, j] / scale, flat[:, j + 1 :, j]
            )
            flat[:, j + 1 :, j + 1 :] -= flat[:, j + 1 :, j, None] * flat[:, j, None, j + 1 :]
    return flat.reshape(a.shape), pivots.reshape(*a.shape[:-2], k)


def permutation(pivots: np.ndarray, m: int) -> np.ndarray:
    """The permutation of rows that a sequence of exchanges produces."""
    if pivots.size and (pivots.min() < 1 or pivots.max() > m):
        raise RuntimeError("pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive")
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = np.tile(np.arange(m), (len(flat), 1))
    rows = np.arange(len(flat))
    for i in range(flat.shape[1]):
        p = flat[:, i] - 1
        order[rows, i], order[rows, p] = order[rows, p].copy(), order[rows, i].copy()
    return order.reshape(*pivots.shape[:-1], m)


@primitive(
    "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False)"
    " -> (Tensor LU, Tensor pivots, Tensor info)",
    out_memory="free",
)
def lu_factor_ex(A, pivot, check_errors):
    (a,) = matrices("linalg.lu_factor", A)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    lu, pivots = factored(a, True)
    zero = np.diagonal(lu, axis1=-2, axis2=-1) == 0
    info = (
        np.where(zero.any(-1), zero.argmax(-1) + 1, 0).astype(np.int32)
        if zero.shape[-1]
        else np.zeros(a.shape[:-2], np.int32)
    )
    if check_errors and info.any():
        raise RuntimeError(
            f"torch.linalg.lu_factor: U[{info.max()},{info.max()}] is zero and "
            "using it on lu_solve would result in a division by zero."
        )
    return by_columns(lu), wrap(pivots), wrap(info)


declare(
    "aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    lambda A, pivot: lu_factor_ex(A, pivot, True)[:2],
    "primitive",
)
declare(
    "aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True)"
    " -> (Tensor LU, Tensor pivots, Tensor info)",
    lambda self, pivot, check_errors: lu_factor_ex(self, pivot, False),  # as in PyTorch
    "primitive",
)


def lu_parts(lu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(L with ones on its diagonal, U) of a factorization."""
    k = min(lu.shape[-2:])
    lower = np.tril(lu[..., :, :k], -1) + np.eye(lu.shape[-2], k, dtype=lu.dtype)
    return lower, np.triu(lu[..., :k, :])


def permutation_matrix(order: np.ndarray, dtype) -> np.ndarray:
    return np.swapaxes(np.eye(order.shape[-1], dtype=dtype)[order], -1, -2)


@primitive(
    "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, "
    "bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)"
)
def lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots):
    if LU_data.dim() < 2:
        raise RuntimeError(
            "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(LU_data._size)} instead"
        )
    if unpack_pivots and LU_pivots.dtype.name != "int32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype"
        )
    lu = LU_data._array
    nothing = np.empty(0, lu.dtype)
    lower, upper = lu_parts(lu) if unpack_data else (nothing, nothing)
    pivots = LU_pivots._array
    if unpack_pivots:  # one per matrix, or one for all
        pivots = np.broadcast_to(pivots, (*lu.shape[:-2], *pivots.shape[-1:]))
    p = (
        permutation_matrix(permutation(pivots, lu.shape[-2]), lu.dtype)
        if unpack_pivots
        else nothing
    )
    return wrap(np.array(p, order="C")), wrap(lower), wrap(upper)


@primitive(
    "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    out_memory="free",
)
def lu(A, pivot):
    data, pivots, _ = lu_factor_ex(A, pivot, False)
    return lu_unpack(data, pivots, True, True)


@primitive(
    "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, "
    "bool adjoint=False) -> Tensor",
    out_memory="free",
)
def lu_solve(LU, pivots, B, left, adjoint):
    if LU.dtype is not B.dtype:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU and B to have the same dtype, but found "
            f"LU of type {LU.dtype.name} and B of type {B.dtype.name} instead"
        )
    if LU._size[:-1] != pivots._size:
        raise RuntimeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
            "matrix"
            if pivots._size[-1:] != LU._size[-1:]
            else "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {list(pivots._size)} instead"
        )
    lower, upper = lu_parts(LU._array)
    a = permutation_matrix(permutation(pivots._array, LU._size[-1]), LU.dtype.numpy) @ lower @ upper
    a = np.swapaxes(a.conj(), -1, -2) if adjoint else a
    b = B._array
    value = (
        np.linalg.solve(a, b)
        if left
        else np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    )
    return by_columns(value, LU._array) if left else wrap(value, LU._array)


declare(
    "aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    lambda self, data, pivots: lu_solve(data, pivots, self, True, False),
    "primitive",
)


# determinants


@primitive("aten::linalg_det(Tensor A) -> Tensor", "aten::det(Tensor self) -> Tensor")
def det(A):
    (a,) = matrices("linalg.det", A, square=True)
    return wrap(np.linalg.det(a), a)


@primitive(
    "aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    "aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
)
def slogdet(A):
    (a,) = matrices("linalg.slogdet", A, square=True)
    sign, size = np.linalg.slogdet(a)
    lost = a.dtype.type(0 if a.dtype.kind == "f" else np.nan)  # the sign of NaN
    sign = np.where(np.isnan(size), lost, sign)
    return wrap(sign, a), wrap(np.asarray(size).astype(real_type(a)))


@primitive("aten::logdet(Tensor self) -> Tensor")
def logdet(self):
    (a,) = matrices("logdet", self, square=True)
    sign, size = np.linalg.slogdet(a)
    with np.errstate(all="ignore"):
        return wrap(np.log(sign) + size, a)


# Cholesky


@primitive(
    "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False)"
    " -> (Tensor L, Tensor info)",
    out_memory="free",
)
def cholesky_ex(self, upper, check_errors):
    (a,) = matrices("linalg.cholesky", self, square=True)
    a = np.swapaxes(a, -1, -2).conj() if upper else a
    factor, info = np.zeros_like(a), np.zeros(a.shape[:-2], np.int32)
    for i in np.ndindex(a.shape[:-2]):
        info[i] = (
            next((k for k in range(1, a.shape[-1] + 1) if not is_positive(a[i][:k, :k])), 0)
            if a[i].size and not is_positive(a[i])
            else 0
        )
        if info[i] == 0 and a[i].size:
            factor[i] = np.linalg.cholesky(a[i])
        elif info[i] and check_errors:
            where = f"(Batch element {i[0]}): " if i else ""
            raise RuntimeError(
                f"linalg.cholesky: {where}The factorization could not be completed "
                "because the input is not positive-definite (the leading minor of "
                f"order {info[i]} is not positive-definite)."
            )
    return by_columns(adjoint(factor) if upper else factor), wrap(info)


def is_positive(a: np.ndarray) -> bool:
    try:
        np.linalg.cholesky(a)
        return True
    except np.linalg.LinAlgError:
        return False


declare(
    "aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    lambda self, upper: cholesky_ex(self, upper, True)[0],
    "primitive",
)
declare(
    "aten::cholesky(Tensor self, bool upper=False) -> Tensor",
    lambda self, upper: cholesky_ex(self, upper, True)[0],
    "primitive",
)


@primitive(
    "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    out="converts",
    out_memory="free",
)
def cholesky_solve(self, input2, upper):
    matrices("cholesky_solve", input2, square=True)
    check_floating("cholesky_solve", input2)
    if self.dim() < 2:
        raise RuntimeError(
            f"b should have at least 2 dimensions, but has {self.dim()} dimensions instead"
        )
    if self.dtype is not input2.dtype:
        raise RuntimeError(
            "Expected b and A to have the same dtype, but found b of type "
            f"{self.dtype} and A of type {input2.dtype} instead."
        )
    u = triangle(input2._array.copy(), upper, False)
    a = adjoint(u) @ u if upper else u @ adjoint(u)
    try:
        return by_columns(np.linalg.solve(a, self._array), self._array)
    except np.linalg.LinAlgError:  # zero on a diagonal: solve the others one by one
        return by_columns(solved_where_possible(a, self._array), self._array)


def solved_where_possible(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solutions of a x = b; NaN for singular matrices, as after a division by zero."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = np.broadcast_to(a, (*lead, *a.shape[-2:]))
    b = np.broadcast_to(b, (*lead, *b.shape[-2:]))
    x = np.full(b.shape, np.nan, b.dtype)
    for at in np.ndindex(lead):
        with contextlib.suppress(np.linalg.LinAlgError):
            x[at] = np.linalg.solve(a[at], b[at])
    return x


@primitive(
    "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    out="converts",
    out_memory="free",
)
def cholesky_inverse(self, upper):
    matrices("cholesky_inverse", self, square=True)
    check_floating("cholesky_inverse", self)
    zero = (np.diagonal(self._array, axis1=-2, axis2=-1) == 0).reshape(-1)
    if zero.any():
        raise RuntimeError(
            f"cholesky_inverse: The diagonal element {int(zero.argmax()) % self._size[-1] + 1} is "
            "zero, the inversion could not be completed because the input matrix is singular."
        )
    u = triangle(self._array.copy(), upper, False)
    a = adjoint(u) @ u if upper else u @ adjoint(u)
    return by_columns(np.linalg.inv(a), self._array)


describe(
    """cholesky linalg_cholesky linalg_det linalg_inv linalg_lu_factor linalg_slogdet
         linalg_solve linalg_solve_ex lu_solve""",
    out_memory="free",
)
describe("cholesky", shape="like_first")
