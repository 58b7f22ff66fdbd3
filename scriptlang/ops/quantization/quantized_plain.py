"""Operators on plain tensors that accept quantized ones, too: by their codes or their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...tensors import Tensor, wrap_dim
from .. import table
from ..families.pool import ranges
from ..shared.layout import check_rank, format_of, in_format
from .quantize import exact_format, requantized
from .quantized_layers import clamped, in_blocks
from .quantized_packed import centred, check_activation
from .quantized_tensors import (
    QuantizedTensor,
    Quantizer,
    encode,
    of_codes,
    quantize,
    quantize_rounding_first,
)

ON_CODES = (
    "contiguous",
    "reshape",
    "flatten",
    "index_select",
    "repeat",
    "roll",
    "pixel_shuffle",
    "pixel_unshuffle",
    "max",
    "min",
    "topk",
    "index",
    "gather",
    "masked_select",
    "take",
    "dropout",
    "feature_dropout",
    "ravel",
    "amax",
    "amin",
)
"""Operators that move or select elements: applied to the codes, they are the same."""

ON_LAID_CODES = ("flip", "sort", "channel_shuffle", "native_channel_shuffle")
"""The same, for codes that have been put into the memory format that they suggest."""

IN_ROWS = ("reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d")
"""The same; their results are row-major."""

MOVING = ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
"""Operators that copy elements to other positions."""

AVERAGES = ("avg_pool1d", "avg_pool2d", "avg_pool3d")
INTERPOLATIONS = (
    "upsample_bilinear2d",
    "upsample_bicubic2d",
    "upsample_linear1d",
    "upsample_trilinear3d",
)
"""Means and weighted means of elements: computed on the codes, and rounded."""

ACTIVATIONS = ("leaky_relu", "hardswish", "elu", "celu")
"""Operators whose result has the quantizer of their operand, as for `mean`."""

PRESERVE = 1
"""The memory format that keeps the operand's."""

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def on_codes(kernel: Callable) -> Callable:
    def run(x, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, *rest)
        return rewrapped(kernel(x.codes, *rest), x)

    return run


def on_laid_codes(kernel: Callable) -> Callable:
    def run(x, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, *rest)
        return rewrapped(kernel(Tensor._wrap(x.laid_codes()), *rest), x)

    return run


def in_rows(kernel: Callable) -> Callable:
    def run(x, *rest):
        made = kernel(x, *rest)
        return laid_in(made, 0) if isinstance(x, QuantizedTensor) else made

    return run


def laid_in(x: QuantizedTensor, memory_format: int) -> QuantizedTensor:
    """The same codes in a memory format: the tensor itself, or a copy."""
    return x.with_codes(Tensor._wrap(in_format(x.codes._array, memory_format)))


def as_exact(kernel: Callable) -> Callable:
    """Layers on images and signals: the result has channels last if all of the operand has."""

    def run(x, *rest):
        made = kernel(x, *rest)
        return laid_in(made, exact_format(x)) if isinstance(x, QuantizedTensor) else made

    return run


def cloned(kernel: Callable) -> Callable:
    """clone: row-major unless a memory format is given."""

    def run(x, memory_format):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, memory_format)
        codes = Tensor._wrap(x.laid_codes())
        return x.with_codes(kernel(codes, 0 if memory_format is None else memory_format))

    return run


def on_bytes(kernel: Callable) -> Callable:
    """Runs the kernel on the codes, reinterpreted as a type of the same size that it supports."""

    def run(x, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, *rest)
        kind = np.uint8 if x.codes.dtype.itemsize == 1 else np.float32
        made = kernel(Tensor._wrap(x.codes._array.view(kind)), *rest)
        return rewrapped(Tensor._wrap(made._array.view(x.codes._array.dtype)), x)

    return run


def rewrapped(result: Any, like: QuantizedTensor) -> Any:
    """Wrap codes in a result as quantized tensors; indices and flags stay as they are."""
    if isinstance(result, tuple):
        return tuple(rewrapped(r, like) for r in result)
    if isinstance(result, Tensor) and result.dtype is like.codes.dtype:
        return of_codes(result, like.dtype, like.quantizer)
    return result


def on_numbers(to_codes: Callable) -> Callable:
    """Runs the kernel on the numbers and quantizes its result with the operand's quantizer.

    to_codes: `quantize` or `quantize_rounding_first`.
    """

    def wrap(kernel: Callable) -> Callable:
        def run(x, *rest):
            if not isinstance(x, QuantizedTensor):
                return kernel(x, *rest)
            made = kernel(Tensor._wrap(x.numbers()), *rest)
            return to_codes(made._array, x.dtype, x.quantizer.scale, x.quantizer.zero_point)

        return run

    return wrap


