"""native = numpy on tensors with enough elements for the ways that go by vectors, blocks or
columns, and on a few more than those, for what is left over."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter import native

from scriptlang import dtypes
from scriptlang.tensors import Tensor
from tests.interpreter.test_native_equals_numpy import TOLERANCE, operator
from tests.interpreter.test_native_equals_numpy_families import agree
from tests.ops.one_operator import run_natively

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")


def normal(*shape: int, dtype: str = "float32", seed: int = 0) -> Tensor:
    numbers = np.random.RandomState(seed).standard_normal(shape)
    return Tensor._wrap(numbers.astype(getattr(dtypes, dtype).numpy))


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_grid_sampler(dtype, mode, padding, align):
    """Steps of halves are rounded one by one, so that nothing but the same order gives the same."""
    image, grid = normal(2, 3, 9, 40, dtype=dtype), normal(2, 5, 7, 2, dtype=dtype, seed=1)
    grid._array[0, 0, :4, 0] = [np.nan, np.inf, -np.inf, 0.25]
    exact = dtype in ("float16", "bfloat16")
    with np.errstate(all="ignore"):
        agree(
            "grid_sampler_2d",
            image,
            grid,
            mode,
            padding,
            align,
            tolerance=0 if exact else TOLERANCE.get(dtype, 1e-5),
        )


def integers(*shape: int, dtype: str = "int64", low: int = 0, high: int = 120) -> Tensor:
    numbers = np.random.RandomState(2).randint(low, high, shape)
    return Tensor._wrap(numbers.astype(getattr(dtypes, dtype).numpy))


def turned(t: Tensor, *order: int) -> Tensor:
    return Tensor._wrap(t._array.transpose(order))


HALVES = ("float16", "bfloat16")
REALS = ("float32", "float64", *HALVES)
LOOSE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("dims", [[0], [1], [2], [0, 1], [1, 2], [0, 2], None])
@pytest.mark.parametrize("shape", [(3, 70, 41), (5, 130, 7), (2, 9, 520)])
def test_sums(shape, dims, dtype):
    x = normal(*shape, dtype=dtype)
    broken = Tensor._wrap(x._array.copy())
    broken._array[0, 3, ::3] = np.nan
    for t in (x, turned(x, 2, 0, 1), turned(x, 1, 0, 2)):
        agree("sum.dim_IntList", t, dims, False, tolerance=20 * LOOSE[dtype])
        agree("mean.dim", t, dims, True, tolerance=LOOSE[dtype])
        agree("amax", t, dims or [0, 1, 2], True, tolerance=0)
    agree("nansum", broken, dims, False, tolerance=20 * LOOSE[dtype])
    agree("amin", broken, dims or [0, 1, 2], False, tolerance=0)


@pytest.mark.parametrize("dtype", [*REALS, "int64", "int32", "int16", "int8", "uint8", "bool"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_reductions_of_columns(dim, dtype):
    whole = dtype not in REALS
    x = (
        integers(3, 70, 41, dtype=dtype, high=2 if dtype == "bool" else 120)
        if whole
        else normal(3, 70, 41, dtype=dtype)
    )
    if whole and dtype not in ("uint8", "bool"):
        x._array[:] -= 60
    for name in ("max.dim", "min.dim", "any.dim", "all.dim"):
        agree(name, x, dim, tolerance=0)
    if dtype != "bool":
        agree("argmax", x, dim, tolerance=0)
    agree("amax", x, [dim], tolerance=0)
    agree("sum.dim_IntList", x, [dim], tolerance=20 * LOOSE.get(dtype, 0))
    near = Tensor._wrap((1 + 0.01 * x._array).astype(x._array.dtype)) if not whole else x
    agree("prod.dim_int", near, dim, tolerance=20 * LOOSE.get(dtype, 0))


@pytest.mark.parametrize("dtype", [*REALS, "int64", "int32", "uint8"])
@pytest.mark.parametrize("shape, dim", [((6, 700), 1), ((700, 130), 0), ((2, 9, 70), 1), ((5,), 0)])
def test_running_sums(shape, dim, dtype):
    x = normal(*shape, dtype=dtype) if dtype in REALS else integers(*shape, dtype=dtype)
    agree("cumsum", x, dim, tolerance=10 * LOOSE.get(dtype, 0))
    agree("cumprod", Tensor._wrap((x._array * 0 + 1).astype(x._array.dtype)), dim, tolerance=0)


@pytest.mark.parametrize("dtype", REALS)
def test_softmax_of_columns(dtype):
    for shape in ((90, 33), (3, 17, 200)):
        x = normal(*shape, dtype=dtype)
        agree("softmax.int", x, -2, tolerance=LOOSE[dtype])
        agree("log_softmax.int", x, -2, tolerance=4 * LOOSE[dtype])


@pytest.mark.parametrize(
    "dtype",
    ["int64", "int32", "int16", "int8", "uint8", "complex64", "complex128", "float32", "float64"],
)
@pytest.mark.parametrize("m, k, n", [(7, 40, 70), (1, 300, 1), (50, 33, 1), (1, 20, 37), (9, 1, 5)])
def test_products(m, k, n, dtype):
    """Also of transposed matrices, and of vectors; integers wrap."""

    def made(rows, columns, seed):
        if "int" in dtype:
            return integers(rows, columns, dtype=dtype, low=-100 if dtype[0] == "i" else 0)
        x = normal(rows, columns, dtype=dtype, seed=seed)
        if dtype.startswith("complex"):
            x._array[:] += 1j * normal(rows, columns, seed=seed + 5)._array
        return x

    tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-10
    for a in (made(m, k, 0), turned(made(k, m, 0), 1, 0)):
        for b in (made(k, n, 1), turned(made(n, k, 1), 1, 0)):
            agree("mm", a, b, tolerance=tolerance)
        agree(
            "mv",
            a,
            made(k, 1, 3).__class__._wrap(made(k, 1, 3)._array[:, 0].copy()),
            tolerance=tolerance,
        )
    batch = Tensor._wrap(np.stack([made(m, k, 0)._array, made(m, k, 4)._array]))
    agree("bmm", batch, turned(batch, 0, 2, 1), tolerance=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_distances(p, dtype):
    agree(
        "cdist",
        normal(2, 1, 9, 37, dtype=dtype),
        normal(3, 6, 37, dtype=dtype, seed=1),
        p,
        tolerance=1e-4,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8"])
@pytest.mark.parametrize(
    "name",
    [
        "upsample_bilinear2d",
        "upsample_bicubic2d",
        "_upsample_bilinear2d_aa",
        "_upsample_bicubic2d_aa",
    ],
)
@pytest.mark.parametrize("size", [(9, 70), (40, 11), (45, 90), (3, 1)])
def test_resizing(size, name, dtype):
    x = integers(2, 3, 23, 37, dtype=dtype, high=255)
    for align in (False, True):
        agree(name, x, list(size), align, tolerance=1 if dtype == "uint8" else 0.3)
        if dtype != "uint8" and dtype != "float16":
            agree(name, normal(1, 2, 23, 37, dtype=dtype), list(size), align, tolerance=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", *HALVES, "uint8"])
def test_nearest_pixels(dtype):
    x = integers(2, 3, 5, 23, 37, dtype=dtype)
    agree("upsample_nearest3d", x, [7, 11, 50], tolerance=0)
    for shape, size in (((2, 15, 23, 37), [46, 20]), ((1, 3, 8, 8), [5, 5])):
        image = Tensor._wrap(np.resize(x._array, shape))
        agree("upsample_nearest2d", image, size, tolerance=0)
        agree("_upsample_nearest_exact2d", image, size, tolerance=0)
    agree("upsample_linear1d", normal(2, 3, 37), [90], False, tolerance=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "bool", "complex128"])
def test_indices(dtype):
    x = integers(12, 35, dtype=dtype)
    rows, columns = integers(20, low=-12, high=12), integers(50, low=-35, high=35)
    across = Tensor._wrap(rows._array[:, None])
    agree("index.Tensor", x, [across, columns], tolerance=0)
    agree("index.Tensor", turned(x, 1, 0), [columns, None], tolerance=0)
    agree("index.Tensor", x, [None, columns], tolerance=0)
    agree("index.Tensor", Tensor._wrap(x._array.ravel()), [columns], tolerance=0)
    agree("index.Tensor", x, [None, Tensor._wrap(columns._array + 1)])
    agree("index.Tensor", x, [across, Tensor._wrap(columns._array - 1)])
    for mask in (x._array.real > 50, np.zeros((12, 35), bool)):
        for value in (np.array(1), np.array([1])):
            agree(
                "index_put",
                x,
                [Tensor._wrap(mask)],
                Tensor._wrap(value.astype(x._array.dtype)),
                False,
                tolerance=0,
            )
    for times in (0, 1, 3):
        agree("repeat_interleave.self_int", x, times, None, tolerance=0)
        agree("repeat_interleave.self_int", x, times, 0, tolerance=0)
        agree("repeat_interleave.self_int", turned(x, 1, 0), times, 1, tolerance=0)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8"])
def test_distinct_neighbours(dtype):
    x = integers(400, dtype=dtype, high=2)
    for inverse in (False, True):
        for counts in (False, True):
            agree("unique_consecutive", x, inverse, counts, None, tolerance=0)
            agree(
                "unique_consecutive",
                Tensor._wrap(x._array.reshape(20, 20)),
                inverse,
                counts,
                None,
                tolerance=0,
            )
    agree("unique_consecutive", Tensor._wrap(x._array[:0]), True, True, None, tolerance=0)


@pytest.mark.parametrize("dtype", REALS)
def test_normalised_rows(dtype):
    x, w, b = normal(40, 90, dtype=dtype), normal(90, dtype=dtype, seed=1), normal(90, dtype=dtype)
    for weight, bias in ((None, None), (w, b)):
        agree("layer_norm", x, [90], weight, bias, 1e-5, tolerance=4 * LOOSE[dtype])
        agree("rms_norm", turned(x, 1, 0), [40], None, 1e-5, tolerance=4 * LOOSE[dtype])
        agree("rms_norm", x, [90], weight, 1e-5, tolerance=4 * LOOSE[dtype])
    image, w, b = normal(3, 6, 5, 7, dtype=dtype), normal(6, dtype=dtype), normal(6, dtype=dtype)
    for weight, bias in ((None, None), (w, b)):
        agree("group_norm", image, 2, weight, bias, 1e-5, tolerance=4 * LOOSE[dtype])
        agree(
            "native_group_norm", image, weight, bias, 3, 6, 35, 3, 1e-5, tolerance=4 * LOOSE[dtype]
        )
        agree(
            "instance_norm",
            image,
            weight,
            bias,
            None,
            None,
            True,
            0.1,
            1e-5,
            False,
            tolerance=4 * LOOSE[dtype],
        )


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("p", [0, 1, 2, 3, float("inf"), -float("inf")])
def test_norms(p, dtype):
    x = normal(4, 60, 21, dtype=dtype)
    x._array[1, 2, 3] = np.nan
    x._array[2, 5:9] = 0
    for dims in ([0], [1], [2], [0, 2], None):
        agree("linalg_vector_norm", x, p, dims, False, tolerance=20 * LOOSE[dtype])
        agree("linalg_vector_norm", turned(x, 2, 0, 1), p, dims, True, tolerance=20 * LOOSE[dtype])


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int64", "int32", "uint8", "bool", "complex64"]
)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_written_parts(dim, dtype):
    x = integers(5, 11, 7, dtype=dtype)
    places = integers(20, low=0, high=x._array.shape[dim])
    shape = [20 if d == dim else n for d, n in enumerate(x._array.shape)]
    source = integers(*shape, dtype=dtype)
    apart = Tensor._wrap(np.arange(x._array.shape[dim])[::-1].copy())
    for t in (x, Tensor._wrap(np.asfortranarray(x._array))):
        agree("index_add", t, dim, places, source, tolerance=0)
        agree("index_add", t, dim, places, source, alpha=3, tolerance=0)
        agree("index_copy", t, dim, apart, x, tolerance=0)
    agree("index_add", x, dim, Tensor._wrap(places._array + 20), source)
    agree("index_add", x, dim, Tensor._wrap(-places._array - 1), source)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "uint8", "complex128"])
def test_elements_in_turns(dtype):
    parts = [integers(30, 7, dtype=dtype, high=99 + i) for i in range(3)]
    for count in (1, 2, 3):
        for dim in (-1, 1, 0):
            agree("stack", parts[:count], dim, tolerance=0)
            agree("cat", parts[:count], dim, tolerance=0)


def test_equal_in_pieces():
    for n in (3, 4096, 50_000):
        x = normal(n)
        for at in (None, 0, n - 1, n // 2):
            y = Tensor._wrap(x._array.copy())
            if at is not None:
                y._array[at] = np.nan
            agree("equal", x, y)
            agree("equal", y, y)


@pytest.mark.parametrize("n", [3, 17, 40])
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-10), ("float32", 1e-4)])
def test_eigenvalues_of_symmetric_matrices(n, dtype, tolerance):
    """Of any, of one with equal eigenvalues, of a diagonal one, and of one without."""
    x = normal(2, n, n, dtype=dtype)._array
    basis = np.linalg.qr(x[0].astype(np.float64))[0]
    equal = (basis * np.where(np.arange(n) < n // 2, 3.0, -1.0)) @ basis.T
    for a in (
        x + x.swapaxes(1, 2),
        equal[None],
        np.diag(np.arange(n))[None] * 1.0,
        np.zeros((1, n, n)),
        x + 1e30 * np.eye(n),
        1e-30 * (x + x.swapaxes(1, 2)),
    ):
        a = np.ascontiguousarray(a.astype(dtype))
        scale = max(np.abs(a).max(), 1e-38)
        found = operator("linalg_eigh")
        values, vectors = (
            t._array.astype(np.float64) for t in run_natively(found, [Tensor._wrap(a), "L"])
        )
        whole = np.tril(a) + np.tril(a, -1).swapaxes(1, 2)
        np.testing.assert_allclose(
            vectors * values[:, None] @ vectors.swapaxes(1, 2) / scale,
            whole / scale,
            atol=tolerance,
        )
        np.testing.assert_allclose(
            vectors.swapaxes(1, 2) @ vectors,
            np.broadcast_to(np.eye(n), vectors.shape),
            atol=tolerance,
        )
        only = run_natively(operator("linalg_eigvalsh"), [Tensor._wrap(a), "L"])
        np.testing.assert_allclose(only._array, values, rtol=tolerance, atol=scale * tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("align", [False, True])
def test_affine_grids(align, dtype):
    loose = 4 * LOOSE[dtype]
    agree(
        "affine_grid_generator", normal(2, 2, 3, dtype=dtype), [2, 1, 5, 33], align, tolerance=loose
    )
    agree(
        "affine_grid_generator",
        normal(2, 3, 4, dtype=dtype),
        [2, 1, 3, 4, 9],
        align,
        tolerance=loose,
    )


def test_single_functions():
    x = Tensor._wrap(np.linspace(-15, 15, 301, dtype=np.float32))
    agree("special_ndtr", x, tolerance=1e-7)
    for power in (2, 3, 0.5, -1, 2.5):
        agree("float_power.Tensor_Scalar", Tensor._wrap(np.abs(x._array) + 1), power)
    agree("addr", normal(40, 30), normal(40), normal(30), beta=1, alpha=1, tolerance=1e-6)
    agree("addr", normal(40, 30), normal(40), normal(30), beta=0.5, alpha=2, tolerance=1e-6)
    for offset in (-50, -3, 0, 7, 60):
        agree("triu_indices", 40, 50, offset)
        agree("tril_indices", 40, 50, offset)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("points", [None, 1, 2, 9, 40, 41])
def test_transforms_of_real_numbers(points, dtype):
    x = normal(3, 20, 11, dtype=dtype) if dtype in REALS else integers(3, 20, 11)
    for dim in (0, 1, -1):
        for norm in (None, "ortho", "forward"):
            agree("fft_fft", x, points, dim, norm, tolerance=1e-3)
            agree("fft_ifft", turned(x, 1, 0, 2), points, dim, norm, tolerance=1e-3)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("rows", "keys"), [(300, 700), (700, 300), (129, 257), (40, 520)])
def test_recorded_attention_in_blocks(rows, keys, masked, causal):
    """More rows and keys than the native kernel takes at a time; pairs of heads share keys."""
    q, g = normal(1, 4, rows, 20, dtype="float64"), normal(1, 4, rows, 20, dtype="float64", seed=1)
    k, v = (normal(1, 2, keys, 20, dtype="float64", seed=n) for n in (2, 3))
    mask = normal(rows, keys, dtype="float64", seed=4) if masked else None
    if mask is not None:
        mask._array[rows // 2] = -np.inf
    name = "_scaled_dot_product_flash_attention_for_cpu"
    more = {"attn_mask": mask, "scale": 0.2}
    agree(name, q, k, v, 0.0, causal, tolerance=1e-12, **more)
    out, sums = operator(name).kernel(q, k, v, 0.0, causal, mask, 0.2)
    agree(f"{name}_backward", g, q, k, v, out, sums, 0.0, causal, tolerance=1e-11, **more)
