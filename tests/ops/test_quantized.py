"""Quantized operators: the native engine gives the codes of the Python engine, bit by bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scriptlang.interpreter import native

from scriptlang import dtypes
from scriptlang.objects import ScriptObject
from scriptlang.ops import table
from scriptlang.ops.quantization.quantized_tensors import (
    ChannelQuantizer,
    QuantizedTensor,
    of_codes,
    quantize,
)
from scriptlang.tensors import Tensor, from_numpy
from tests.ops.one_operator import is_native, run_natively

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")

RNG = np.random.default_rng(3)
QUINT8, QINT8, QINT32 = dtypes.quint8, dtypes.qint8, dtypes.qint32


def operator(name: str):
    name, _, overload = name.partition(".")
    found = table.find(name, overload)
    assert found is not None and found.kernel, name
    return found


def floats(*shape: int, spread: float = 1.0) -> Tensor:
    return from_numpy(RNG.normal(size=shape).astype(np.float32) * np.float32(spread))


def activation(*shape: int, dtype=QUINT8, scale=0.05, zero=None, last=False) -> QuantizedTensor:
    """Numbers about zero; `last`: with the channels together in memory."""
    zero = (100 if dtype is QUINT8 else -5) if zero is None else zero
    made = quantize(RNG.normal(size=shape).astype(np.float32) * 2, dtype, scale, zero)
    if not last:
        return made
    codes = np.moveaxis(np.ascontiguousarray(np.moveaxis(made.codes._array, 1, -1)), -1, 1)
    return made.with_codes(Tensor._wrap(codes))


def weight(*shape: int, channels=False, zeros=False, axis=0) -> QuantizedTensor:
    codes = Tensor._wrap(RNG.integers(-128, 128, shape).astype(np.int8))
    if not channels:
        return of_codes(codes, QINT8, quantize(np.zeros(1), QINT8, 0.03, 3 * zeros).quantizer)
    n = shape[axis]
    moved = RNG.integers(-4, 5, n) * zeros
    return of_codes(
        codes,
        QINT8,
        ChannelQuantizer(
            Tensor._wrap(RNG.uniform(0.01, 0.05, n)), Tensor._wrap(moved.astype(np.int64)), axis
        ),
    )


def steps(x: Tensor) -> list[int]:
    """The strides that matter."""
    return [s for s, n in zip(x.stride(), x.size()) if n > 1] if x.numel() else []


def same(got, want) -> None:
    """Bit by bit, with type, parameters, and the order in memory."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            same(a, b)
    elif isinstance(want, ScriptObject):
        assert got.type is want.type
        same(list(got.slots), list(want.slots))
    elif isinstance(want, QuantizedTensor):
        assert isinstance(got, QuantizedTensor) and got.dtype is want.dtype
        assert type(got.quantizer) is type(want.quantizer)
        if isinstance(want.quantizer, ChannelQuantizer):
            assert got.quantizer.axis == want.quantizer.axis
            same(got.quantizer.scales, want.quantizer.scales)
            same(got.quantizer.zero_points, want.quantizer.zero_points)
        else:
            assert got.quantizer.scale == want.quantizer.scale
            assert got.quantizer.zero_point == want.quantizer.zero_point
        assert got.size() == want.size() and steps(got) == steps(want)
        np.testing.assert_array_equal(got.codes._array, want.codes._array)
    elif isinstance(want, Tensor):
        assert got.dtype is want.dtype and got.size() == want.size() and steps(got) == steps(want)
        np.testing.assert_array_equal(got._array, want._array)
    else:
        assert got == want


def both(name: str, *args) -> None:
    op = operator(name)
    assert is_native(op), f"{name} is not native"
    want = op.kernel(*args)
    same(run_natively(op, args), want)


def test_every_operator_is_native():
    ours = [
        op
        for op in table.all_operators()
        if op.kernel
        and not op.form
        and (
            op.name.partition("::")[0] in ("quantized", "prepacked")
            or op.name.partition("::")[2]
            .removeprefix("_")
            .startswith(
                (
                    "quantize_",
                    "q_",
                    "int_repr",
                    "qscheme",
                    "dequantize",
                    "fake_quantize",
                    "quantized_",
                    "make_per_",
                    "empty_affine",
                    "fused_moving_avg",
                )
            )
        )
    ]
    assert len(ours) > 150
    assert [op.qualified_name for op in ours if not is_native(op)] == []