def interpolated(kernel: Callable) -> Callable:
    """Runs the kernel on the codes without the zero point, and rounds its result."""

    def run(x, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, *rest)
        made = kernel(Tensor._wrap(centred(x).astype(np.float32)), *rest)._array
        return requantized(made, x, x.quantizer.scale, x.quantizer.zero_point, False)

    return run


def average(kernel: Callable) -> Callable:
    """Means of windows.  Those of volumes have channels last.

    PyTorch averages blocks of channels at once where they are innermost, and rounds before it adds
    the zero point; it averages the remaining ones one by one, and rounds the sum.
    """

    def run(x, kernel_size, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, kernel_size, *rest)
        made = kernel(Tensor._wrap(centred(x).astype(np.float32)), kernel_size, *rest)._array
        scale, zero = x.quantizer.scale, x.quantizer.zero_point
        result = requantized(made, x, scale, zero, False)
        if are_channels_innermost(x, kernel_size):
            whole = x._size[1] // BLOCK * BLOCK
            first = requantized(made[:, :whole], x, scale, zero)
            result.codes._array[:, :whole] = first.codes._array
        return laid_in(result, 3 if x.dim() == 5 else exact_format(x))

    return run


BLOCK = 16
"""How many channels PyTorch averages at once with AVX-512; with AVX2, half as many."""


def are_channels_innermost(x: Tensor, kernel_size: list[int]) -> bool:
    """Whether PyTorch's average keeps channels innermost; signals are images with one row."""
    if x.dim() == 3 and len(kernel_size) == 1:
        return x.is_contiguous() if 1 in x._size[1:] else exact_format(x) == 2
    return x.dim() == 5 or (x.dim() == 4 and x.is_contiguous(2))


def activating(kernel: Callable) -> Callable:
    def run(x, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, *rest)
        q = check_activation(x, "this operator").quantizer
        compute = lambda numbers: kernel(Tensor._wrap(numbers), *rest)._array
        return in_blocks(compute, (x,), q.scale, q.zero_point)

    return run


def mean(kernel: Callable) -> Callable:
    """Exact means of codes in the innermost dimensions of a row-major tensor, else of numbers."""
    of_numbers = on_numbers(quantize)(kernel)

    def run(x, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, *rest)
        dims = rest[0] if len(rest) > 1 else None
        if not x.numel() or not x.is_contiguous() or not are_innermost(dims or [], x.dim()):
            return of_numbers(x, *rest)
        means = kernel(Tensor._wrap(centred(x).astype(np.float64)), *rest)._array
        count = x.numel() // max(1, means.size)
        scaled = np.rint(means * count).astype(np.float32) / np.float32(count)
        return requantized(scaled, x, x.quantizer.scale, x.quantizer.zero_point, False)

    return run


def are_innermost(dims: list[int], rank: int) -> bool:
    """Whether dimensions, each named once, are the last ones.  None are all."""
    return sorted(wrap_dim(d, rank) for d in dims) == list(range(rank - len(dims), rank))


def averaging_parts(kernel: Callable) -> Callable:
    """Adaptive means: exact sums of codes, times the reciprocal of their count."""

    def run(x, output_size):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, output_size)
        means = kernel(Tensor._wrap(centred(x).astype(np.float64)), output_size)._array
        n = len(output_size)
        counts = np.ones(1)
        for size, parts in zip(x._size[-n:], means.shape[-n:]):
            lengths = np.array([last - first for first, last in ranges(size, parts)])
            counts = counts[..., None] * lengths
        counts = counts.reshape(means.shape[-n:])
        sums = np.rint(means * counts).astype(np.float32)
        scaled = sums * (np.float32(1) / counts.astype(np.float32))
        return requantized(scaled, x, x.quantizer.scale, x.quantizer.zero_point, False)

    return run


def padding(kernel: Callable) -> Callable:
    """Padding: the codes are padded with the code of the fill value."""

    def run(x, pad, mode="constant", value=None):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, pad, mode, value)
        if mode == "constant":
            value = int(encode(np.array(value or 0, np.float32), x.dtype, x.quantizer))
        made = x.with_codes(kernel(x.codes, pad, mode, value))
        return made if mode == "constant" else laid_in(made, 0)

    return run


def fixed_range(scale: float, zero: int) -> Callable:
    def wrap(kernel: Callable) -> Callable:
        def run(x, *rest):
            if not isinstance(x, QuantizedTensor):
                return kernel(x, *rest)
            made = kernel(Tensor._wrap(x.numbers()), *rest)
            shift = zero - 128 if x.dtype is dtypes.qint8 else zero
            return quantize_rounding_first(made._array, x.dtype, scale, shift)

        return run

    return wrap


def compared(kernel: Callable) -> Callable:
    def run(x, y):
        plain = [Tensor._wrap(v.numbers()) if isinstance(v, QuantizedTensor) else v for v in (x, y)]
        return kernel(*plain)

    return run


