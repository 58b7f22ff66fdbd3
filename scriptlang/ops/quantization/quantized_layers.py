"""Operators on quantized tensors: arithmetic, activations, normalization."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ... import dtypes
from ...tensors import Tensor
from ..shared.elementwise import check_fits
from ..shared.layout import (
    CHANNELS_LAST,
    format_of,
    in_format,
    in_format_of,
    laid,
    pointwise_order,
    rows,
)
from ..table import declare, describe, find, primitive
from .quantize import exact_format, requantized
from .quantized_packed import centred, check_activation
from .quantized_tensors import (
    QuantizedTensor,
    Quantizer,
    check_zero_point,
    encode,
    limits,
    of_codes,
    quantize,
    quantize_rounding_first,
)

BINARY = "(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc"
TO = "float output_scale, int output_zero_point"


def fused_numbers(x: QuantizedTensor) -> np.ndarray:
    """`numbers`, computed as code * scale - zero_point * scale with a single rounding."""
    scale = np.float32(x.quantizer.scale)
    shift = np.float32(-np.float32(x.quantizer.zero_point) * scale)
    return (x.laid_codes().astype(np.float64) * np.float64(scale) + np.float64(shift)).astype(
        np.float32
    )


BLOCK = 64
"""How many codes PyTorch's pointwise kernels take at once with AVX-512; with AVX2, half as many."""


def in_blocks(
    compute: Callable,
    operands: Sequence[Tensor],
    scale: float,
    zero_point: int,
    lay: Callable = in_format_of,
    block_inverse: np.float32 | None = None,
) -> QuantizedTensor:
    """A pointwise function of the numbers of operands of one size, which lie in one order.

    PyTorch dequantizes blocks of codes with a fused multiply-add, and rounds before it adds the
    zero point.  The codes that remain are computed one by one, with plain products, and sums that
    are rounded; so are all if the result lies in another order than the operand.

    block_inverse: the inverse of the scale for blocks, if it is not that of the scale in float32.
    """
    x = operands[0]
    inverse = np.float32(1) / np.float32(scale)
    with np.errstate(all="ignore"):
        single = in_format_of(compute(*(t.numbers() for t in operands)), x)
        if x.dtype is dtypes.qint32:
            return quantize_rounding_first(lay(single, x), x.dtype, scale, zero_point)
        single = (single * inverse).astype(np.float32)
        blocks = in_format_of(compute(*(fused_numbers(t) for t in operands)), x)
        blocks = (blocks * (inverse if block_inverse is None else block_inverse)).astype(np.float32)
    first = requantized(blocks, x, scale, zero_point)
    made = requantized(single, x, scale, zero_point, False)
    if lay is in_format_of or format_of(x) == 0:
        n = x.numel() // BLOCK * BLOCK
        in_memory(made)[:n] = in_memory(first)[:n]
    return made.with_codes(Tensor._wrap(lay(made.codes._array, x)))


def in_memory(x: QuantizedTensor) -> np.ndarray:
    """The codes of a dense tensor, in the order in which they lie in memory."""
    return x._as_view((x.numel(),), (1,), x._offset).codes._array


# Two operands


def check_alike(name: str, a: QuantizedTensor, b: QuantizedTensor) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{name} operands should have same data type.")


def laid_as_first(made: QuantizedTensor, a: Tensor) -> QuantizedTensor:
    """The result in the memory format that the first operand suggests."""
    wanted = format_of(a) if made.dim() == a.dim() else 0
    return made.with_codes(Tensor._wrap(in_format(made.codes._array, wanted)))


def add(relu: bool):
    def kernel(a, b, scale, zero_point):
        a, b = (check_activation(x, "quantized::add") for x in (a, b))
        check_alike("Add", a, b)
        sums = (lambda p, q: np.maximum(p + q, 0)) if relu else (lambda p, q: p + q)
        if a._size == b._size:
            return in_blocks(sums, (a, laid_as_first(b, a)), scale, zero_point)
        total = sums(fused_numbers(a), fused_numbers(b))
        made = quantize_rounding_first(total, a.dtype, scale, zero_point)
        if made._size == a._size:
            return laid_as_first(made, a)
        order = pointwise_order(made._size, None, [a, b])  # as a result without a place of its own
        return made.with_codes(Tensor._wrap(laid(made.codes._array, order)))

    return kernel


