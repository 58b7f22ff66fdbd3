"""Matrix products of every pair of ranks, with numbers of all kinds."""

from __future__ import annotations

import numpy as np

import scriptlang
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("matmul")
PAIRS = (
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((2, 3), (4, 5)),
    ((), (3,)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
)
EQUATIONS = (
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ii", (3, 3)),
    ("bij , bjk -> bik", (5, 2, 3), (5, 3, 4)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("ii->i", (3, 3)),
    ("ij->ji", (2, 3)),
    ("i,j", (2,), (3,)),
    ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("ij,jk,kl", (2, 3), (3, 4), (4, 5)),
    ("ij,jk", (2, 3), (4, 4)),
    ("ij,jk", (2, 3)),
)

BYTES = (
    ("ij->", (1, 1)),
    ("ij->i", (2, 1)),
    ("ij,jk->i", (2, 2), (2, 1)),
    ("ij,jk->i", (2, 2), (2, 2)),
    ("i,j->", (2,), (2,)),
    ("i,i->", (1,), (2,)),
    ("i,i->", (2,), (2,)),
    ("ii->", (2, 2)),
    ("i,j->j", (2,), (2,)),
    ("i,j,k->j", (2,), (2,), (2,)),
)
"""Equations whose sums, of int8, have the type of PyTorch's sums, or of its products."""


def samples():
    for a, b in PAIRS:
        for name in ("matmul", "mm", "bmm", "mv", "dot", "inner", "outer", "kron"):
            yield call(name, A.normal(*a), A.normal(*b))
        yield call("matmul", A.integers(-9, 9, *a), A.integers(-9, 9, *b))
    for alpha, beta in ((1, 1), (2, 0), (0.5, 3)):
        scale = {"alpha": alpha, "beta": beta}
        m, n = A.normal(2, 3), A.normal(3, 4)
        yield call("addmm", A.normal(4), m, n, **scale)
        yield call("addmm_", A.normal(2, 4), m, n, **scale)
        yield call("addmm", A.normal(3), m, n, **scale)
        yield call(
            "addmm", A.integers(0, 9, 4), A.integers(0, 9, 2, 3), A.integers(0, 9, 3, 4), **scale
        )
        batch = A.normal(5, 2, 3), A.normal(5, 3, 4)
        yield call("baddbmm", A.normal(4), *batch, **scale)
        yield call("addbmm", A.normal(2, 4), *batch, **scale)
        yield call("addmv", A.normal(2), m, A.normal(3), **scale)
        yield call("addr", A.normal(2, 3), A.normal(2), A.normal(3), **scale)
    yield call("mm", A.normal(2, 3), A.normal(3, 4, dtype="float64"))
    yield call(
        "mm", A.normal(2, 3, dtype="float16"), A.normal(3, 4, dtype="float16"), tolerance=2e-3
    )
    yield call("mm", A.normal(2, 3).astype("complex64"), A.normal(3, 4).astype("complex64") * 1j)
    yield call("linear", A.normal(2, 5, 3), A.normal(4, 3), A.normal(4))
    yield call("linear", A.normal(3), A.normal(3), A.normal())
    yield call("linear", A.normal(3), A.normal(4, 3))
    yield call("linear", A.normal(2, 3), A.normal(4, 2))
    yield call("bilinear", A.normal(2, 7, 3), A.normal(2, 7, 4), A.normal(5, 3, 4), A.normal(5))
    yield call("tensordot", A.normal(2, 3, 4), A.normal(4, 3, 5), [1, 2], [1, 0])
    yield call("tensordot", A.normal(2, 3), A.normal(4), [], [])
    yield call("tensordot", A.normal(2, 3), A.normal(4), [1], [0])
    yield call("_weight_norm", A.normal(4, 3, 2), A.normal(4, 1, 1), 0)
    yield call("linalg_vecdot", A.normal(4, 3), A.normal(4, 3))
    yield call("linalg_multi_dot", [A.normal(2, 3), A.normal(3, 4), A.normal(4, 5)])
    for equation, *shapes in EQUATIONS:
        yield call("einsum", equation, [A.normal(*s) for s in shapes])
    for dtype in ("float16", "float32"):
        x, a, b = (A.normal(*s).astype(dtype) for s in ((4, 5), (3, 4, 6), (3, 6, 5)))
        yield call("addbmm", x, a, b, beta=0.6, alpha=0.2, tolerance=1e-3)
        yield call("addr", x, a[0, :, 0], b[0, 0], beta=0.6, alpha=0.2, tolerance=1e-3)


def mixtures():
    """Factors of several types, repeated indices, sums in small types, and nothing to sum."""
    whole, x, mask = A.integers(0, 9, 3), A.normal(2, 3), A.integers(0, 2, 2, 3, dtype=bool)
    for equation, other in (
        ("i,jk->ijk", x),
        ("k,jk->jk", x),
        ("k,jk->j", x),
        ("j,...j", x),
        ("i , j -> i j", A.normal(2, dtype="float16")),
        ("ii,i->i", x[0]),
    ):
        left = np.diag(whole) if equation[0] == equation[1] else whole
        yield call("einsum", equation, [left, other])
    yield call("einsum", "ij,kj->ik", [x[:, :1], whole[:2, None]])
    yield call("einsum", "i,jk->ijk", [whole > 3, mask])
    yield call("einsum", "ii->i", [A.normal(3, 3)])
    yield call("einsum", "iij->ji", [A.normal(3, 3, 2)])
    yield call("einsum", "ii,i->i", [A.normal(3, 3), A.normal(3)])
    for equation, *shapes in BYTES:
        yield call("einsum", equation, [A.integers(0, 9, *s, dtype="int8") for s in shapes])
    yield call("dot", np.arange(4) > 1, np.arange(4) > 1)
    yield call("tensordot", A.normal(3), np.arange(3), [0], [0])
    one, two = np.array([2], "int32"), np.array([3, 4], "int32")
    yield call("tensordot", one, two[:1], [0], [0])
    a, b = (A.integers(0, 9, n, 2, dtype="int32") for n in (1, 3))
    yield call("tensordot", a, b, [0], [0])
    yield call("linear", A.normal(3, 4), A.normal(2, 4), A.normal(3, 2))
    yield call("linalg_vecdot", np.float32(2), np.float32(3))
    yield call("linalg_vecdot", np.float32(2), A.normal(3))


def updates():
    """Products added to a matrix where it lies, or not: by its type, its strides and the depth."""
    a, b = A.normal(9, 20), A.normal(9, 34)
    yield call("addmm_", A.normal(20, 34), a.T, b, alpha=-0.25)
    yield call("addmm_", A.normal(34, 20).T, a.T, b, alpha=-0.25)
    yield call("addmm_", A.normal(20, 68)[:, :34], a.T, b, alpha=2)
    yield call("addmm_", A.normal(20, 34), a.T, b, alpha=-0.25, beta=0.5)
    yield call("addmm_", *(x.astype("float64") for x in (A.normal(20, 34), a.T, b)), alpha=3)
    yield call("addmm_", A.normal(3, 5), A.normal(3, 1100), A.normal(1100, 5), tolerance=1e-4)
    yield call("addmm_", A.normal(3, 5), A.normal(3, 0), A.normal(0, 5), alpha=2)
    yield call("addmm_", A.normal(3, 5), A.normal(3, 2), A.normal(3, 5))
    yield call("addmm_", A.integers(0, 9, 2, 2), A.integers(0, 9, 2, 3), A.integers(0, 9, 3, 2))


SAMPLES = [*samples(), *mixtures(), *updates()]
test_recorded, test_pytorch = both_tests("matmul", SAMPLES)


def test_a_matrix_times_itself_is_added_to_it():
    x = scriptlang.arange(4.0).reshape(2, 2)
    x.addmm_(x, x)
    assert x.tolist() == [[2, 4], [8, 14]]
