"""What is defined of a decomposition: vectors of equal values have any sign and basis, and the
order of complex eigenvalues is nobody's promise; products and singular values are what they are.

`canonical` puts that in the place of the factors.  Of matrices that are infinite, or too near to
singular for an answer, sizes and types are left.
"""

from __future__ import annotations

from typing import Callable

import numpy as np

from scriptlang.ops import table

WELL = 1e-3
"""Least singular value, in parts of the largest, of a matrix that is well conditioned."""


def canonical(overload: str, outcome: tuple) -> tuple:
    """An outcome with what is defined of it; itself for operators that decompose nothing."""
    name, _, short = overload.partition(".")
    if outcome[0] == "ok" and name.removeprefix("aten::") in RANKED:
        return ranked(table.find(name, short).schema, outcome)
    defined = TABLE.get(name.partition("::")[2].strip("_"))
    if outcome[0] != "ok" or defined is None:
        return outcome
    schema = table.find(name, short).schema
    result = (
        outcome[1]
        if isinstance(outcome[1], (list, tuple)) and outcome[1][:1] != ("tensor",)
        else [outcome[1]]
    )
    given = dict(zip((a.name for a in schema.arguments), outcome[2]))
    a = given.get("A", given.get("self", given.get("input")))
    kinds = [v[:3] for v in result if _is_tensor(v)]
    left = [v for a, v in zip(schema.arguments, outcome[2]) if not (a.alias and a.alias.is_write)]
    answer = []
    if (
        _is_tensor(a)
        and a[3].ndim >= 2
        and a[3].size
        and np.isfinite(a[3]).all()
        and all(v[3].shape == v[2] for v in result if _is_tensor(v))
    ):
        with np.errstate(all="ignore"):
            made = defined(_wide(a), [_wide(v) if _is_tensor(v) else v for v in result], given)
        answer = [("tensor", a[1], v.shape, v) if isinstance(v, np.ndarray) else v for v in made]
    return outcome[0], [kinds, *answer], left, outcome[3]


RANKED = ("sort", "argsort", "topk", "kthvalue")
"""Operators that say where elements stand: where equal ones do is nobody's promise, unless a call
asks for it."""


def ranked(schema, outcome: tuple) -> tuple:
    """An outcome whose places are the elements that stand there."""
    given = dict(zip((a.name for a in schema.arguments), outcome[2]))
    x, dim = given.get("self"), given.get("dim", -1)
    if given.get("stable") or not _is_tensor(x):  # or it sorts a list
        return outcome
    if x[3].shape != x[2]:  # of a large tensor there are samples alone
        return outcome
    results = [outcome[1]] if _is_tensor(outcome[1]) else list(outcome[1])
    places = results[-1]
    rows, at = np.atleast_1d(x[3]), np.atleast_1d(places[3])
    if at.ndim < rows.ndim:  # of kthvalue that keeps no dimension
        at = np.expand_dims(at, dim)
    if at.size and (at.min() < 0 or at.max() >= rows.shape[dim]):
        return outcome
    found = np.take_along_axis(rows, at.astype(np.int64), dim).reshape(places[2])
    written = [
        v for a, v in zip(schema.arguments, outcome[2]) if not (a.alias and a.alias.is_write)
    ]
    return (
        outcome[0],
        [places[1], *results[:-1], ("tensor", x[1], places[2], found)],
        written,
        outcome[3],
    )


def _is_tensor(value) -> bool:
    return type(value) is tuple and len(value) == 4 and value[0] == "tensor"


def _wide(value: tuple) -> np.ndarray:
    return value[3].astype(np.complex128 if value[3].dtype.kind == "c" else np.float64)


def _adjoint(a: np.ndarray) -> np.ndarray:
    return a.conj().swapaxes(-1, -2)


def _singular(a, result, given):
    """Singular values, and what the factors multiply to."""
    u, s, v = result
    if not given.get("compute_uv", True):
        return [s]
    k = s.shape[-1]
    vh = v if "full_matrices" in given else _adjoint(v)
    return [s, (u[..., :, :k] * s[..., None, :]) @ vh[..., :k, :]]


def _symmetric(a, result, given):
    """Eigenvalues, which are sorted, and what the factors multiply to."""
    values = result[0]
    if len(result) < 2 or not result[1].size:
        return [values]
    return [values, (result[1] * values[..., None, :]) @ _adjoint(result[1])]


def _eigen(a, result, given):
    """Sums of powers of eigenvalues, in any order, and what vectors leave."""
    if len(result) > 1 and result[1].ndim != result[0].ndim + 1:
        return []  # one tensor is both outputs
    values = result[0] / max(np.abs(a).max(), 1e-300)
    sums = [(values**k).sum(-1) for k in range(1, values.shape[-1] + 1)]
    left = (
        []
        if len(result) < 2
        else [
            np.round(
                np.abs(a @ result[1] - result[1] * result[0][..., None, :]).max()
                / max(np.abs(a).max(), 1e-300),
                2,
            )
        ]
    )
    return [np.stack(sums, -1), *left]


def _orthogonal(a, result, given):
    """The product, and R^H R, which is A^H A."""
    q, r = result
    return [_adjoint(r) @ r, *([q @ r] if q.size else [])]


def _reflectors(a, result, given):
    """Of what geqrf gives, R^H R."""
    r = np.triu(result[0])[..., : min(a.shape[-2:]), :]
    return [_adjoint(r) @ r]


def _factored(a, result, given):
    """Which matrices are positive-definite, and the factors of those."""
    return [result[1], np.where(result[1][..., None, None] == 0, result[0], 0)]


def _well(a, result, given):
    """Everything, where the matrix is well conditioned and no tolerance is asked for."""
    values = np.linalg.svd(a, compute_uv=False)
    asked = any(given.get(n) is not None for n in ("rcond", "atol", "rtol", "tol"))
    low = values.min(-1, initial=np.inf) < WELL * values.max(-1, initial=0)
    return [] if asked or np.any(low) else list(result)


TABLE: dict[str, Callable] = {
    "svd": _singular,
    "linalg_svd": _singular,
    "linalg_eigh": _symmetric,
    "linalg_eig": _eigen,
    "linalg_eigvals": _eigen,
    "linalg_cholesky_ex": _factored,
    "qr": _orthogonal,
    "linalg_qr": _orthogonal,
    "geqrf": _reflectors,
    "pinverse": _well,
    "linalg_pinv": _well,
    "linalg_cond": _well,
    "linalg_matrix_rank": _well,
    "matrix_rank": _well,
    "linalg_lstsq": _well,
    "cholesky_inverse": _well,
    "linalg_solve_ex": _well,
}
"""Operator -> what is defined of (matrix, results, arguments by name)."""
