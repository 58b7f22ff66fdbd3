"""native = numpy, further families: indexed writes, sorting, scans, norms, layers, joins; on random
shapes, strides, types and zero sizes, the same values, shape and type, or an error from both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scriptlang.interpreter import native

from scriptlang.ops.calling.binding import bind
from scriptlang.tensors import Tensor
from tests.interpreter.test_native_equals_numpy import (
    SETTINGS,
    arrays,
    operator,
    outcome,
    tensor,
    tolerance_of,
)
from tests.ops.harness import check
from tests.ops.one_operator import run_natively

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")

FLOATS = ("float32", "float64", "float16")
REALS = ("float32", "float64", "float16", "int64", "int32", "uint8", "bool")


def fresh(value):
    """The value with its tensors copied, strides and all, so that each engine writes its own."""
    if isinstance(value, Tensor):
        if 0 in value._array.strides and value._array.size > 1:
            return Tensor._wrap(
                np.broadcast_to(
                    value._array[
                        tuple(slice(0, 1) if s == 0 else slice(None) for s in value._array.strides)
                    ].copy(),
                    value._array.shape,
                )
            )
        return Tensor._wrap(value._array.copy(order="K"))
    return [fresh(v) for v in value] if isinstance(value, list) else value


def agree(name: str, *args, tolerance: float = 1e-5, **kwargs) -> None:
    """Both engines give the same, or both refuse; defaults are filled in."""
    found = operator(name)
    values = bind(found.schema, args, kwargs)
    assert isinstance(values, list), values
    with np.errstate(all="ignore"):
        want = outcome(lambda: found.kernel(*fresh(values)))
    got = outcome(lambda: run_natively(found, fresh(values)))
    check(got, want, tolerance)


def whole(draw, low, high) -> int:
    return draw(st.integers(low, high))


def places(draw, shape, bound: int) -> Tensor:
    """int64 places, most of them inside [-1, bound]."""
    random = np.random.RandomState(whole(draw, 0, 2**16))
    return Tensor._wrap(
        random.randint(-1 if draw(st.integers(0, 9)) == 0 else 0, max(1, bound), shape).astype(
            np.int64
        )
    )


@SETTINGS
@given(
    data=st.data(),
    dtype=st.sampled_from(REALS),
    flipped=st.booleans(),
    name=st.sampled_from(
        [
            "scatter.src",
            "scatter.value",
            "scatter_add",
            "scatter_reduce.two",
            "gather",
            "take_along_dim",
        ]
    ),
)
def test_scattering(data, dtype, flipped, name):
    draw = data.draw
    x = draw(arrays(dtype=dtype, shape=draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))))
    dim = whole(draw, 0, x.ndim - 1)
    shape = [whole(draw, 0, n) for n in x.shape]
    index = places(draw, shape, x.shape[dim])
    source = draw(
        arrays(dtype=dtype, shape=[n + whole(draw, 0, 1) for n in shape], layouts=("plain",))
    )
    t, tolerance = tensor(x, flipped), tolerance_of(x)
    if name == "scatter.value":
        agree(name, t, dim, index, 3, tolerance=tolerance)
    elif name == "scatter_reduce.two":
        how = draw(st.sampled_from(["sum", "prod", "mean", "amax", "amin"]))
        agree(
            name,
            t,
            dim,
            index,
            tensor(source),
            how,
            include_self=draw(st.booleans()),
            tolerance=tolerance * 10,
        )
    elif name == "gather":
        agree(name, t, dim, index)
    elif name == "take_along_dim":
        agree(name, t, index, dim)
    else:
        agree(name, t, dim, index, tensor(source), tolerance=tolerance)


@SETTINGS
@given(
    data=st.data(),
    dtype=st.sampled_from(REALS),
    name=st.sampled_from(
        [
            "index_add",
            "index_copy",
            "index_fill.int_Scalar",
            "index_select",
            "index_put",
            "masked_fill.Scalar",
            "masked_select",
            "masked_scatter",
            "where.self",
            "put",
            "nonzero",
        ]
    ),
)
def test_indexed_writes(data, dtype, name):
    draw = data.draw
    x = draw(arrays(dtype=dtype, shape=draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))))
    dim, count = whole(draw, -x.ndim, x.ndim - 1), whole(draw, 0, 3)
    shape = [count if d == dim % x.ndim else n for d, n in enumerate(x.shape)]
    index, source = places(draw, [count], x.shape[dim]), draw(arrays(shape=shape, dtype=dtype))
    t = tensor(x, draw(st.booleans()))
    mask = draw(
        arrays(
            dtype="bool",
            shape=draw(st.sampled_from([x.shape, x.shape[-1:], ()])),
            layouts=("plain", "transposed"),
        )
    )
    if name in ("index_add", "index_copy"):
        agree(name, t, dim, index, tensor(source), tolerance=tolerance_of(x))
    elif name == "index_fill.int_Scalar":
        agree(name, t, dim, index, 1)
    elif name == "index_select":
        agree(name, t, dim, index)
    elif name == "index_put":
        value = draw(arrays(shape=[count, *x.shape[1:]], dtype=dtype, layouts=("plain",)))
        agree(name, t, [places(draw, [count], x.shape[0])], tensor(value), draw(st.booleans()))
    elif name == "put":
        agree(name, t, places(draw, [count], x.size), tensor(np.ones(count, dtype)))
    elif name == "masked_fill.Scalar":
        agree(name, t, tensor(mask), 1)
    elif name == "masked_select":
        agree(name, t, tensor(mask))
    elif name == "masked_scatter":
        agree(name, t, tensor(mask), tensor(np.arange(x.size).astype(dtype)))
    elif name == "where.self":
        agree(name, tensor(mask), t, tensor(np.ones((), dtype)))
    else:
        agree(name, t)


@SETTINGS
@given(
    data=st.data(),
    x=arrays(),
    flipped=st.booleans(),
    name=st.sampled_from(
        [
            "sort.stable",
            "topk",
            "kthvalue",
            "median.dim",
            "mode",
            "msort",
            "argsort.stable",
            "_unique2",
            "unique_consecutive",
            "bincount",
            "searchsorted.Tensor",
            "isin.Tensor_Tensor",
            "max.dim",
            "min.dim",
            "aminmax",
        ]
    ),
)
def test_sorting(data, x, flipped, name):
    draw = data.draw
    t, dim = tensor(x, flipped), whole(draw, -4, 3)
    if name == "sort.stable":
        agree(name, t, stable=True, dim=dim, descending=draw(st.booleans()))
    elif name == "argsort.stable":
        agree(name, t, stable=True, dim=dim)
    elif name == "topk":  # which of equal elements come is left open
        distinct = np.arange(x.size)[::-1].reshape(x.shape) * 3 % 101
        agree(
            name,
            tensor(distinct.astype(x.dtype)),
            whole(draw, 0, 3),
            dim,
            draw(st.booleans()),
            True,
        )
    elif name == "kthvalue":
        agree(name, t, whole(draw, 1, 4), dim)
    elif name in ("median.dim", "max.dim", "min.dim", "mode"):
        agree(name, t, dim, draw(st.booleans()))
    elif name == "_unique2":
        agree(name, t, True, True, True)
    elif name == "unique_consecutive":
        agree(name, t, True, True)
    elif name == "bincount":
        agree(name, t, minlength=whole(draw, 0, 4))
    elif name == "searchsorted.Tensor":
        row = np.sort(x.reshape(-1)) if x.dtype.kind != "c" else x.reshape(-1)
        agree(name, tensor(row), t, right=draw(st.booleans()))
    elif name == "isin.Tensor_Tensor":
        agree(name, t, tensor(x.reshape(-1)[:2]), invert=draw(st.booleans()))
    elif name == "aminmax":
        agree(name, t, dim=dim, keepdim=draw(st.booleans()))
    else:
        agree(name, t)


@SETTINGS
@given(
    data=st.data(),
    x=arrays(),
    flipped=st.booleans(),
    name=st.sampled_from(
        [
            "cumsum",
            "cumprod",
            "cummax",
            "cummin",
            "logcumsumexp",
            "diff",
            "softmax.int",
            "log_softmax.int",
            "logsumexp",
            "var.correction",
            "std.correction",
            "std_mean.correction",
            "linalg_vector_norm",
            "renorm",
            "nansum",
            "count_nonzero.dim_IntList",
            "cov",
            "trapezoid.dx",
        ]
    ),
)
def test_scans_and_statistics(data, x, flipped, name):
    draw = data.draw
    t, dim, tolerance = tensor(x, flipped), whole(draw, -4, 3), 20 * tolerance_of(x)
    if name in ("logsumexp", "nansum", "count_nonzero.dim_IntList"):
        agree(name, t, [dim], tolerance=tolerance)
    elif name.endswith("correction"):
        agree(
            name,
            t,
            [dim],
            correction=draw(st.sampled_from([0, 1, 2])),
            keepdim=draw(st.booleans()),
            tolerance=tolerance,
        )
    elif name == "linalg_vector_norm":
        agree(
            name,
            t,
            draw(st.sampled_from([0, 1, 2, 3.5, float("inf"), -float("inf")])),
            [dim],
            draw(st.booleans()),
            tolerance=tolerance,
        )
    elif name == "renorm":
        agree(name, t, 2, dim, 1.5, tolerance=tolerance)
    elif name == "diff":
        agree(name, t, whole(draw, 0, 2), dim, tolerance=tolerance)
    elif name == "cov":
        agree(name, t, tolerance=tolerance)
    elif name == "trapezoid.dx":
        agree(name, t, dx=0.5, dim=dim, tolerance=tolerance)
    else:
        agree(name, t, dim, tolerance=tolerance)


@SETTINGS
@given(data=st.data(), dtype=st.sampled_from(FLOATS), dims=st.integers(1, 3), turned=st.booleans())
def test_convolutions(data, dtype, dims, turned):
    draw = data.draw
    groups = whole(draw, 1, 2)
    inside, outside = groups * whole(draw, 1, 2), groups * whole(draw, 1, 2)
    x = draw(
        arrays(
            shape=[whole(draw, 0, 2), inside, *(whole(draw, 0, 6) for _ in range(dims))],
            dtype=dtype,
            layouts=("plain",),
        )
    )
    kernel = [whole(draw, 1, 3) for _ in range(dims)]
    w = draw(
        arrays(
            shape=[inside, outside // groups, *kernel]
            if turned
            else [outside, inside // groups, *kernel],
            dtype=dtype,
            layouts=("plain",),
        )
    )
    bias = tensor(np.arange(outside).astype(dtype)) if draw(st.booleans()) else None
    stride, padding, dilation = ([whole(draw, low, 2) for _ in range(dims)] for low in (1, 0, 1))
    agree(
        "convolution",
        tensor(x, draw(st.booleans())),
        tensor(w),
        bias,
        stride,
        padding,
        dilation,
        turned,
        [0] * dims,
        groups,
        tolerance=10 * tolerance_of(x),
    )


@SETTINGS
@given(
    data=st.data(),
    dtype=st.sampled_from(FLOATS),
    name=st.sampled_from(
        [
            "max_pool1d",
            "max_pool2d",
            "max_pool2d_with_indices",
            "avg_pool2d",
            "avg_pool1d",
            "adaptive_avg_pool2d",
            "adaptive_max_pool2d",
            "adaptive_avg_pool1d",
            "max_pool3d",
            "avg_pool3d",
        ]
    ),
)
def test_pooling(data, dtype, name):
    draw = data.draw
    dims = 1 if "1d" in name else 3 if "3d" in name else 2
    shape = [
        *draw(st.sampled_from([(2,), (1, 2), (0, 2)])),
        *(whole(draw, 0, 7) for _ in range(dims)),
    ]
    x = draw(arrays(shape=shape, dtype=dtype, layouts=("plain",)))
    if draw(st.booleans()):
        x = np.swapaxes(np.swapaxes(x, -1, 0).copy(), -1, 0)
    t, tolerance = tensor(x, draw(st.booleans())), tolerance_of(x)
    if name.startswith("adaptive"):
        agree(name, t, [whole(draw, 0, 4) for _ in range(dims)], tolerance=tolerance)
        return
    size = [whole(draw, 1, 3) for _ in range(dims)]
    stride = draw(st.sampled_from([[], [1] * dims, [2] * dims]))
    padding, ceil = [whole(draw, 0, 1) for _ in range(dims)], draw(st.booleans())
    if "max" in name:
        agree(name, t, size, stride, padding, [whole(draw, 1, 2) for _ in range(dims)], ceil)
    else:
        agree(name, t, size, stride, padding, ceil, draw(st.booleans()), tolerance=tolerance)


@SETTINGS
@given(
    data=st.data(),
    dtype=st.sampled_from(FLOATS),
    name=st.sampled_from(["layer_norm", "group_norm", "batch_norm", "instance_norm", "rms_norm"]),
)
def test_normalisations(data, dtype, name):
    draw = data.draw
    shape = [
        whole(draw, 0 if name == "layer_norm" else 1, 3),
        2 * whole(draw, 1, 2),
        *(whole(draw, 1, 4) for _ in range(whole(draw, 1, 2))),
    ]
    x = draw(arrays(shape=shape, dtype=dtype, layouts=("plain",)))
    t, tolerance = tensor(x, draw(st.booleans())), 20 * tolerance_of(x)
    channels = [tensor(np.linspace(0.5, 1.5, shape[1]).astype(dtype)) for _ in range(4)]
    if name in ("layer_norm", "rms_norm"):
        agree(name, t, shape[whole(draw, 1, 2) :], tolerance=tolerance)
    elif name == "group_norm":
        agree(name, t, draw(st.sampled_from([1, 2])), *channels[:2], tolerance=tolerance)
    elif name == "batch_norm":
        agree(name, t, *channels, draw(st.booleans()), 0.1, 1e-5, False, tolerance=tolerance)
    else:
        agree(name, t, *channels, True, 0.1, 1e-5, False, tolerance=tolerance)


@SETTINGS
@given(
    data=st.data(),
    x=arrays(),
    name=st.sampled_from(
        [
            "cat",
            "stack",
            "constant_pad_nd",
            "reflection_pad1d",
            "replication_pad2d",
            "triu",
            "tril",
            "split.Tensor",
            "chunk",
            "unbind.int",
            "hstack",
            "block_diag",
            "kron",
            "repeat_interleave.self_int",
            "rot90",
            "tile",
            "as_strided",
            "diag_embed",
            "select_scatter",
        ]
    ),
)
def test_joins_and_moves(data, x, name):
    draw = data.draw
    t, dim = tensor(x, draw(st.booleans())), whole(draw, -4, 3)
    if name in ("cat", "stack"):
        other = draw(arrays(shape=x.shape, layouts=("plain", "transposed")))
        agree(name, [t, tensor(other), t], dim, tolerance=tolerance_of(x))
    elif name in ("hstack", "block_diag"):
        agree(name, [t, t])
    elif name == "kron":
        agree(name, t, tensor(np.ones((1, 2), x.dtype)))
    elif name == "constant_pad_nd":
        agree(name, t, [whole(draw, -2, 2) for _ in range(2 * whole(draw, 0, 2))], 1)
    elif name in ("reflection_pad1d", "replication_pad2d"):
        agree(name, t, [whole(draw, 0, 2) for _ in range(4 if "2d" in name else 2)])
    elif name in ("triu", "tril"):
        agree(name, t, whole(draw, -3, 3))
    elif name in ("split.Tensor", "chunk"):
        agree(name, t, whole(draw, 0, 3), dim)
    elif name == "unbind.int":
        agree(name, t, dim)
    elif name == "repeat_interleave.self_int":
        agree(name, t, whole(draw, 0, 3), draw(st.sampled_from([None, dim])))
    elif name == "rot90":
        agree(name, t, whole(draw, -5, 5), [0, 1])
    elif name == "tile":
        agree(name, t, [whole(draw, 0, 2) for _ in range(whole(draw, 0, 4))])
    elif name == "as_strided":
        agree(name, t, [whole(draw, 0, 3), 2], [whole(draw, 0, 2), 1], whole(draw, 0, 4))
    elif name == "diag_embed":
        agree(name, t, whole(draw, -2, 2))
    else:
        agree(name, t, tensor(np.ones((), x.dtype)), dim, whole(draw, -4, 3))


@SETTINGS
@given(
    data=st.data(),
    dtype=st.sampled_from(FLOATS),
    name=st.sampled_from(
        [
            "upsample_nearest1d",
            "upsample_nearest2d",
            "upsample_bilinear2d",
            "upsample_bicubic2d",
            "grid_sampler_2d",
            "pixel_shuffle",
            "im2col",
            "embedding",
            "linear",
            "mse_loss",
            "bmm",
            "linalg_solve",
            "linalg_inv",
            "linalg_cholesky",
        ]
    ),
)
def test_layers(data, dtype, name):
    draw = data.draw

    def made(*shape):
        return draw(arrays(shape=list(shape), dtype=dtype, layouts=("plain",)))

    tolerance = 1e-2 if dtype == "float16" else 1e-4
    if name.startswith("upsample"):
        dims = 1 if "1d" in name else 2
        x = made(1, 2, *(whole(draw, 1, 4) for _ in range(dims)))
        size = [whole(draw, 1, 5) for _ in range(dims)]
        more = [] if "nearest" in name else [draw(st.booleans())]
        agree(name, tensor(x), size, *more, tolerance=tolerance)
    elif name == "grid_sampler_2d":
        grid = made(1, 3, 2, 2) / np.array(2, dtype)
        agree(
            name,
            tensor(made(1, 2, 4, 5)),
            tensor(grid),
            whole(draw, 0, 2),
            whole(draw, 0, 2),
            draw(st.booleans()),
            tolerance=tolerance,
        )
    elif name == "pixel_shuffle":
        agree(name, tensor(made(2, 4, 3, 2), draw(st.booleans())), 2)
    elif name == "im2col":
        agree(name, tensor(made(1, 2, 5, 4)), [2, 2], [1, 1], [whole(draw, 0, 1), 0], [1, 2])
    elif name == "embedding":
        agree(name, tensor(made(5, 3).T.copy().T), places(draw, [2, whole(draw, 0, 3)], 5))
    elif name == "linear":
        agree(
            name,
            tensor(made(whole(draw, 0, 3), 4)),
            tensor(made(2, 4)),
            tensor(made(2)),
            tolerance=tolerance,
        )
    elif name == "mse_loss":
        agree(
            name, tensor(made(3, 2).T), tensor(made(2, 3)), whole(draw, 0, 2), tolerance=tolerance
        )
    elif name == "bmm":
        agree(
            name, tensor(made(2, 3, 4)), tensor(made(2, 4, whole(draw, 0, 3))), tolerance=tolerance
        )
    else:
        x = made(2, 3, 3)
        square = x @ np.swapaxes(x, -1, -2) + 20 * np.eye(3, dtype=dtype)
        extra = [tensor(made(2, 3, 2))] if name == "linalg_solve" else []
        agree(name, tensor(square), *extra, tolerance=tolerance)