def mul(relu: bool):
    def kernel(a, b, scale, zero_point):
        a, b = (check_activation(x, "quantized::mul") for x in (a, b))
        check_alike("Mul", a, b)
        products = centred(a).astype(np.int64) * centred(b)
        products = np.maximum(products, 0) if relu else products
        ratio = np.float32(
            np.float32(a.quantizer.scale) * np.float32(b.quantizer.scale) / np.float32(scale)
        )
        made = requantized(products.astype(np.float32) * ratio, a, scale, zero_point)
        return laid_as_first(made, a)

    return kernel


def real(value) -> float:
    """The real part of a Scalar as a float."""
    check_fits(value, dtypes.float64)
    return float(value.real)


def add_scalar(relu: bool):
    """Adding a number shifts the zero point; if that is then no code, the scale changes as well."""

    def kernel(x, value):
        x = check_activation(x, "quantized::add_scalar")
        low, high = limits(x.dtype)
        scale, zero = x.quantizer.scale, x.quantizer.zero_point
        step = int(np.rint(real(value) / scale))
        moved = zero - step
        if low <= moved <= high:
            codes = x.laid_codes().copy(order="K")
            codes = np.maximum(codes, codes.dtype.type(moved)) if relu else codes
            return of_codes(Tensor._wrap(codes), x.dtype, Quantizer(scale, moved))
        span = high - moved if moved < low else moved - low
        new_scale = float(np.float32(span) / np.float32(high - low)) * scale
        new_zero = low if moved < low else high
        sums = (centred(x) + step).astype(np.float32)
        sums = np.maximum(sums, 0) if relu else sums
        return requantized(sums * np.float32(scale / new_scale), x, new_scale, new_zero)

    return kernel


def mul_scalar(relu: bool):
    """Multiplying changes the scale; the codes stay, or are mirrored for a negative factor."""

    def kernel(x, value):
        x = check_activation(x, "quantized::mul_scalar")
        low, high = limits(x.dtype)
        scale, zero = x.quantizer.scale, x.quantizer.zero_point
        codes = x.laid_codes()
        if value > 0:
            made, quantizer = codes.copy(order="K"), Quantizer(scale * value, zero)
        elif value == 0:
            made, quantizer = np.zeros_like(codes), Quantizer(0.1, 0)
        else:
            made = (low + high - codes.astype(np.int64)).astype(codes.dtype)
            quantizer = Quantizer(scale * abs(value), high - (zero - low))
        if relu:
            made = np.maximum(made, made.dtype.type(quantizer.zero_point))
        return of_codes(Tensor._wrap(made), x.dtype, quantizer)

    return kernel


for _name, _tensors, _scalar in (("add", add, add_scalar), ("mul", mul, mul_scalar)):
    for _relu in ("", "_relu"):
        declare(f"quantized::{_name}{_relu}{BINARY}", _tensors(bool(_relu)), "primitive")
        _kernel = _scalar(bool(_relu))
        declare(
            f"quantized::{_name}{_relu}.Scalar(Tensor qa, Scalar b) -> Tensor qc",
            _kernel,
            "primitive",
        )
        declare(
            f"quantized::{_name}{_relu}.Scalar2(Scalar b, Tensor qa) -> Tensor qc",
            lambda b, x, f=_kernel: f(x, b),
            "primitive",
        )
        declare(
            f"quantized::{_name}_scalar{_relu}(Tensor qa, Scalar b) -> Tensor qc",
            _kernel,
            "primitive",
        )
        declare(
            f"quantized::{_name}_scalar{_relu}.Tensor(Tensor qa, Tensor b) -> Tensor qc",
            lambda x, b, f=_kernel: f(x, b._item()),
            "primitive",
        )


