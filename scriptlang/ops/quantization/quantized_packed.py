"""Linear and convolution layers of quantized tensors, with their weights in packed objects.

A packed object is an instance of a class of PyTorch's C++ library; its one slot holds the state
that archives store: for linear layers (weight, bias), for convolutions ("2", [numbers, weight],
[bias]).  The numbers are: how many spatial dimensions there are, strides, paddings, dilations,
output paddings, groups, and whether it is transposed.
"""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ... import types as T
from ...objects import ScriptObject
from ...records import record
from ...tensors import Tensor
from .. import table
from ..families.conv import correlate, pad_spatial, per_dimension, scatter
from ..shared.layout import laid, order_of, rows
from ..table import declare, describe, primitive
from .quantize import choose_parameters, requantized
from .quantized_tensors import LARGEST_ZERO, QuantizedTensor, Quantizer, encode, limits, of_codes

CLASSES = "__torch__.torch.classes.quantized."
LINEAR = CLASSES + "LinearPackedParamsBase"
CONV = {n: f"{CLASSES}Conv{max(n, 2)}dPackedParamsBase" for n in (1, 2, 3)}
EXACT_IN_FLOAT32 = 1 << 24
NO_PACKED = "__setstate__ of its class has not given it a state"


def packed(name: str, state) -> ScriptObject:
    return ScriptObject(T.custom_class(name), [state])


def state_of(params: ScriptObject, name: str) -> tuple:
    """The state of a packed object.  Raises RuntimeError for another class or a malformed state."""
    if not isinstance(params, ScriptObject) or params.type.name != name:
        raise RuntimeError(f"expected an object of {name}")
    state = params.slots[0] if params.slots else None
    if not isinstance(state, tuple) or not state:
        raise RuntimeError(f"an object of {name} has no weights: {NO_PACKED}")
    return state


# Products of codes