EDGES = from_numpy(
    np.array(
        [0.5, 1.5, -0.5, 2.5, 300, -300, np.nan, np.inf, -np.inf, 0.49999997, 1e30, -0.0] * 3,
        np.float32,
    )
)


@pytest.mark.parametrize("dtype", [QUINT8, QINT8, QINT32])
@pytest.mark.parametrize("x, scale", [(EDGES, 1.0), (floats(5, 7), 0.013), (floats(3, 65), 1e-3)])
def test_quantize_and_back(dtype, x, scale):
    for zero in (0, 3):
        both("aten::quantize_per_tensor", x, scale, zero, dtype.code)
        q = quantize(x._array, dtype, scale, zero)
        for name in ("dequantize.self", "int_repr", "q_scale", "q_zero_point", "qscheme"):
            both(f"aten::{name}", q)


@pytest.mark.parametrize("kinds", [(np.float64, np.int64), (np.float32, np.float32)])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_channels(kinds, axis):
    x = floats(3, 4, 5)
    n = x.size(axis)
    scales = Tensor._wrap(RNG.uniform(0.01, 0.1, n).astype(kinds[0]))
    zeros = Tensor._wrap(RNG.integers(-3, 4, n).astype(kinds[1]))
    for dtype in (QINT8, QUINT8, QINT32):
        both("aten::quantize_per_channel", x, scales, zeros, axis, dtype.code)
        q = operator("aten::quantize_per_channel").kernel(x, scales, zeros, axis, dtype.code)
        for name in (
            "dequantize.self",
            "int_repr",
            "q_per_channel_scales",
            "qscheme",
            "q_per_channel_zero_points",
            "q_per_channel_axis",
        ):
            both(f"aten::{name}", q)


@pytest.mark.parametrize("spread, shift", [(1, 0), (1e-6, 0), (0, 0), (1, 5), (1, -5), (1e3, 1)])
def test_ranges(spread, shift):
    x = from_numpy(floats(6, 37, spread=spread)._array + np.float32(shift * spread))
    for dtype, reduce_range in itertools.product((QUINT8, QINT8), (False, True)):
        both("aten::quantize_per_tensor_dynamic", x, dtype.code, reduce_range)


def test_codes_by_hand():
    for codes in (
        np.arange(12, dtype=np.uint8),
        np.arange(-6, 6, dtype=np.int8),
        np.arange(12, dtype=np.int32),
    ):
        x = from_numpy(codes.reshape(3, 4))
        both("aten::_make_per_tensor_quantized_tensor", x, 0.5, 3)
        both("aten::_make_per_channel_quantized_tensor", x, floats(3), from_numpy(np.arange(3)), 0)


def test_fake_quantization():
    x, scale = floats(4, 6, spread=3), from_numpy(np.array([0.1, 0.2, 0.3, 0.4], np.float32))
    zero = from_numpy(np.array([0, 1, -1, 5], np.int32))
    both("aten::fake_quantize_per_tensor_affine", x, 0.07, 3, -8, 7)
    both("aten::fake_quantize_per_channel_affine", x, scale, zero, 0, -128, 127)


# Layers


@pytest.mark.parametrize(
    "m, k, n", [(1, 5, 3), (3, 64, 64), (7, 33, 130), (50, 8, 17), (2, 300, 65)]
)
@pytest.mark.parametrize("dtype", [QUINT8, QINT8])
@pytest.mark.parametrize("channels, zeros", [(False, False), (True, False), (True, True)])
def test_linear(m, k, n, dtype, channels, zeros):
    w, bias = weight(n, k, channels=channels, zeros=zeros), floats(n)
    for b in (bias, None):
        params = operator("quantized::linear_prepack").kernel(w, b)
        for relu in ("", "_relu"):
            both(f"quantized::linear{relu}", activation(m, k, dtype=dtype), params, 0.7, 4)
            for reduce_range in (False, True):
                both(f"quantized::linear{relu}_dynamic", floats(m, k), params, reduce_range)
    both("quantized::linear", activation(2, m, k, dtype=dtype), params, 0.7, 4)
    both("quantized::linear", activation(k, dtype=dtype), params, 0.7, 4)
    both("quantized::linear_unpack", params)
    both("quantized::linear_prepack", w, bias)