def matmul(a, b, scale, zero_point):
    a, b = (check_activation(x, "quantized::matmul") for x in (a, b))
    if a.dtype is not b.dtype:
        raise RuntimeError("MatMul operands should have same data type.")
    check_zero_point(a.dtype, zero_point)
    with np.errstate(all="ignore"):
        products = rows(np.matmul(a.numbers(), b.numbers()))
        return quantize(products, a.dtype, scale, zero_point)


declare(f"quantized::matmul{BINARY}", matmul, "primitive")


def cat(relu: bool):
    def kernel(xs, dim, scale, zero_point):
        xs = [check_activation(x, "quantized::cat") for x in xs]
        if not xs:
            raise RuntimeError("quantized::cat takes at least one tensor")
        scale = xs[0].quantizer.scale if scale is None else scale
        zero_point = xs[0].quantizer.zero_point if zero_point is None else zero_point
        if any(x.dtype is not xs[0].dtype for x in xs):
            raise RuntimeError("quantized::cat: all types must be the same")
        check_zero_point(xs[0].dtype, zero_point)
        parts = []
        for x in xs:
            same = (x.quantizer.scale, x.quantizer.zero_point) == (scale, zero_point) and not relu
            values = x.numbers()
            parts.append(
                x.codes
                if same
                else quantize(
                    np.maximum(values, 0) if relu else values, x.dtype, scale, zero_point
                ).codes
            )
        joined = find("aten::cat").kernel(parts, dim)
        return of_codes(joined, xs[0].dtype, Quantizer(float(scale), int(zero_point)))

    return kernel


for _relu in ("", "_relu"):
    declare(
        f"quantized::cat{_relu}(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
        cat(bool(_relu)),
        "primitive",
    )


# One operand


def through(name: str, overload: str = "") -> Callable:
    """A plain operator as a function of a float32 array and further arguments to an array."""

    def run(values: np.ndarray, *rest) -> np.ndarray:
        return find(name, overload).kernel(Tensor._wrap(values), *rest)._array

    return run


def clamped(x, low, high):
    """Clamp the codes between those of two numbers; None is no bound."""
    codes = x.laid_codes()
    for bound, f in ((low, np.maximum), (high, np.minimum)):
        if bound is not None:
            code = encode(np.array(bound, np.float32), x.dtype, x.quantizer)
            codes = f(codes, code)
    return x.with_codes(Tensor._wrap(codes.copy(order="K")))


@primitive(
    "quantized::relu6(Tensor qx, bool inplace=False) -> Tensor", pointwise=True, may_share=True
)
def relu6(x, inplace):
    x = check_activation(x, "quantized::relu6")
    made = clamped(x, 0.0, 6.0)
    if not inplace:
        return made
    x.codes._array[...] = made.codes._array
    return x


@primitive(
    "quantized::clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy", pointwise=True
)
def clamp(x, low, high):
    return clamped(check_activation(x, "quantized::clamp"), low, high)


