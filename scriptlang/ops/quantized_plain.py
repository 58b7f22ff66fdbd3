"""Operators of plain tensors that take quantized ones too: on the codes, or on the numbers."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .. import dtypes
from ..tensors import Tensor
from . import table
from .quantize import requantized
from .quantized_layers import clamped
from .quantized_packed import centred
from .quantized_tensors import QuantizedTensor, Quantizer, encode, of_codes, quantize

ON_CODES = (
    "contiguous", "clone", "reshape", "flatten", "index_select", "max_pool1d", "max_pool2d",
    "max_pool3d", "repeat", "flip", "roll", "channel_shuffle", "pixel_shuffle", "pixel_unshuffle",
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "max", "min", "sort", "topk",
    "index", "gather", "reflection_pad1d", "reflection_pad2d", "replication_pad1d",
    "replication_pad2d", "masked_select", "take", "native_channel_shuffle", "dropout",
    "feature_dropout", "ravel", "amax", "amin")
"""Operators that move or choose elements: they do to the codes what they do to numbers."""

AVERAGES = (
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
    "adaptive_avg_pool3d", "upsample_bilinear2d", "upsample_bicubic2d", "upsample_linear1d",
    "upsample_trilinear3d")
"""Weighted means of elements: those of the codes, rounded."""

ON_NUMBERS = ("mean", "leaky_relu", "hardswish", "elu", "prelu", "celu")
"""Operators whose result is quantized as their operand is."""

FIXED_RANGE = {"sigmoid": (1 / 256, 0), "hardsigmoid": (1 / 256, 0), "tanh": (2 / 256, 128)}
"""Operators whose results lie in a known range: (scale, zero point of quint8)."""

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def on_codes(kernel: Callable) -> Callable:
    def run(x, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, *rest)
        return rewrapped(kernel(x.codes, *rest), x)

    return run


def rewrapped(result: Any, like: QuantizedTensor) -> Any:
    """Codes in a result as quantized tensors; indices and flags as they are."""
    if isinstance(result, tuple):
        return tuple(rewrapped(r, like) for r in result)
    if isinstance(result, Tensor) and result.dtype is like.codes.dtype:
        return of_codes(result, like.dtype, like.quantizer)
    return result


def on_numbers(kernel: Callable) -> Callable:
    def run(x, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, *rest)
        made = kernel(Tensor._wrap(x.numbers()), *rest)
        return quantize(made._array, x.dtype, x.quantizer.scale, x.quantizer.zero_point)

    return run


def averaging(kernel: Callable) -> Callable:
    def run(x, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, *rest)
        made = kernel(Tensor._wrap(centred(x).astype(np.float32)), *rest)
        return requantized(made._array, x, x.quantizer.scale, x.quantizer.zero_point)

    return run


def padding(kernel: Callable) -> Callable:
    """Padding with a number pads with its code."""
    def run(x, pad, mode="constant", value=None):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, pad, mode, value)
        if mode == "constant":
            value = int(encode(np.array(value or 0, np.float32), x.dtype, x.quantizer))
        return x.with_codes(kernel(x.codes, pad, mode, value))

    return run


def fixed_range(scale: float, zero: int) -> Callable:
    def wrap(kernel: Callable) -> Callable:
        def run(x, *rest):
            if not isinstance(x, QuantizedTensor):
                return kernel(x, *rest)
            made = kernel(Tensor._wrap(x.numbers()), *rest)
            shift = zero - 128 if x.dtype is dtypes.qint8 else zero
            return quantize(made._array, x.dtype, scale, shift)

        return run

    return wrap


def compared(kernel: Callable) -> Callable:
    def run(x, y):
        plain = [Tensor._wrap(v.numbers()) if isinstance(v, QuantizedTensor) else v
                 for v in (x, y)]
        return kernel(*plain)

    return run


def clamping(bounds: Callable, in_place: bool = False) -> Callable:
    """Clamping between bounds that the operator's arguments give."""
    def wrap(kernel: Callable) -> Callable:
        def run(x, *rest):
            if not isinstance(x, QuantizedTensor):
                return kernel(x, *rest)
            made = clamped(x, *bounds(*rest))
            if not in_place:
                return made
            x.codes._array[...] = made.codes._array
            return x

        return run

    return wrap


def joined(kernel: Callable) -> Callable:
    """cat and stack: the parts are quantized as the first one is."""
    def run(xs, *rest):
        if not xs or not isinstance(xs[0], QuantizedTensor):
            return kernel(xs, *rest)
        q = xs[0].quantizer
        parts = [x.codes if x.quantizer is q else quantize(
            x.numbers(), xs[0].dtype, q.scale, q.zero_point).codes for x in xs]
        return of_codes(kernel(parts, *rest), xs[0].dtype, q)

    return run


def equal(kernel: Callable) -> Callable:
    def run(x, y):
        if not isinstance(x, QuantizedTensor) or not isinstance(y, QuantizedTensor):
            return kernel(x, y)
        same = isinstance(x.quantizer, Quantizer) and isinstance(y.quantizer, Quantizer) and (
            x.quantizer == y.quantizer or (x.quantizer.scale, x.quantizer.zero_point) == (
                y.quantizer.scale, y.quantizer.zero_point))
        return same and kernel(x.codes, y.codes)

    return run


def copied(kernel: Callable) -> Callable:
    """copy_: between quantized tensors with the quantizer, from numbers by quantizing."""
    def run(self, source, *rest):
        if not isinstance(self, QuantizedTensor):
            return kernel(self, source, *rest)
        if isinstance(source, QuantizedTensor):
            self.codes._array[...] = source.codes._array
            self.quantizer = source.quantizer
        else:
            q = self.quantizer
            self.codes._array[...] = quantize(source._array, self.dtype, q.scale,
                                              q.zero_point).codes._array
        return self

    return run


def converted(kernel: Callable) -> Callable:
    """`to` another device or layout; a quantized tensor has no other type."""
    def run(x, *rest):
        return x if isinstance(x, QuantizedTensor) else kernel(x, *rest)

    return run


def take_over(names, wrap: Callable) -> None:
    """Let kernels that are declared take quantized tensors as well."""
    for name in names:
        for op in table._declared.get(f"aten::{name}", {}).values():
            if op.kind == "primitive":
                op.kernel = wrap(op.kernel)


take_over(ON_CODES, on_codes)
take_over(ON_NUMBERS, on_numbers)
take_over(AVERAGES, averaging)
take_over(("pad",), padding)
for _name, _range in FIXED_RANGE.items():
    take_over((_name,), fixed_range(*_range))
take_over(COMPARISONS, compared)
take_over(("relu",), clamping(lambda: (0.0, None)))
take_over(("relu_",), clamping(lambda: (0.0, None), True))
take_over(("relu6",), clamping(lambda: (0.0, 6.0)))
take_over(("relu6_",), clamping(lambda: (0.0, 6.0), True))
take_over(("hardtanh", "clamp"), clamping(lambda low=None, high=None: (low, high)))
take_over(("clamp_min",), clamping(lambda low: (low, None)))
take_over(("clamp_max",), clamping(lambda high: (None, high)))
take_over(("cat", "stack", "concat"), joined)
take_over(("equal",), equal)
take_over(("copy_",), copied)
take_over(("to", "_to_copy"), converted)
