"""Matrix products of every pair of ranks, with numbers of all kinds."""

from __future__ import annotations

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


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("matmul", SAMPLES)