@primitive(
    "quantized::threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy", pointwise=True
)
def threshold(x, bound, value):
    x = check_activation(x, "quantized::threshold")
    if isinstance(bound, complex) or isinstance(value, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    return in_blocks(
        lambda numbers: np.where(numbers > bound, numbers, np.float32(value)),
        (x,),
        x.quantizer.scale,
        x.quantizer.zero_point,
    )


@primitive(f"quantized::hardswish(Tensor input, {TO}) -> Tensor", pointwise=True)
def hardswish(x, scale, zero_point):
    def compute(numbers):
        bounded = np.minimum(np.maximum(numbers + np.float32(3), np.float32(0)), np.float32(6))
        return numbers * bounded / np.float32(6)

    x = check_activation(x, "this operator")
    with np.errstate(all="ignore"):
        inverse = np.float32(np.float64(1) / scale)  # as PyTorch computes it here
    return in_blocks(compute, (x,), scale, zero_point, block_inverse=inverse)


def in_rows(array: np.ndarray, x: Tensor) -> np.ndarray:
    return rows(array)


ACTIVATIONS = (
    (f"quantized::sigmoid(Tensor qx, {TO}) -> Tensor", through("aten::sigmoid"), in_format_of),
    (
        f"quantized::elu(Tensor self, {TO}, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)"
        " -> Tensor",
        through("aten::elu"),
        in_rows,
    ),
    (
        f"quantized::celu(Tensor self, {TO}, Scalar alpha=1) -> Tensor",
        through("aten::celu"),
        in_rows,
    ),
)
"""Schema, the function of numbers, and how its result lies in memory."""


def activation(plain: Callable, lay: Callable):
    def kernel(x, scale, zero_point, *rest):
        x = check_activation(x, "this operator")
        return in_blocks(lambda numbers: plain(numbers, *rest), (x,), scale, zero_point, lay)

    return kernel


for _text, _plain, _lay in ACTIVATIONS:
    declare(_text, activation(_plain, _lay), "primitive")


@primitive(
    f"quantized::leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, {TO}) -> Tensor",
    pointwise=True,
)
def leaky_relu(x, slope, inplace, scale, zero_point):
    x = check_activation(x, "quantized::leaky_relu")
    return in_blocks(
        lambda numbers: np.where(numbers > 0, numbers, numbers * np.float32(slope)),
        (x,),
        scale,
        zero_point,
    )


@primitive(f"quantized::prelu(Tensor qx, Tensor weight, {TO}) -> Tensor", shape="like_first")
def prelu(x, weight, scale, zero_point):
    """As in PyTorch, the slope of the positive side is the code of 1 in the slopes' quantizer.

    It is less than 1 where their range ends before 1.
    """
    x = check_activation(x, "quantized::prelu")
    if not x.dim():
        return quantize(prelu_of_number(x.numbers(), weight), x.dtype, scale, zero_point)
    weight = check_activation(weight, "quantized::prelu")
    check_alike("PReLU", x, weight)
    channels = x._size[1] if x.dim() > 1 else 1
    if weight.numel() not in (1, channels):
        raise RuntimeError(
            f"quantized::prelu: {weight.numel()} slopes for a tensor of size {list(x._size)}"
        )
    shape = [-1 if d == 1 else 1 for d in range(x.dim())] if weight.numel() > 1 else ()
    slopes = centred(weight).astype(np.int64).reshape(shape)
    one = int(encode(np.array(1, np.float32), weight.dtype, weight.quantizer))
    codes = centred(x).astype(np.int64)
    products = codes * np.where(codes > 0, one - weight.quantizer.zero_point, slopes)
    with np.errstate(all="ignore"):
        both = np.float32(x.quantizer.scale) * np.float32(weight.quantizer.scale)
        ratio = both * (np.float32(1) / np.float32(scale))
        scaled = products.astype(np.float32) * ratio
    return requantized(in_format_of(scaled, x), x, scale, zero_point)


def prelu_of_number(value: np.ndarray, weight: Tensor) -> np.ndarray:
    """What PyTorch computes for a tensor without dimensions: slopes are not quantized there."""
    if isinstance(weight, QuantizedTensor) or weight.dtype is not dtypes.float32:
        raise RuntimeError(
            "prelu: Type promoting not supported. "
            f"Got Float and {dtypes.DISPLAY[weight.dtype.name]}"
        )
    if weight.numel() != 1:
        raise RuntimeError(f"quantized::prelu: {weight.numel()} slopes for a number")
    return np.where(value > 0, value, value * weight._array.reshape(()))


@primitive(f"quantized::softmax(Tensor qx, int dim, {TO}) -> Tensor", shape="like_first")
def softmax(x, dim, scale, zero_point):
    values = check_activation(x, "quantized::softmax").numbers()
    made = rows(through("aten::softmax", "int")(values, dim, None))
    return quantize_rounding_first(made, x.dtype, scale, zero_point)


@primitive(
    f"quantized::dropout(Tensor self, {TO}, Scalar p=0.5, bool training=False) -> Tensor",
    shape="like_first",
    may_share=True,
)
def dropout(x, scale, zero_point, p, training):
    """Returns its input, as in PyTorch, even in training; the output's parameters are ignored."""
    return check_activation(x, "quantized::dropout")


# Normalisation


RANKS = {"": (2, 3, 4, 5), "1d": (2, 3), "2d": (4,), "3d": (5,)}
"""The numbers of dimensions that each batch norm accepts."""


def check_batch_norm(x: QuantizedTensor, ranks, parameters: dict) -> None:
    for name in ("Weight", "Bias"):
        if parameters[name] is None:
            raise RuntimeError(f"{name} must be provided")
    if x.numel() and x.dim() not in ranks:
        raise RuntimeError(f"Expecting the input tensor of rank {' or '.join(map(str, ranks))}.")
    if x.dim() < 2:
        raise RuntimeError("quantized::batch_norm takes a tensor of at least two dimensions")
    for name, given in parameters.items():
        if given.dtype is not dtypes.float32:
            raise RuntimeError(
                f"expected scalar type Float but found {dtypes.DISPLAY[given.dtype.name]}"
            )
        if given.numel() != x._size[1]:
            raise RuntimeError(f"{name} size must match channel dimension")


def batch_norm(ranks, relu: bool):
    def kernel(x, weight, bias, mean, var, eps, scale, zero_point):
        x = check_activation(x, "quantized::batch_norm")
        check_batch_norm(x, ranks, {"Weight": weight, "Bias": bias, "Mean": mean, "Variance": var})
        weight, bias, mean, var = (t._array.reshape(-1) for t in (weight, bias, mean, var))
        shape = [-1 if d == 1 else 1 for d in range(x.dim())]
        gain = np.float32(1) / np.sqrt(var + np.float32(eps)) * weight
        shift = -mean * gain + bias
        factor = (np.float32(x.quantizer.scale) * gain / np.float32(scale)).reshape(shape)
        scaled = centred(x).astype(np.float32) * factor + (shift / np.float32(scale)).reshape(shape)
        scaled = in_format(scaled, CHANNELS_LAST.get(x.dim(), 0))  # also of row-major images
        return requantized(np.maximum(scaled, 0) if relu else scaled, x, scale, zero_point)

    return kernel


for _n, _ranks in RANKS.items():
    for _relu in ("", "_relu"):
        declare(
            f"quantized::batch_norm{_n}{_relu}(Tensor qx, Tensor? weight, Tensor? bias, Tensor "
            f"mean, Tensor var, float eps, {TO}) -> Tensor",
            batch_norm(_ranks, bool(_relu)),
            "primitive",
        )


def normalised(name: str, *arguments: Callable) -> Callable:
    """The kernel of a norm, by the plain operator.

    arguments[0] maps the given arguments to those of the plain operator.
    """

    def kernel(x, *rest):
        *given, scale, zero_point = rest
        values = check_activation(x, name).numbers()
        made = through(name)(values, *arguments[0](*given))
        is_image = name != "aten::layer_norm" and x.dim() == 4
        made = in_format(made, exact_format(x)) if is_image else rows(made)
        return quantize_rounding_first(made, x.dtype, scale, zero_point)

    return kernel


declare(
    "quantized::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, "
    f"float eps, {TO}) -> Tensor",
    normalised("aten::layer_norm", lambda shape, w, b, eps: (shape, w, b, eps, False)),
    "primitive",
)
declare(
    "quantized::group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, "
    f"float eps, {TO}) -> Tensor",
    normalised("aten::group_norm", lambda groups, w, b, eps: (groups, w, b, eps, False)),
    "primitive",
)
declare(
    f"quantized::instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, {TO})"
    " -> Tensor",
    normalised("aten::instance_norm", lambda w, b, eps: (w, b, None, None, True, 0.0, eps, False)),
    "primitive",
)


describe(
    """quantized::add.Scalar quantized::celu quantized::elu quantized::mul.Scalar
         quantized::sigmoid""",
    pointwise=True,
)
describe(
    """quantized::batch_norm quantized::group_norm quantized::instance_norm
         quantized::layer_norm""",
    shape="like_first",
)