def exact_product(multiply, length: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`multiply(a, b)` of integers, in a float type that represents every sum exactly.

    length: how many products are summed.
    """
    kind = np.float32 if length * 255 * 255 < EXACT_IN_FLOAT32 else np.float64
    return multiply(a.astype(kind), b.astype(kind))


def centred(x: QuantizedTensor) -> np.ndarray:
    """The codes minus the zero point, as int32, in the memory format that they suggest."""
    _, zero = x.quantizer.parameters(x.dim())
    return x.laid_codes().astype(np.int32) - zero


def check_activation(x: Tensor, name: str) -> QuantizedTensor:
    if not isinstance(x, QuantizedTensor) or not isinstance(x.quantizer, Quantizer):
        raise RuntimeError(f"{name} takes a tensor that is quantized per tensor; quantize it first")
    return x


def check_plain(name: str, x: QuantizedTensor, zero_point: int) -> None:
    """Raise RuntimeError unless codes are bytes and the input's zero point is in their range."""
    low, high = limits(x.dtype)
    if (
        x.dtype.itemsize != 1
        or not low <= x.quantizer.zero_point <= high
        or abs(zero_point) > LARGEST_ZERO
    ):
        raise RuntimeError(f"{name} takes inputs of quint8 or qint8 with zero points of that range")


def finished(
    sums: np.ndarray,
    x: QuantizedTensor,
    weight: QuantizedTensor,
    bias: Tensor | None,
    scale: float,
    zero_point: int,
    channel_dim: int,
    relu: bool,
) -> QuantizedTensor:
    """Add the bias to sums of products, and quantize them with the output's parameters."""
    shape = [-1 if d == channel_dim % sums.ndim else 1 for d in range(sums.ndim)]
    weight_scale = weight.quantizer.all_scales()
    both = (np.float32(x.quantizer.scale) * weight_scale).astype(np.float32)
    total = sums.astype(np.float32)
    if bias is not None:
        total = total + (bias._array.astype(np.float32) / both).reshape(shape)
    ratio = (both / np.float32(scale)).astype(np.float32)
    scaled = total * ratio.reshape(shape if ratio.size > 1 else [1] * sums.ndim)
    return requantized(np.maximum(scaled, 0) if relu else scaled, x, scale, zero_point)


# Linear


def dense(bias: Tensor | None) -> Tensor | None:
    return copied(bias) if bias is not None and not bias.is_contiguous() else bias


@primitive(f"quantized::linear_prepack(Tensor W, Tensor? B=None) -> {LINEAR} W_prepack")
def linear_prepack(weight, bias):
    if not isinstance(weight, QuantizedTensor) or weight.dtype is not dtypes.qint8:
        raise RuntimeError("linear_prepack takes a weight of qint8")
    return packed(LINEAR, (weight, dense(bias)))


@primitive(f"quantized::linear_prepack_fp16(Tensor W, Tensor? B=None) -> {LINEAR} W_prepack")
def linear_prepack_fp16(weight, bias):
    if weight.dim() < 2:
        raise IndexError(f"linear_prepack_fp16 takes a matrix, not {weight.dim()} dimensions")
    limit = np.float32(np.finfo(np.float16).max)
    halves = np.clip(weight._array.astype(np.float32), -limit, limit).astype(np.float16)
    return packed(LINEAR, (Tensor._wrap(halves.astype(np.float32)), dense(bias)))


@primitive(
    f"quantized::linear_unpack({LINEAR} W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
    f"quantized::linear_unpack_fp16({LINEAR} W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
    may_share=True,
)
def linear_unpack(params):
    weight, bias = state_of(params, LINEAR)[:2]
    return copied(weight), bias


def linear_sums(x: QuantizedTensor, weight: QuantizedTensor) -> np.ndarray:
    if x.dim() < 1 or x._size[-1] != weight._size[1]:
        raise RuntimeError(
            f"an input of size {list(x._size)} does not fit a weight of size {list(weight._size)}"
        )
    return exact_product(np.matmul, weight._size[1], rows(centred(x)), centred(weight).T)


def linear(relu: bool):
    def kernel(x, params, scale, zero_point):
        weight, bias = state_of(params, LINEAR)[:2]
        x = check_activation(x, "quantized::linear")
        check_plain("quantized::linear", x, zero_point)
        return finished(linear_sums(x, weight), x, weight, bias, scale, zero_point, -1, relu)

    return kernel


def linear_dynamic(relu: bool):
    """The kernel of a dynamic linear layer.

    It quantizes the input by its range; the result is float32.
    """

    def kernel(x, params, reduce_range):
        weight, bias = state_of(params, LINEAR)[:2]
        if x.dtype is not dtypes.float32:
            raise RuntimeError(
                f"expected scalar type Float but found {dtypes.DISPLAY[x.dtype.name]}"
            )
        made = dynamic_product(x, weight, bias, reduce_range)
        return Tensor._wrap(np.maximum(made, 0) if relu else made)

    return kernel


def dynamically_quantized(x: Tensor, reduce_range: bool) -> QuantizedTensor:
    array = np.ascontiguousarray(x._array, np.float32)
    quantizer = Quantizer(*choose_parameters(array, 0, 127 if reduce_range else 255))
    return of_codes(Tensor._wrap(encode(array, dtypes.quint8, quantizer)), dtypes.quint8, quantizer)


def dynamic_product(
    x: Tensor, weight: Tensor, bias: Tensor | None, reduce_range: bool
) -> np.ndarray:
    """x @ weight.T + bias for a packed weight: int8, or floats rounded to float16."""
    if isinstance(weight, QuantizedTensor):
        q = dynamically_quantized(x, reduce_range)
        scale = np.float32(q.quantizer.scale) * weight.quantizer.all_scales()
        made = linear_sums(q, weight).astype(np.float32) * scale.astype(np.float32)
    else:
        made = x._array.astype(np.float32) @ weight._array.astype(np.float32).T
    return made if bias is None else made + bias._array.astype(np.float32)


for _relu in ("", "_relu"):
    declare(
        f"quantized::linear{_relu}(Tensor X, {LINEAR} W_prepack, float Y_scale_i, "
        "int Y_zero_point_i) -> Tensor Y",
        linear(bool(_relu)),
        "primitive",
    )
    declare(
        f"quantized::linear{_relu}_dynamic(Tensor X, {LINEAR} W_prepack, "
        "bool reduce_range=False) -> Tensor Y"
        if _relu
        else f"quantized::linear_dynamic(Tensor X, {LINEAR} W_prepack, bool reduce_range=False)"
        " -> Tensor Y",
        linear_dynamic(bool(_relu)),
        "primitive",
    )
    declare(
        f"quantized::linear{_relu}_dynamic_fp16(Tensor X, {LINEAR} W_prepack) -> Tensor Y",
        lambda x, params, f=linear_dynamic(bool(_relu)): f(x, params, False),
        "primitive",
    )


# Convolutions


@record(frozen=True)
class Convolution:
    """The contents of a packed convolution."""

    weight: QuantizedTensor
    bias: Tensor | None
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    output_padding: list[int]
    groups: int
    transposed: bool

    def state(self) -> tuple:
        numbers = [
            len(self.stride),
            *self.stride,
            *self.padding,
            *self.dilation,
            *self.output_padding,
            self.groups,
            int(self.transposed),
        ]
        return ("2", [Tensor._wrap(np.array(numbers, np.int16)), self.weight], [self.bias])


def convolution_of(params: ScriptObject, n: int) -> Convolution:
    """The contents of a packed convolution, for any version of its state."""
    state = state_of(params, CONV[n])
    if len(state) == 6 and isinstance(state[0], Tensor):  # the first version
        weight, bias, *numbers, groups = state
        lists = [[int(v._item()) for v in part] for part in numbers]
        if not isinstance(weight, QuantizedTensor) or {len(v) for v in lists} != {weight.dim() - 2}:
            raise RuntimeError("a packed convolution is malformed")
        return Convolution(weight, bias, *lists, [0] * len(lists[0]), int(groups._item()), False)
    if len(state) != 3 or state[0] not in ("2", 3):
        raise RuntimeError(
            f"packed convolutions of version {state[0]!r:.20} cannot be read; save "
            "the model again with a newer PyTorch"
        )
    if state[0] == "2":
        numbers, weight, bias = state[1][0]._array.tolist(), state[1][1], state[2][0]
    else:
        numbers, (_, weight, bias) = list(state[1]), state[2]
    d = numbers[0]
    if (
        d not in (2, 3)
        or len(numbers) < 4 * d + 3
        or not isinstance(weight, QuantizedTensor)
        or weight.dim() != d + 2
    ):
        raise RuntimeError("a packed convolution is malformed")
    parts = [numbers[1 + i * d : 1 + (i + 1) * d] for i in range(4)]
    return Convolution(weight, bias, *parts, numbers[1 + 4 * d], bool(numbers[2 + 4 * d] & 1))


def prepack(n: int, transposed: bool):
    def kernel(weight, bias, stride, padding, *rest):
        output_padding, dilation, groups = rest if transposed else ([0] * n, *rest)
        if not isinstance(weight, QuantizedTensor) or weight.dtype is not dtypes.qint8:
            raise RuntimeError("a quantized convolution takes a weight of qint8")
        lists = [
            per_dimension("argument", v, n) for v in (stride, padding, dilation, output_padding)
        ]
        if n == 1:  # stored as an image with one row
            size, steps = list(weight._size), list(weight._stride)
            weight = weight._as_view(
                (*size[:2], 1, size[2]), (*steps[:2], steps[2], steps[2]), weight._offset
            )
            lists = [[fill, *v] for fill, v in zip((1, 0, 1, 0), lists)]
        made = Convolution(weight, bias, *lists, groups, transposed)
        return packed(CONV[n], made.state())

    return kernel


def copied(x: Tensor) -> Tensor:
    """A copy of a tensor, quantized or plain."""
    return table.find("aten::clone", "").kernel(x, None)


def unpack(n: int):
    def kernel(params):
        made = convolution_of(params, n)
        weight = copied(made.weight)
        if n == 1 and weight._size[2] == 1:
            weight = weight._as_view(
                (*weight._size[:2], weight._size[3]),
                (*weight._stride[:2], weight._stride[3]),
                weight._offset,
            )
        return weight, made.bias

    return kernel


def products(x: np.ndarray, made: Convolution) -> np.ndarray:
    weight = centred(made.weight)
    if x.shape[1] != (weight.shape[0] if made.transposed else weight.shape[1] * made.groups):
        raise RuntimeError(
            f"an input of size {list(x.shape)} does not fit a weight of size "
            f"{list(weight.shape)} in {made.groups} groups"
        )
    if made.transposed:
        return exact_product(
            lambda a, b: scatter(
                a, b, made.stride, made.padding, made.dilation, made.output_padding, made.groups
            ),
            weight.shape[0] * weight[0, 0].size,
            x,
            weight,
        )
    x = pad_spatial(x, made.padding, made.padding)
    if any(
        size < d * (k - 1) + 1 for size, k, d in zip(x.shape[2:], weight.shape[2:], made.dilation)
    ):
        raise RuntimeError(f"the padded input, {list(x.shape)}, is smaller than the kernel")
    return exact_product(
        lambda a, b: correlate(a, b, made.stride, made.dilation, made.groups),
        weight[0].size,
        np.ascontiguousarray(x),
        weight,
    )


def batched(x: np.ndarray, n: int, rank: int) -> np.ndarray:
    """Check that codes (N, C, *) fit `rank` dimensions; signals become images with one row."""
    if x.ndim != rank - (n == 1):
        raise RuntimeError(
            f"quantized::conv{n}d: Expected activation tensor to have "
            f"{rank - (n == 1)} dimensions, got {x.ndim}"
        )
    return x[:, :, None] if n == 1 else x


def channels_last(x: np.ndarray) -> np.ndarray:
    """The array in channels-last memory format, as all quantized convolutions of PyTorch return it.

    Pointwise results of it keep that order.
    """
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def convolve(n: int, relu: bool, has_numbers: bool = False):
    def kernel(x, params, *rest):
        scale, zero_point = rest[-2:]
        made = convolution_of(params, n)
        x = check_activation(x, f"quantized::conv{n}d")
        check_plain(f"quantized::conv{n}d", x, zero_point)
        sums = products(batched(centred(x), n, made.weight.dim()), made)
        result = finished(
            channels_last(sums), x, made.weight, made.bias, scale, zero_point, 1, relu
        )
        return reshaped(result, x.dim(), n)

    return kernel


def reshaped(result: Tensor, rank: int, n: int):
    size, stride = list(result._size), list(result._stride)
    if n == 1:
        del size[2], stride[2]
    if rank == n + 1:
        del size[0], stride[0]
    return result._as_view(size, stride, result._offset)


def convolve_dynamic(n: int):
    """The kernel of a dynamic convolution: it quantizes the input by its range.

    The result is rounded to the input's codes, as in PyTorch, so it is clamped to the input's
    range.
    """
    quantized = convolve(n, relu=False)

    def kernel(x, params, reduce_range):
        if x.dtype is not dtypes.float32:
            raise RuntimeError(
                f"Quantize only works on Float Tensor, got {dtypes.DISPLAY[x.dtype.name]}"
            )
        q = dynamically_quantized(x, reduce_range)
        made = quantized(q, params, q.quantizer.scale, q.quantizer.zero_point)
        return Tensor._wrap(laid(made.numbers(), order_of(made)))

    return kernel


def convolve_and_add(relu: bool):
    """A convolution that adds another quantized tensor to its sums before they are rounded."""

    def kernel(x, other, params, scale, zero_point):
        made = convolution_of(params, 2)
        x = check_activation(x, "quantized::conv2d_add")
        if x.dim() != 4:
            raise RuntimeError(f"an input of {x.dim()} dimensions does not fit a weight of 4")
        low, high = limits(x.dtype)
        if x.dtype.itemsize != 1 or not low <= x.quantizer.zero_point <= high:
            raise RuntimeError(
                "a quantized convolution takes inputs of quint8 or qint8 and zero points that fit"
            )
        sums = channels_last(products(centred(x), made)).astype(np.float32)
        shape = (1, -1, 1, 1)
        weight_scale = made.weight.quantizer.all_scales()
        both = np.float32(x.quantizer.scale) * weight_scale
        numbers = sums * both.reshape(shape if both.size > 1 else (1, 1, 1, 1))
        if made.bias is not None:
            numbers = numbers + made.bias._array.reshape(shape)
        numbers = numbers + check_activation(other, "quantized::conv2d_add").numbers()
        numbers = np.maximum(numbers, 0) if relu else numbers
        return requantized(numbers / np.float32(scale), x, scale, zero_point)

    return kernel


def declare_convolutions(n: int) -> None:
    params, call = f"{CONV[n]} packed_weight", "float output_scale, int output_zero_point"
    numbers = "int[] stride, int[] padding, int[] dilation, int groups"
    for relu in ("", "_relu"):
        name = f"quantized::conv{n}d{relu}"
        declare(
            f"{name}{'' if n == 1 else '.new'}(Tensor qx, {params}, {call}) -> Tensor",
            convolve(n, bool(relu)),
            "primitive",
        )
        if n > 1:
            declare(
                f"{name}(Tensor qx, {CONV[n]} weight, {numbers}, {call}) -> Tensor",
                convolve(n, bool(relu)),
                "primitive",
            )
    declare(
        f"quantized::conv_transpose{n}d(Tensor qx, {params}, {call}) -> Tensor",
        convolve(n, False),
        "primitive",
    )
    for name in (f"conv{n}d", f"conv_transpose{n}d"):
        transposed = "transpose" in name
        given = (
            numbers.replace("int[] dilation", "int[] output_padding, int[] dilation")
            if transposed
            else numbers
        )
        declare(
            f"quantized::{name}_prepack(Tensor weight, Tensor? bias, {given}) -> {CONV[n]}",
            prepack(n, transposed),
            "primitive",
        )
        declare(
            f"quantized::{name}_unpack({CONV[n]} packed_weights) -> (Tensor unpacked_weights, "
            "Tensor? B_origin)",
            unpack(n),
            "primitive",
        )
        declare(
            f"quantized::{name}_dynamic(Tensor qx, {params}, bool reduce_range=False) -> Tensor",
            convolve_dynamic(n),
            "primitive",
        )
        if n > 1:
            declare_parts(f"quantized::{name}", n)


def declare_parts(name: str, n: int) -> None:
    """Declare the operators that read one field of a packed convolution."""
    for part, kind in (
        ("stride", "int[]"),
        ("padding", "int[]"),
        ("dilation", "int[]"),
        ("output_padding", "int[]"),
        ("groups", "int"),
        ("transpose", "int"),
    ):
        field = {"transpose": "transposed"}.get(part, part)
        declare(
            f"{name}_{part}({CONV[n]} packed_weights) -> {kind}",
            lambda params, f=field: (int if f == "transposed" else lambda v: v)(
                getattr(convolution_of(params, n), f)
            ),
            "primitive",
        )


for _n in (1, 2, 3):
    declare_convolutions(_n)
for _relu in ("", "_relu"):
    declare(
        f"quantized::conv2d_add{_relu}(Tensor qx, Tensor qaccum, {CONV[2]} packed_weight, "
        "float output_scale, int output_zero_point) -> Tensor",
        convolve_and_add(bool(_relu)),
        "primitive",
    )
declare(
    "quantized::conv_prepack(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
    f"dilation, int groups) -> {CONV[2]}",
    prepack(2, False),
    "primitive",
)
declare(
    f"quantized::conv_unpack({CONV[2]} packed_weights) -> (Tensor unpacked_weights, "
    "Tensor? B_origin)",
    unpack(2),
    "primitive",
)


describe(
    """quantized::conv1d_unpack quantized::conv2d_unpack quantized::conv3d_unpack
         quantized::conv_transpose1d_unpack quantized::conv_transpose2d_unpack
         quantized::conv_transpose3d_unpack quantized::conv_unpack quantized::linear_unpack.legacy
         quantized::linear_unpack_fp16.legacy""",
    may_share=True,
)
