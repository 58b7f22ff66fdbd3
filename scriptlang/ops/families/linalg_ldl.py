"""LDL factorization of symmetric and Hermitian matrices with Bunch-Kaufman pivoting.

The format is that of LAPACK's sytrf on the lower triangle: pivots are 1-based; two equal negative
pivots mark a 2 x 2 block on the diagonal.
"""

from __future__ import annotations

import math

import numpy as np

from ...tensors import Tensor
from ..table import declare, describe, primitive
from .linalg import by_columns, matrices, wrap

THRESHOLD = (1 + math.sqrt(17)) / 8
"""How small a diagonal element may be relative to its column; bounds the growth of elements."""


def size_of(a: np.ndarray) -> np.ndarray:
    """LAPACK's measure of magnitude when it searches a pivot."""
    return np.abs(a.real) + np.abs(a.imag)


def choose(a: np.ndarray, k: int) -> tuple[int, int]:
    """(pivot row, size of the block: 1 or 2) for step k, from the remaining lower triangle.

    (k, 0) if the column is zero, so that the matrix is singular.
    """
    here = float(size_of(a[k, k]))
    if k + 1 == len(a):
        return k, 1 if here else 0
    below = size_of(a[k + 1 :, k])
    row = k + 1 + int(below.argmax())
    most = float(below.max())
    if max(here, most) == 0 or math.isnan(here):
        return k, 0
    if here >= THRESHOLD * most:
        return k, 1
    beside = np.concatenate([size_of(a[row, k:row]), size_of(a[row + 1 :, row])]).max()
    if here * float(beside) >= THRESHOLD * most * most:
        return k, 1
    return row, 1 if float(size_of(a[row, row])) >= THRESHOLD * beside else 2


def exchange(a: np.ndarray, k: int, at: int, row: int, hermitian: bool) -> None:
    """Exchange rows and columns `at` and `row` of the lower triangle, from column k on."""
    turn = np.conj if hermitian else np.asarray
    a[row + 1 :, [at, row]] = a[row + 1 :, [row, at]]
    between = turn(a[at + 1 : row, at].copy())
    a[at + 1 : row, at] = turn(a[row, at + 1 : row])
    a[row, at + 1 : row] = between
    a[row, at] = turn(a[row, at])
    a[[at, row], [at, row]] = a[[row, at], [row, at]]
    if at > k:
        a[[at, row], k] = a[[row, at], k]


def factor(a: np.ndarray, hermitian: bool) -> tuple[np.ndarray, int]:
    """Factor one matrix in place; return (pivots, 1 + the index of the first zero pivot, or 0)."""
    n, k, info = len(a), 0, 0
    pivots = np.zeros(n, np.int32)
    if hermitian:
        a[np.diag_indices(n)] = a.diagonal().real
    while k < n:
        row, width = choose(a, k)
        if not width:
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        at = k + width - 1
        if row != at:
            exchange(a, k, at, row, hermitian)
        rest, block = slice(at + 1, n), slice(k, at + 1)
        columns = a[rest, block].copy()
        if len(columns):
            a[rest, block] = np.linalg.solve(middle(a[block, block], hermitian).T, columns.T).T
            turned = columns.conj() if hermitian else columns
            a[rest, rest] -= np.tril(a[rest, block] @ turned.T)
        if hermitian:
            a[np.diag_indices(n)] = a.diagonal().real
        pivots[block] = row + 1 if width == 1 else -(row + 1)
        k += width
    return pivots, info


def middle(block: np.ndarray, hermitian: bool) -> np.ndarray:
    """A 1 x 1 or 2 x 2 block on the diagonal, completed from its lower triangle."""
    lower = np.tril(block, -1)
    return np.tril(block) + (lower.conj().T if hermitian else lower.T)


@primitive(
    "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, "
    "bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    out_memory="free",
)
def ldl_factor_ex(self, hermitian, check_errors):
    (a,) = matrices("torch.linalg.ldl_factor_ex", self, square=True)
    data = np.tril(a)
    pivots, info = np.zeros(a.shape[:-1], np.int32), np.zeros(a.shape[:-2], np.int32)
    for i in np.ndindex(a.shape[:-2]):
        pivots[i], info[i] = factor(data[i], hermitian and data.dtype.kind == "c")
    if check_errors and info.any():
        raise RuntimeError(
            f"torch.linalg.ldl_factor_ex: D[{info.max()},{info.max()}] is zero: the "
            "matrix is singular"
        )
    return by_columns(data), wrap(pivots), wrap(info)


declare(
    "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    lambda self, hermitian: ldl_factor_ex(self, hermitian, True)[:2],
    "primitive",
)


@primitive(
    "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    out_memory="free",
)
def ldl_solve(LD, pivots, B, hermitian):
    (a,) = matrices("torch.linalg.ldl_solve", LD, square=True)
    check_solve(LD, pivots, B)
    batch = np.broadcast_shapes(a.shape[:-2], B._size[:-2])
    x = np.array(np.broadcast_to(B._array, (*batch, *B._size[-2:])))
    data = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    places = np.broadcast_to(pivots._array, (*batch, a.shape[-1]))
    for i in np.ndindex(batch):
        solve(data[i], places[i], x[i], hermitian and a.dtype.kind == "c")
    return by_columns(x)


def check_solve(LD: Tensor, pivots: Tensor, B: Tensor) -> None:
    if B.dim() < 2:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but "
            f"it has {B.dim()} dimensions instead"
        )
    if pivots._size != LD._size[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be "
            f"the same, but got pivots with shape {list(pivots._size)} instead"
        )
    if pivots.dtype.kind not in "ui":
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype}"
        )
    if LD.dtype is not B.dtype:
        raise RuntimeError(
            "Expected b and A to have the same dtype, but found b of type "
            f"{B.dtype} and A of type {LD.dtype} instead."
        )
    if LD._size[-1] != B._size[-2]:
        raise RuntimeError(
            "Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is "
            f"{LD._size[-1]} by {LD._size[-1]} but each b matrix is {B._size[-2]} "
            f"by {B._size[-1]}"
        )
    order = np.abs(pivots._array.astype(np.int64))
    if order.size and (order.min() < 1 or order.max() > LD._size[-1]):
        raise RuntimeError(
            "torch.linalg.ldl_solve: pivots must be what ldl_factor gave: between 1 "
            f"and {LD._size[-1]}, or their negatives"
        )


def solve(a: np.ndarray, pivots: np.ndarray, x: np.ndarray, hermitian: bool) -> None:
    """Solve in place: the columns of x are right-hand sides, and become the solutions."""
    n, k, blocks = len(a), 0, []
    while k < n:
        width = 2 if pivots[k] < 0 and k + 1 < n else 1
        block, row, last = slice(k, k + width), abs(int(pivots[k])) - 1, k + width - 1
        blocks.append((block, row, last))
        x[[last, row]] = x[[row, last]]
        x[last + 1 :] -= a[last + 1 :, block] @ x[block]
        with np.errstate(all="ignore"):
            d = middle(a[block, block], hermitian)
            x[block] = x[block] / d if width == 1 else np.linalg.solve(d, x[block])
        k += width
    for block, row, last in reversed(blocks):
        under = a[last + 1 :, block]
        x[block] -= (under.conj().T if hermitian else under.T) @ x[last + 1 :]
        x[[last, row]] = x[[row, last]]


describe("linalg_ldl_factor", out_memory="free")
