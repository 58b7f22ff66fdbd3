"""Corners that PyTorch's own samples of its operators reach: types, empty shapes, odd arguments."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("corners")


def complex_normal(*shape, dtype="complex64"):
    return (A.normal(*shape) + 1j * A.normal(*shape)).astype(dtype)


def writes():
    """Sums and products of complex numbers at indices."""
    index = np.array([0, 2, 0])
    for dtype in ("complex64", "complex128"):
        x, source = complex_normal(4, 3, dtype=dtype), complex_normal(3, 3, dtype=dtype)
        yield call("index_add", x, 0, index, source)
        yield call("index_put", x, [index], source, True)
        yield call("scatter_add", x, 0, np.stack([index] * 3), source)
        yield call("scatter", x, 0, np.stack([index] * 3), source, reduce="multiply")
        yield call("put", x, index, source[0], True)
    real = A.normal(4, 3)
    yield call("index_add", real, 0, index, A.normal(2, 3))  # sizes and types that clash
    yield call("index_add", real, 0, index, A.normal(3, 2))
    yield call("index_add", real, 0, index, A.normal(3, 3, dtype="float64"))
    yield call("index_add", np.float32(1), 0, np.array([0, 0]), A.normal(2))
    yield call("index_copy", real, 0, index.astype("int32"), A.normal(3, 3))
    yield call("index_copy", real, 0, np.array(1), A.normal(1, 3))
    yield call("index_copy", real, 0, np.array([3]), A.normal(2, 3))
    yield call("index_copy", np.float32(1), 0, np.array([0]), np.array([2], "float32"))
    yield call("masked_fill", real, real > 0, 1j)
    yield call("masked_fill", real, real > 0, 2 + 0j)


def orders():
    for x in (complex_normal(3), np.array([True, False, True]), A.normal(3)):
        for name in ("sort", "msort", "argsort", "_unique2", "unique_consecutive", "mode"):
            yield call(name, x)
        yield call("topk", x, 1)
        yield call("kthvalue", x, 1)
        yield call("searchsorted", np.sort(x), x)
        yield call("isin", x, x[:2])
    for x, dim in (
        (np.array([1, 1, 2, 3, 3]), 0),
        (np.array([1, 1, 2]), -1),
        (np.array([[1, 2], [1, 2], [3, 2]]), 0),
        (np.array([[1, 1], [1, 1]]), 1),
    ):
        yield call("unique_consecutive", x, dim=dim)
        yield call("unique_consecutive", x, True, dim=dim)
    yield call("topk", np.float32(2), 0)
    yield call("isin", np.array([1, 2, 3]), 2.5)
    yield call("isin", np.array([1, 2, 3]), 2)
    yield call("triu", A.normal(3))


def histograms():
    for dtype in ("float16", "float32", "float64"):
        x = (A.normal(200, dtype="float64") * 5).astype(dtype)
        yield call("histc", x, 37, -10, 0)
        yield call("histc", x, 100, -3, 3)
    for dtype, most in (("float32", 3e38), ("float64", 1.7e308)):  # sums that overflow
        x = np.array([most, -most, 0, most / 2, most / 30, 1], dtype)
        yield call("histc", x, 4, -most, most)
        yield call("histc", x, 100, 0, most)
    points, edges = A.uniform(30, 2) * 4, [np.array([3.0, 0.5, 2, 4], "float32")] * 2
    yield call("histogramdd", points, edges)  # edges in no order
    yield call("histogram", points, edges[0])
    yield call("histogram", points, 5, weight=A.uniform(30, 2), density=True)


def sums():
    for x in (np.float32(3), np.array(True), np.array([[1, 2], [3, 4]], "int32")):
        yield call("sum_to_size", x, [])
    for dtype in ("float16", "float32"):
        x, a, b = (A.normal(*s).astype(dtype) for s in ((4, 5), (3, 4, 6), (3, 6, 5)))
        yield call("addbmm", x, a, b, beta=0.6, alpha=0.2, tolerance=1e-3)
        yield call("addr", x, a[0, :, 0], b[0, 0], beta=0.6, alpha=0.2, tolerance=1e-3)
        yield call("div", x * 20, x[:, ::-1], rounding_mode="trunc")
    y, x = (A.integers(0, 256, 2, 4, dtype="uint8") for _ in range(2))
    yield call("trapezoid", y, x)
    yield call("cumulative_trapezoid", y, x)
    yield call("trapezoid", A.normal(2, 4), dx=2)
    yield call("gradient", complex_normal(5))
    yield call("gradient", complex_normal(4, 5), spacing=2.0, dim=[0, 1], edge_order=2)


def numbers():
    """Numbers that an element type does not hold are refused; negative ones of uint8 wrap."""
    where = np.array([True, False])
    for dtype in ("float16", "float32", "int8", "uint8", "int64", "bool"):
        x = np.zeros(2, dtype)
        for value in (1e6, 1e60, float("inf"), -1, -1.5, 300, 127.9, -300):
            yield call("fill", x, value)
            yield call("full_like", x, value)
            yield call("masked_fill", x, where, value)
            yield call("index_fill", x, 0, np.array([0]), value)
            yield call("scatter", x, 0, np.array([0]), value)
            yield call("constant_pad_nd", x, [1, 0], value)
            if dtype != "bool":
                yield call("clamp", x, value)
                yield call("clamp", x, -1, value)
        yield call("where", where, x, 300)
    yield call("full", [2], 1e30, dtype=TorchDtype(4))
    yield call("ldexp", A.normal(3, dtype="float16"), np.array([1, 17, -3]))
    yield call("ldexp", A.normal(3, dtype="float64"), np.array([1, 2, 3], "uint8"))
    yield call("quantile", A.normal(4, 3, dtype="float64"), 0.3, 0)
    yield call("vander", np.array([2, 3], "float16"))


def nothing():
    """Shapes without elements."""
    none, whole = np.zeros((2, 0), "float32"), np.zeros((1, 3), "int32")
    yield call("cov", none)
    yield call("searchsorted", none, none)
    for name in ("fmod", "remainder", "floor_divide"):
        yield call(name, whole[:0], whole)
        yield call(name, whole, whole)
    yield call("tensordot", np.array([2], "int32"), np.array([3, 4], "int32")[:1], [0], [0])
    yield call(
        "tensordot",
        A.integers(0, 9, 1, 2, dtype="int32"),
        A.integers(0, 9, 3, 2, dtype="int32"),
        [0],
        [0],
    )


def mixtures():
    """Operands of several element types."""
    whole, x, mask = A.integers(0, 9, 3), A.normal(2, 3), A.uniform(2, 3) > 0.5
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
    yield call("cosine_similarity", whole, x, 1)
    yield call("cosine_similarity", whole, whole, 0)
    for name in ("mse_loss", "smooth_l1_loss", "huber_loss"):
        yield call(name, x, mask)
        if name != "huber_loss":
            yield call(name, mask, x, 0)


def parameters():
    """Parameters of other types than the input, and of sizes that do not fit."""
    for dtype, other in (
        ("float64", "float32"),
        ("float32", "float64"),
        ("float16", "float32"),
        ("float16", "float64"),
        ("float16", "float16"),
    ):
        x, ones = A.normal(2, 4, 3).astype(dtype), np.ones(4, other)
        mean = np.zeros(4, dtype)
        yield call("layer_norm", x, [3], ones[:3], ones[:3], tolerance=2e-3)
        yield call("group_norm", x, 2, ones, ones, tolerance=2e-3)
        yield call(
            "batch_norm", x, ones, ones, mean, mean + 1, False, 0.1, 1e-5, False, tolerance=2e-3
        )
        yield call(
            "batch_norm", x, None, None, ones - 1, ones, False, 0.1, 1e-5, False, tolerance=2e-3
        )
        yield call(
            "instance_norm", x, ones, ones, None, None, True, 0.1, 1e-5, False, tolerance=2e-3
        )
    x, h, w = A.normal(2, 3), A.normal(2, 5), [A.normal(15, 3), A.normal(15, 5)]
    yield call("gru_cell", x, h, *w)
    yield call("gru_cell", h, h, *w)
    yield call("gru_cell", x, h[:1], *w)
    yield call("gru_cell", x, x, *w)
    yield call("lstm_cell", x, [h[:, :3], h], A.normal(20, 3), A.normal(20, 5))


def large():
    """Half numbers whose squares are no half numbers."""
    for scale in (300, 1000):
        x = (A.normal(2, 3) * scale).astype("float16")
        yield call("cosine_similarity", x, x[::-1], 0, tolerance=2e-3)
        yield call("cosine_similarity", x.astype("int16"), x, 1, tolerance=2e-3)
        yield call("pairwise_distance", x, np.zeros_like(x), tolerance=2e-3)
        yield call("linalg_vector_norm", x, 3, [1], tolerance=2e-3)
    yield call("flip", np.float32(2), [0])
    yield call("flip", np.float32(2), [])


def masks():
    """Masks of attention that are numbers, and of shapes that do not fit."""
    x, weights = A.normal(2, 3, 4), [A.normal(12, 4), A.normal(12), A.normal(4, 4), A.normal(4)]
    far, few = np.array([[0, 0.5, 0], [0, 0, -1e9], [0, 0, 0]], "float32"), A.uniform(2, 3) > 0.6
    for mask, kind in (
        (far, 0),
        (far, None),
        (few.astype("float32"), 1),
        (few, 0),
        (few, 1),
        ((A.uniform(2, 2, 3, 3) > 0.6).astype("float32"), 2),
        (far > 0, 1),
        (A.uniform(2, 2, 3, 3) > 0.6, None),
        (A.uniform(4, 3, 3) > 0.6, 2),
    ):
        yield call("_native_multi_head_attention", x, x, x, 4, 2, *weights, mask, True, True, kind)
    yield call(
        "_transformer_encoder_layer_fwd",
        x,
        4,
        2,
        *weights,
        True,
        True,
        1e-5,
        A.normal(4),
        A.normal(4),
        A.normal(4),
        A.normal(4),
        A.normal(6, 4),
        A.normal(6),
        A.normal(4, 6),
        A.normal(4),
        few.astype("float32"),
        1,
    )


def spreads():
    """Values whose squares are too large or too small, and those that lie close together."""
    x = np.array([[1, 2, -3], [3, 3, 3]])
    for dtype, scales in (
        ("float32", (1e37, 1e30, 1e-30)),
        ("float16", (2e4,)),
        ("complex64", (1e30j,)),
        ("float64", (1e200,)),
    ):
        for scale in scales:
            for name in ("var", "std", "var_mean", "std_mean"):
                yield call(name, (x * scale).astype(dtype), False)
                yield call(name, (x * scale).astype(dtype), [1])
                yield call(name, (x * scale).astype(dtype), [0], correction=0.5)
    yield call("var_mean", (x + 1e6).astype("float32"), [1])


def statistics():
    x, whole, part = A.normal(3, 4), np.array([1, 2, 0, 3]), A.uniform(4)
    for dtype in ("float16", "float32", "float64"):
        yield call("cov", x.astype(dtype), aweights=part, tolerance=1e-3)
        yield call("cov", x.astype(dtype), fweights=whole, tolerance=1e-3)
    yield call("cov", x, fweights=whole, aweights=part.astype("float64"))
    yield call("cov", x, fweights=-whole)  # all of these are refused
    yield call("cov", x, aweights=-part)
    yield call("cov", x, fweights=part)
    yield call("cov", x, aweights=whole)
    yield call("cosine_similarity", np.float32(2), np.float32(-3), 0)
    yield call("cosine_similarity", A.normal(3, 4), A.normal(4), 1)
    square = A.normal(2, 4, 4, dtype="float64")  # of which the lower triangle counts
    yield call("linalg_pinv", square, hermitian=True)
    yield call("linalg_pinv", (square + 1j * square).astype("complex128"), hermitian=True)
    yield call("linalg_pinv", square, 0.5, hermitian=True)


def signals():
    for x in (complex_normal(10, 6), complex_normal(2, 10, 6)):
        for return_complex in (False, True):
            yield call(
                "istft",
                x,
                10,
                onesided=False,
                center=True,
                tolerance=1e-4,
                return_complex=return_complex,
            )
    yield call("istft", complex_normal(6, 4), 10, tolerance=1e-4)
    yield call("istft", complex_normal(10, 2), 10, length=40, tolerance=1e-4)
    for dtype in ("complex64", "complex128"):
        yield call("normal_", np.zeros(20, dtype), 5.0, 2.0, tolerance=1e-4)
        yield call("normal_", np.zeros(3, dtype), -1.0, 0.5, tolerance=1e-4)
        yield call("uniform_", np.zeros(5, dtype), -1.0, 0.5)
    q, k, v = (A.normal(2, 3, n, 4) for n in (5, 6, 6))
    for p in (0.3, 1.0):
        yield call("scaled_dot_product_attention", q, k, v, None, p, tolerance=1e-4)
    yield call(
        "scaled_dot_product_attention", q[0], k[0], v[0], A.normal(5, 6), 0.5, tolerance=1e-4
    )


def refusals():
    yield call("prelu", A.normal(2, 3), A.normal(1, 3))
    for a, b in (((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), (1, 3)), ((4, 5), (4, 5))):
        yield call("linalg_cross", A.normal(*a), A.normal(*b))
        yield call("cross", A.normal(*a), A.normal(*b))
    for shape in ((0,), (2, 0), (0, 3), (1, 2, 3)):
        yield call("multilabel_margin_loss", A.normal(*shape), np.zeros(shape, "int64"), 0)


def circles():
    x = A.normal(2, 3, 4, 5)
    for pad in ((-1, 1), (1, -2), (2, 3, -1, -1), (-1, 1, -2, 1), (1, 0, 0, -1, 2, 1), (-2, 2)):
        yield call("pad", x, list(pad), "circular")
        yield call("_pad_circular", x, list(pad))


def polynomials():
    x = np.array([-1113, 1113, 1113, 0, 1, 5])
    n = np.array([1113, -10701, 10701, 7, 3, 2])
    for name in "chebyshev_polynomial_t chebyshev_polynomial_w hermite_polynomial_h".split():
        yield call(f"special_{name}", x, n, tolerance=1e-4)
    yield call("to", x, TorchDtype(29))


def indices():
    """Masks without dimensions, single values behind masks, values that do not fit, empty ones."""
    x, mask = A.normal(2, 3), np.array([[True, False, True], [False, True, True]])
    row, yes, none = np.array([True, False]), np.array(True), np.empty(0, "float32")
    for self, at, value in (
        (x, [mask], np.array([3])),
        (x, [mask], np.array([[3]])),
        (x, [row], np.array(3)),
        (x, [np.array([0])], np.array(3)),
        (x, [mask], A.normal(1, 4)),
        (x, [np.array([0, 1])], A.normal(1, 2, 3)),
        (x, [mask & False], A.normal(3)),
        (x, [mask & False], none),
        (x[0], [yes], np.float32(3)),
        (x[0], [~yes], np.float32(3)),
        (np.float32(1), [yes], np.float32(3)),
        (x, [yes, np.array([0])], A.normal(3)),
        (x, [mask.astype("uint8")], np.array([3])),
        (A.normal(1, 0, 2), [np.array([2])], np.float32(1)),
    ):
        yield call("index_put", self, at, value)
    yield call("index_put", x, [mask], np.array([3]), True)
    for self, at in (
        (np.float32(1), yes),
        (x, yes),
        (A.normal(1, 0, 2), np.array([2])),
        (A.normal(0, 2), np.array([2])),
    ):
        yield call("index", self, [at])
    yield call("index", x, [np.array([0]), yes])
    yield call("scatter", x, 0, np.empty((0, 1, 2), "int64"), x)
    yield call("repeat", A.normal(0, 2), [-1, 2])
    yield call("repeat", x, [-1, 2])


def types():
    """Types of results: of sums in products, of losses that are written into a tensor."""
    for equation, *shapes in (
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
    ):
        yield call("einsum", equation, [A.integers(0, 9, *s, dtype="int8") for s in shapes])
    half, wide, whole = A.normal(4, dtype="float16"), A.normal(4, dtype="float64"), np.arange(4)
    for name in ("huber_loss", "soft_margin_loss", "binary_cross_entropy_with_logits"):
        for a, b in ((half, wide), (wide, half), (whole, half), (wide, whole)):
            yield call(name, a, b, *((None, None) if "logits" in name else ()), 0, tolerance=1e-3)
    for a, b in ((half, wide), (whole, half), (wide, whole), (wide, whole > 1)):
        yield call("kl_div", a, b, 0, tolerance=1e-3)
    yield call("cosine_similarity", np.float32(1.5), half, 0, tolerance=1e-3)
    yield call("pairwise_distance", np.float32(1.5), np.float32(3))
    yield call("equal", whole, wide)
    yield call("equal", whole, whole.astype("float32"))
    yield call("dot", whole > 1, whole > 1)
    yield call("masked_fill", whole, whole > 1, np.array(2.5))
    yield call("masked_fill", whole > 1, whole > 1, np.array(2))
    yield call("cross_entropy_loss", A.normal(3), np.array([1]))
    yield call("nll_loss_nd", A.normal(3), np.array([1]))
    for bound in ((np.nan, None), (None, np.nan), (0.0, np.nan), (np.nan, 1.0)):
        yield call("clamp", A.normal(3), *bound)
        yield call("clamp", whole, *bound)
    yield call("adaptive_max_pool2d", A.normal(0, 2, 3), [4, 2])


def shapes():
    """Shapes and types that do not go together, and some that do."""
    yield call("channel_shuffle", A.normal(2, 4), 1)
    yield call("slice_scatter", A.normal(2), A.normal(1), 0, 3)
    yield call("meshgrid", [A.normal(2), np.arange(3)])
    yield call("histc", np.array([np.inf, 0], "float32"), 3)
    yield call("histc", complex_normal(3), 3)
    yield call("clamp", complex_normal(3), 0, 1)
    yield call("linear", A.normal(3, 4), A.normal(2, 4), A.normal(3, 2))
    yield call("tensordot", A.normal(3), np.arange(3), [0], [0])
    yield call("triplet_margin_loss", A.normal(2), A.normal(1, 2), A.normal(1, 1, 2))
    yield call("sum", A.uniform(2, 3), dtype=TorchDtype(11))
    yield call("index_add", A.normal(3, 0), 1, np.array([7]), A.normal(3, 1))
    yield call("einsum", "ii->i", [A.normal(3, 3)])
    yield call("einsum", "iij->ji", [A.normal(3, 3, 2)])
    yield call("einsum", "ii,i->i", [A.normal(3, 3), A.normal(3)])


def outputs():
    """Sums and products compute in the type of their output."""
    x, whole = A.normal(2, 3) * 2, A.integers(90, 250, 2, 3)
    for source in (x, whole):
        for dtype in ("uint8", "int64", "float64", "float16"):
            for name in ("sum", "prod"):
                yield call(name, source, 1, out=np.zeros(2, dtype), tolerance=1e-3)
            for name in ("cumsum", "cumprod"):
                yield call(name, source, 1, out=np.zeros((2, 3), dtype), tolerance=1e-3)


def output_types():
    """Results that are converted to the type of their output, and those that are not."""
    x, at = np.array([[1.0, 2], [4, 3]], "float32"), np.array([[0, 1]])
    for dtype in ("float64", "float32"):
        flat, whole = np.zeros(2, dtype), np.zeros((2, 2), dtype)
        for name, *args in (
            ("amax", x, [1]),
            ("norm", x, 2, [1]),
            ("linalg_vector_norm", x, 2, 1),
            ("std", x, [1]),
            ("mean", x, [1]),
            ("logsumexp", x, [1]),
            ("mv", x, x[0]),
            ("sum", x, [1]),
        ):
            yield call(name, *args, out=flat)
        for name, *args in (
            ("softmax", x, 1),
            ("mm", x, x),
            ("tril", x),
            ("gather", x, 0, at),
            ("clamp", x, 0, 1),
            ("neg", x),
            ("sin", x),
            ("mul", x, x),
            ("index_select", x, 0, at[0]),
            ("cat", [x[:1], x[1:]]),
            ("where", x > 1, x, x),
            ("linalg_inv", x),
            ("take", x, at),
        ):
            yield call(name, *args, out=whole)
    yield call("argmax", x, 1, out=np.zeros(2, "int32"))
    yield call("signbit", x, out=np.zeros((2, 2), "uint8"))
    yield call("sum", x, out=np.zeros((), "float64"))
    yield call("max", x, 1, max=np.zeros(2), max_values=np.zeros(2, "int64"))


def areas():
    """Integrals of small integers, whose neighbours are added in their type, and of inf."""
    whole, ends = np.array([200, 100, 255], "uint8"), np.array([1, 2, 3, np.inf], "float32")
    for y in (whole, ends, ends[::-1], whole > 150):
        for dx in (1, 2.5):
            yield call("trapezoid", y, dx=dx)
            yield call("cumulative_trapezoid", y, dx=dx)
    x = np.array([3, 1, 9], "float32")
    for a, b in ((whole, x), (x, whole), (whole, whole)):
        yield call("trapezoid", a, b)
        yield call("cumulative_trapezoid", a, b)
    for row in ([1, 2, np.nan], [1, np.nan, np.nan], [1, 2, 3, np.nan]):
        for right in (False, True):
            yield call("searchsorted", np.array(row), np.array([np.nan, 0, 1.5, 2, 3]), right=right)
    mixed = A.integers(0, 9, 3, 11)  # rows in no order
    for right in (False, True):
        for rows in (mixed, mixed[0], mixed.astype("float32")):
            yield call("searchsorted", rows, mixed.astype(rows.dtype), right=right)
        yield call("bucketize", mixed, mixed[1], right=right)
        yield call("searchsorted", mixed[0], mixed, sorter=A.integers(0, 11, 11), right=right)
    nan = np.nan
    for row in (
        [nan, 1],
        [2, 1, nan, nan, 2],
        [nan, 2, 2, 1, 1, nan],
        [1, 1, nan, 2, 2],
        [nan, nan],
        [3, 2, 1, nan],
        [nan, 3, nan, 2, nan, 1, 1],
    ):
        yield call("mode", np.array([row, row[::-1]], "float32"))
    target = np.array([1, -1])
    for a in (np.array([3, 4]), np.array([3, 4], "uint8"), target > 0):
        for reduction in (0, 1, 2):
            yield call("hinge_embedding_loss", a, target, 7.6, reduction)
    yield call("scaled_dot_product_attention", *[np.zeros((2, 2, 3, 0), "float32")] * 3)


def empties():
    """What operators that refuse a type, or change a shape, do with nothing."""
    for shape in ((0, 4, 4, 4), (0, 4, 6), (2, 0, 4, 4)):
        yield call("pixel_unshuffle", np.zeros(shape, "float32"), 2)
    yield call("native_channel_shuffle", A.normal(1, 4, 2, 4), 2)
    for x in (
        np.array(True),
        np.zeros(0, bool),
        np.array([True, False]),
        np.array(3, "int32"),
        np.array([3, 4], "uint8"),
    ):
        yield call("cumsum_", x, 0)
        yield call("cumprod_", x, 0)
    for shape in ((0,), (0, 3), (3, 0)):
        yield call("softmax", np.zeros(shape, "int64"), 0)
        yield call("log_softmax", np.zeros(shape, "int32"), -1)
        yield call("softmax", np.zeros(shape, "int64"), 2)
        yield call("unique_dim", np.zeros(shape, "float32"), 0)
        yield call("unique_consecutive", np.zeros(shape, "float32"), dim=0)
    yield call("unique_dim", np.zeros((0, 0), "float32"), 0)
    one = np.array(2, "float32")
    yield call("linalg_vecdot", one, np.array(3, "float32"))
    yield call("linalg_vecdot", one, A.normal(3))


SAMPLES = [
    *writes(),
    *orders(),
    *histograms(),
    *sums(),
    *spreads(),
    *statistics(),
    *signals(),
    *refusals(),
    *circles(),
    *polynomials(),
    *numbers(),
    *nothing(),
    *masks(),
    *mixtures(),
    *parameters(),
    *large(),
    *indices(),
    *types(),
    *shapes(),
    *outputs(),
    *output_types(),
    *areas(),
    *empties(),
]
test_recorded, test_pytorch = both_tests("corners", SAMPLES)