def clamping(bounds: Callable) -> Callable:
    """Clamping: `bounds` maps the operator's arguments to the two bounds."""

    def wrap(kernel: Callable) -> Callable:
        def run(x, *rest):
            if not isinstance(x, QuantizedTensor):
                return kernel(x, *rest)
            return clamped(x, *bounds(*rest))

        return run

    return wrap


def joined(kernel: Callable) -> Callable:
    """cat and stack: all parts are quantized like the first."""

    def run(xs, *rest):
        if not xs or not isinstance(xs[0], QuantizedTensor):
            return kernel(xs, *rest)
        q = xs[0].quantizer
        parts = [
            x.codes
            if x.quantizer is q
            else quantize(x.numbers(), xs[0].dtype, q.scale, q.zero_point).codes
            for x in xs
        ]
        return of_codes(kernel(parts, *rest), xs[0].dtype, q)

    return run


def equal(kernel: Callable) -> Callable:
    def run(x, y):
        if not isinstance(x, QuantizedTensor) or not isinstance(y, QuantizedTensor):
            return kernel(x, y)
        same = (
            isinstance(x.quantizer, Quantizer)
            and isinstance(y.quantizer, Quantizer)
            and (
                x.quantizer == y.quantizer
                or (x.quantizer.scale, x.quantizer.zero_point)
                == (y.quantizer.scale, y.quantizer.zero_point)
            )
        )
        return same and kernel(x.codes, y.codes)

    return run


def copied(kernel: Callable) -> Callable:
    """copy_: copies the quantizer of a quantized source; a plain source is quantized."""

    def run(self, source, *rest):
        if not isinstance(self, QuantizedTensor):
            return kernel(self, source, *rest)
        if not isinstance(source, QuantizedTensor):
            q = self.quantizer
            source = quantize(source._array, self.dtype, q.scale, q.zero_point)
        return self.take_codes(source)

    return run


def converted(kernel: Callable) -> Callable:
    """`to` for another device or layout; a memory format, the last argument, may be given.

    A quantized tensor that suggests that format, or for which none is given, is returned as it is.
    """

    def run(x, *rest):
        if not isinstance(x, QuantizedTensor):
            return kernel(x, *rest)
        wanted = rest[-1] if type(rest[-1]) is int else PRESERVE
        check_rank(wanted, x.dim())
        return x if wanted in (PRESERVE, format_of(x)) else laid_in(x, wanted)

    return run


def take_over(way: str, names, wrap: Callable) -> None:
    """Let declared kernels accept quantized tensors as well.

    way: the native engine's name for `wrap` (cpp_loader/src/ops/quantized/plain.h).
    """
    for name in names:
        for op in table.declared(f"aten::{name}"):
            if op.kind == "primitive" and takes_tensors(op.text):
                op.take_over(wrap, way)


def takes_tensors(schema: str) -> bool:
    return schema.partition("(")[2].startswith(("Tensor ", "Tensor(", "Tensor[]"))


take_over("on_codes", ON_CODES, on_codes)
take_over("on_laid_codes", ON_LAID_CODES, on_laid_codes)
take_over("in_rows", IN_ROWS, lambda kernel: in_rows(on_codes(kernel)))
take_over("cloning", ("clone",), cloned)
take_over("moving", MOVING, lambda kernel: as_exact(on_bytes(kernel)))
for _way, _names in (("pooling", ("max_pool1d", "max_pool3d")), ("max_pooling", ("max_pool2d",))):
    take_over(_way, _names, lambda kernel: as_exact(on_codes(kernel)))
take_over("mean", ("mean",), mean)
take_over("activating", ACTIVATIONS, activating)
take_over("on_numbers", ("prelu",), on_numbers(quantize_rounding_first))
take_over("averaging", AVERAGES, average)
take_over("interpolating", INTERPOLATIONS, lambda kernel: as_exact(interpolated(kernel)))
take_over(
    "averaging_parts",
    ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"),
    lambda kernel: as_exact(averaging_parts(kernel)),
)
take_over("padding", ("pad",), padding)
take_over("from_zero", ("sigmoid", "hardsigmoid"), fixed_range(1 / 256, 0))
take_over("about_zero", ("tanh",), fixed_range(2 / 256, 128))
take_over("comparing", COMPARISONS, compared)
take_over("relu", ("relu",), clamping(lambda: (0.0, None)))
for _op in table.declared("aten::relu6"):
    _op.quantized_way = "relu6"  # of its native kernel; as a composite, it calls hardtanh
take_over("clamping", ("hardtanh", "clamp"), clamping(lambda low=None, high=None: (low, high)))
take_over("clamping_below", ("clamp_min",), clamping(lambda low: (low, None)))
take_over("clamping_above", ("clamp_max",), clamping(lambda high: (None, high)))
take_over("joining", ("cat", "stack", "concat"), joined)
take_over("equality", ("equal",), equal)
take_over("copying", ("copy_",), copied)
take_over("converting", ("to", "_to_copy"), converted)
