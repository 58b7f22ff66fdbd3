"""What concerns operators of all families: numbers that a type does not hold, tensors without
elements, mixed types, outputs of other types, shapes that do not go together.
"""

from __future__ import annotations

import numpy as np

from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("corners")


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
    yield call("histc", A.complex(3), 3)
    yield call("clamp", A.complex(3), 0, 1)
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
    *numbers(),
    *nothing(),
    *mixtures(),
    *parameters(),
    *types(),
    *shapes(),
    *outputs(),
    *output_types(),
    *empties(),
]
test_recorded, test_pytorch = both_tests("corners", SAMPLES)