CONVOLUTIONS = [
    # channels, outputs, kernel, stride, padding, dilation, groups
    (3, 8, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (4, 6, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    (8, 8, (3, 3), (1, 1), (1, 1), (1, 1), 8),
    (70, 70, (3, 2), (2, 1), (1, 0), (1, 1), 70),
    (6, 4, (3, 3), (2, 1), (2, 1), (2, 2), 2),
    (4, 80, (5, 3), (1, 2), (0, 3), (1, 1), 1),
    (4, 8, (3, 3), (1, 1), (1, 1), (1, 1), 4),
    (16, 16, (3, 3), (3, 3), (0, 0), (1, 2), 16),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("dtype, last", [(QUINT8, False), (QUINT8, True), (QINT8, False)])
def test_conv2d(case, dtype, last):
    c, o, kernel, stride, padding, dilation, groups = case
    x = activation(2, c, 9, 11, dtype=dtype, last=last)
    for channels, bias in itertools.product((False, True), (None, floats(o, spread=3))):
        w = weight(o, c // groups, *kernel, channels=channels)
        given = (w, bias, list(stride), list(padding), list(dilation), groups)
        both("quantized::conv2d_prepack", *given)
        params = operator("quantized::conv2d_prepack").kernel(*given)
        for relu in ("", "_relu"):
            both(f"quantized::conv2d{relu}.new", x, params, 1.3, 7)
        both("quantized::conv2d_dynamic", floats(2, c, 9, 11), params, False)
    made = operator("quantized::conv2d.new").kernel(x, params, 1.3, 7)
    assert made.stride()[1] == 1
    assert (
        run_natively(operator("quantized::conv2d.new"), (x, params, 1.3, 7)).stride()
        == made.stride()
    )
    both("quantized::conv2d_add", x, made, params, 1.1, 3)
    both("quantized::conv2d_add_relu", x, made, params, 1.1, 3)
    for part in ("stride", "padding", "dilation", "output_padding", "groups", "transpose"):
        both(f"quantized::conv2d_{part}", params)
    both("quantized::conv2d_unpack", params)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_other_dimensions(n, groups):
    w = weight(6, 4 // groups, *(3,) * n, channels=True, zeros=True)
    params = operator(f"quantized::conv{n}d_prepack").kernel(
        w, floats(6), [2] * n, [1] * n, [1] * n, groups
    )
    new = "" if n == 1 else ".new"
    for relu in ("", "_relu"):
        both(f"quantized::conv{n}d{relu}{new}", activation(2, 4, *(7,) * n), params, 0.9, 2)
        with pytest.raises(RuntimeError, match="Expected activation tensor"):
            operator(f"quantized::conv{n}d{relu}{new}").kernel(
                activation(4, *(7,) * n), params, 0.9, 2
            )
    both(f"quantized::conv{n}d_unpack", params)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("groups, channels", [(1, False), (2, False), (1, True)])
@pytest.mark.parametrize("dtype", [QUINT8, QINT8])
def test_transposed(n, groups, channels, dtype):
    w = weight(4, 6 // groups, *(3,) * n, channels=channels, axis=1)
    params = operator(f"quantized::conv_transpose{n}d_prepack").kernel(
        w, floats(6), [2] * n, [1] * n, [1] * n, [1] * n, groups
    )
    both(f"quantized::conv_transpose{n}d", activation(2, 4, *(5,) * n, dtype=dtype), params, 0.9, 2)
    for reduce_range in (False, True):
        both(
            f"quantized::conv_transpose{n}d_dynamic", floats(2, 4, *(5,) * n), params, reduce_range
        )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("size", [(0, 4), (2, 4)])
def test_products_of_nothing(n, size):
    """Of no images, and of images without pixels, which still have padding around them."""
    rest = (3,) * n if size[0] == 0 else (0,) + (3,) * (n - 1)
    steps, pads, ones = [1] * n, [2] * n, [1] * n
    params = operator(f"quantized::conv{n}d_prepack").kernel(
        weight(6, 4, *(3,) * n), floats(6), steps, pads, ones, 1
    )
    new = "" if n == 1 else ".new"
    both(f"quantized::conv{n}d{new}", activation(*size, *rest), params, 0.9, 2)
    both(f"quantized::conv{n}d_dynamic", floats(*size, *rest), params, False)
    params = operator(f"quantized::conv_transpose{n}d_prepack").kernel(
        weight(4, 6, *(3,) * n), floats(6), steps, [0] * n, [0] * n, ones, 1
    )
    both(f"quantized::conv_transpose{n}d", activation(*size, *rest), params, 0.9, 2)
    both(f"quantized::conv_transpose{n}d_dynamic", floats(*size, *rest), params, False)


@pytest.mark.parametrize("rows, k, columns", [(0, 4, 3), (2, 0, 3), (2, 4, 0)])
def test_linear_layers_of_nothing(rows, k, columns):
    params = operator("quantized::linear_prepack").kernel(weight(columns, k), floats(columns))
    both("quantized::linear", activation(rows, k), params, 0.7, 4)
    both("quantized::linear_dynamic", floats(rows, k), params, False)


def test_dynamic_convolutions_end_with_their_input():
    """As PyTorch's, they round to the codes of the input."""
    params = operator("quantized::conv1d_prepack").kernel(
        quantize(np.full((1, 1, 1), 2.0), QINT8, 0.5, 0), floats(1) * 0, [1], [0], [1], 1
    )
    x = from_numpy(np.float32([[[-1.0, 0.5, 1.0]]]))
    both("quantized::conv1d_dynamic", x, params, False)
    made = operator("quantized::conv1d_dynamic").kernel(x, params, False)
    assert np.allclose(made._array, [[[-1, 1, 1]]], atol=0.01)


# Pointwise

LAYOUTS = [dict(), dict(last=True), dict(dtype=QINT8), dict(dtype=QINT32)]


@pytest.mark.parametrize("how", LAYOUTS)
@pytest.mark.parametrize("name", ["add", "add_relu", "mul", "mul_relu"])
def test_two_operands(name, how):
    a, b = activation(2, 5, 7, 3, **how), activation(2, 5, 7, 3, scale=0.11, zero=7, **how)
    both(f"quantized::{name}", a, b, 0.09, 11)
    both(f"quantized::{name}", a, activation(5, 1, 1, **{**how, "last": False}), 0.09, 11)
    for value in (0.5, -1.5, 20.0, -20.0, 0.0, 3):
        for form in (
            f"{name}.Scalar",
            f"{name.replace('_relu', '')}_scalar{'_relu' if 'relu' in name else ''}",
        ):
            both(f"quantized::{form}", a, value)


@pytest.mark.parametrize("how", LAYOUTS)
def test_joining(how):
    a, b = activation(2, 3, 5, 3, **how), activation(2, 4, 5, 3, scale=0.11, zero=7, **how)
    for relu in ("", "_relu"):
        both(f"quantized::cat{relu}", [a, b], 1, 0.07, 13)
        both(f"quantized::cat{relu}", [a, b], 1, None, None)
    both("aten::cat", [a, b], 1)
    both("aten::stack", [a, a], 0)
    both(
        "quantized::matmul",
        activation(3, 4, **{**how, "last": False}),
        activation(4, 5, **{**how, "last": False}),
        0.3,
        1,
    )


ONE_OPERAND = [
    ("quantized::relu6", False),
    ("quantized::clamp", -0.5, 1.0),
    ("quantized::clamp", None, 0.3),
    ("quantized::threshold", 0.1, -0.7),
    ("quantized::leaky_relu", 0.1, False, 0.06, 9),
    ("quantized::hardswish", 0.06, 9),
    ("quantized::dropout", 0.06, 9, 0.5, False),
    ("aten::relu",),
    ("aten::hardtanh", -0.4, 0.6),
    ("aten::clamp", -0.4, None),
    ("aten::clamp_min", -0.2),
    ("aten::clamp_max", 0.2),
    ("aten::clone", None),
    ("aten::max_pool2d", [3, 3], [2, 2], [1, 1], [1, 1], False),
    ("aten::max_pool2d", [2, 2], [2, 2], [0, 0], [1, 1], True),
    ("aten::avg_pool2d", [2, 2], [2, 2], [0, 0], False, True, None),
    ("aten::avg_pool2d", [3, 3], [2, 2], [1, 1], False, True, None),
    ("aten::adaptive_avg_pool2d", [1, 1]),
    ("aten::adaptive_avg_pool2d", [3, 2]),
    ("aten::mean.dim", [2, 3], False, None),
    ("aten::upsample_nearest2d", [14, 6], None, None),
    ("aten::flatten.using_ints", 1, 3),
    ("aten::transpose.int", 1, 2),
    ("aten::select.int", 1, 2),
    ("aten::reshape", [2, -1]),
    ("aten::permute", [0, 2, 3, 1]),
    ("aten::unsqueeze", 0),
    ("aten::slice.Tensor", 1, 1, 4, 2),
    ("aten::flip", [1]),
    ("aten::repeat", [1, 2, 1, 1]),
    ("aten::max",),
    ("aten::min",),
    ("aten::amax", [1], True),
    ("aten::max.dim", 1, False),
    ("aten::pad", [1, 1, 0, 2], "constant", 0.3),
    ("aten::pad", [1, 1, 1, 0], "reflect", None),
    ("aten::reflection_pad2d", [1, 1, 1, 1]),
    ("aten::channel_shuffle", 5),
    ("aten::contiguous", 0),
    ("aten::detach",),
    ("aten::eq.Scalar", 0.5),
    ("aten::lt.Scalar", 0.2),
    ("aten::numel",),
    ("aten::size",),
    ("aten::to.dtype", dtypes.quint8.code, False, False, None),
    ("prim::is_quantized",),
    ("aten::max_pool2d", [3, 3], [3, 2], [1, 1], [1, 1], True),
]


@pytest.mark.parametrize("how", LAYOUTS[:3])
@pytest.mark.parametrize("name, rest", [(name, rest) for name, *rest in ONE_OPERAND])
def test_one_operand(name, rest, how):
    both(name, activation(2, 5, 7, 3, **how), *rest)


@pytest.mark.parametrize("dtype, zero", [(QUINT8, 105), (QINT8, 0)])
def test_the_largest(dtype, zero):
    """Of numbers that differ: where equal ones stand is nobody's promise."""
    numbers = RNG.permutation(210).reshape(2, 5, 7, 3).astype(np.float32) - 105
    both("aten::topk", quantize(numbers * np.float32(0.5), dtype, 0.5, zero), 2, 1, True, True)


CURVES = [
    ("quantized::sigmoid", 1 / 256, 0),
    ("quantized::elu", 0.05, 20, 1.0, 1.0, 1.0),
    ("quantized::celu", 0.05, 20, 1.5),
    ("quantized::softmax", 1, 1 / 256, 0),
    ("aten::sigmoid",),
    ("aten::tanh",),
    ("aten::hardsigmoid",),
    ("aten::hardswish",),
    ("aten::leaky_relu", 0.2),
    ("aten::elu", 1.0, 1.0, 1.0),
    ("quantized::group_norm", 5, None, None, 1e-5, 0.05, 3),
    ("quantized::instance_norm", None, None, 1e-5, 0.05, 3),
    ("quantized::layer_norm", [7, 3], None, None, 1e-5, 0.05, 3),
    ("aten::upsample_bilinear2d", [14, 6], False, None, None),
]


@pytest.mark.parametrize("how", LAYOUTS[:3])
@pytest.mark.parametrize("name, rest", [(name, rest) for name, *rest in CURVES])
def test_functions_that_round_differently(name, rest, how):
    """Their numbers may differ in the last bit, and so a code by one where two are as near."""
    x, op = activation(2, 5, 7, 3, **how), operator(name)
    want, got = op.kernel(x, *rest), run_natively(op, (x, *rest))
    assert got.dtype is want.dtype and got.quantizer.scale == want.quantizer.scale
    off = np.abs(got.codes._array.astype(int) - want.codes._array)
    assert off.max() <= 1 and off.mean() < 0.02


@pytest.mark.parametrize("how", LAYOUTS[:3])
def test_normalisation_and_slopes(how):
    x = activation(2, 5, 7, 3, **how)
    w, b, mean = floats(5), floats(5), floats(5)
    var = from_numpy(RNG.uniform(0.5, 2, 5).astype(np.float32))
    for relu in ("", "_relu"):
        for kind in ("", "2d"):
            both(f"quantized::batch_norm{kind}{relu}", x, w, b, mean, var, 1e-5, 0.1, 3)
    slopes = activation(5, dtype=x.dtype), activation(1, dtype=x.dtype)
    for slope in slopes:
        both("quantized::prelu", x, slope, 0.05, 3)


def test_in_place():
    for name in ("relu_", "hardtanh_"):
        for how in LAYOUTS[:3]:
            a = activation(2, 5, 7, 3, **how)
            b = a.with_codes(Tensor._wrap(a.codes._array.copy(order="K")))
            rest = (-0.3, 0.4) if name == "hardtanh_" else ()
            operator(f"aten::{name}").kernel(a, *rest)
            same(run_natively(operator(f"aten::{name}"), (b, *rest)), a)
            same(b, a)
    source, to = activation(3, 4), activation(3, 4, scale=0.2, zero=1)
    same(run_natively(operator("aten::copy_"), (to, source, False)), source)
    assert to.q_scale() == 0.05
    numbers = floats(3, 4)
    made = run_natively(operator("aten::copy_"), (to, numbers, False))
    same(made, quantize(numbers._array, QUINT8, 0.05, 100))


def test_views_share_memory():
    x = activation(4, 5)
    row = run_natively(operator("aten::select.int"), (x, 0, 2))
    assert isinstance(row, QuantizedTensor) and row._storage is x._storage
    x.codes._array[2] = 9
    assert row.int_repr().tolist() == [9] * 5


def test_operators_that_know_nothing_of_quantization_say_so():
    for name, rest, why in (
        ("aten::exp", (), "not implemented for 'QUInt8'"),
        ("aten::cumsum", (0, None), r"takes no quantized tensor \(torch.quint8\)"),
        ("aten::tril", (0,), r"takes no quantized tensor \(torch.quint8\)"),
        ("aten::add.Tensor", (floats(2, 2), 1), r"QUInt8 and Float have no common type"),
        ("aten::linear", (floats(2, 2), None), "quint8 != torch.float32"),
    ):
        with pytest.raises(RuntimeError, match=why):  # NotImplementedError is one
            run_natively(operator(name), (activation(2, 2), *rest))


# Embeddings and recurrent layers


@pytest.mark.parametrize("dtype, bits", [(QUINT8, "byte"), (QINT8, "4bit")])
def test_embeddings(dtype, bits):
    table_ = operator("aten::quantize_per_channel").kernel(
        floats(20, 8),
        from_numpy(RNG.uniform(0.01, 0.05, 20).astype(np.float32)),
        floats(20),
        0,
        dtype.code,
    )
    params = operator("quantized::embedding_bag_prepack").kernel(table_)
    both("quantized::embedding_bag_prepack", table_)
    both("quantized::embedding_bag_unpack", params)
    indices = from_numpy(RNG.integers(0, 20, (3, 4)))
    both(f"quantized::embedding_{bits}", params, indices, False)
    op = operator(f"quantized::embedding_bag_{bits}")
    flat, offsets = from_numpy(RNG.integers(0, 20, 9)), from_numpy(np.array([0, 4, 4, 9]))
    for args in (
        (params, indices, None, False, 0, False, None, None, False),
        (params, flat, offsets, False, 1, False, None, None, True),
        (params, flat, offsets, False, 0, False, floats(9), None, True),
    ):
        np.testing.assert_allclose(
            run_natively(op, args)._array, op.kernel(*args)._array, rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("half", [False, True])
def test_recurrent_layers(kind, half):
    gates, size = {"lstm": 4, "gru": 3}[kind] * 6, 6
    prepack = operator("quantized::linear_prepack" + "_fp16" * half).kernel

    def cell(inputs: int):
        ws = [floats(gates, n, spread=0.3) for n in (inputs, size)]
        ws = ws if half else [quantize(w._array, QINT8, 0.01, 0) for w in ws]
        biases = [floats(gates), floats(gates)]
        packed = [prepack(w, b) for w, b in zip(ws, biases)]
        if half:
            return operator("quantized::make_quantized_cell_params_fp16").kernel(*packed)
        return operator("quantized::make_quantized_cell_params_dynamic").kernel(
            *packed, *biases, True
        )

    params = [cell(n) for n in (5, 5, 12, 12)]
    state = floats(4, 3, size)
    hx = [state, floats(4, 3, size)] if kind == "lstm" else state
    more = (None, False) if kind == "lstm" else ()
    op = operator(f"aten::quantized_{kind}.input")
    args = (floats(7, 3, 5), hx, params, True, 2, 0.0, False, True, False, *more)
    for got, want in zip(run_natively(op, args), op.kernel(*args)):
        np.testing.assert_allclose(got._array, want._array, rtol=2e-2, atol=1e-5 if half else 2e-2)
    cells = [p.slots[0][4] for p in params[:1]][0]
    name = f"quantized::quantized_{kind}_cell_dynamic"
    h = floats(3, size)
    args = (
        floats(3, 5),
        [h, floats(3, size)] if kind == "lstm" else h,
        *cells,
        floats(gates),
        floats(gates),
    )
    got, want = run_natively(operator(name), args), operator(name).kernel(*args)
    for a, b in zip(got if kind == "lstm" else [got], want if kind == "lstm" else [want]):
        np.testing.assert_allclose(a._array, b._array, rtol=2e-2, atol=1e-4)
