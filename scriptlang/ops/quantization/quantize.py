"""Quantizing, dequantizing, properties of quantized tensors, and fake quantization."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...tensors import Tensor, wrap_dim
from ..shared.layout import CHANNELS_LAST, in_format_of
from ..table import declare, primitive
from .quantized_tensors import (
    ChannelQuantizer,
    QuantizedTensor,
    Quantizer,
    as_suggested,
    check_zero_point,
    clipped,
    encode,
    limits,
    of_codes,
    quantize,
)

SMALLEST_SCALE = 6.1e-5
"""Smaller scales are raised to this one: their inverse would lose too much precision."""


def quantized_type(code: int):
    dtype = dtypes.by_code(code)
    if dtype.kind != "q":
        raise RuntimeError(
            f"the type of a quantized tensor is qint8, quint8 or qint32, not {dtype}"
        )
    return dtype


def float_values(x: Tensor) -> np.ndarray:
    if x.dtype is not dtypes.float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {x.dtype}")
    return x._array


@primitive(
    "aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype)"
    " -> Tensor",
    may_share=True,
)
def quantize_per_tensor(self, scale, zero_point, dtype):
    target = quantized_type(dtype)
    check_zero_point(target, zero_point)
    return quantize(float_values(self), target, scale, zero_point)


@primitive(
    "aten::quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
    "ScalarType dtype) -> Tensor",
    may_share=True,
)
def quantize_with_tensors(self, scale, zero_point, dtype):
    return quantize_per_tensor(self, float(scale._item()), int(zero_point._item()), dtype)


@primitive(
    "aten::quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, "
    "ScalarType dtype) -> Tensor[]",
    may_share=True,
)
def quantize_tensors(tensors, scales, zero_points, dtype):
    return [
        quantize_per_tensor(x, float(s), int(z), dtype)
        for x, s, z in zip(tensors, scales._array.tolist(), zero_points._array.tolist())
    ]


@primitive(
    "aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, "
    "ScalarType dtype) -> Tensor"
)
def quantize_per_channel(self, scales, zero_points, axis, dtype):
    target = quantized_type(dtype)
    if not 0 <= axis < self.dim():
        raise RuntimeError(
            "Channel axis out of range in per channel affine quantization. "
            f"Got: {axis} Expected: [0, {self.dim()})"
        )
    quantizer = channel_quantizer(self, scales, zero_points, axis)
    return of_codes(Tensor._wrap(encode(float_values(self), target, quantizer)), target, quantizer)


def channel_quantizer(
    x: Tensor, scales: Tensor, zero_points: Tensor, axis: int
) -> ChannelQuantizer:
    """The quantizer of a channel dimension.

    As in PyTorch, scales are float64 and zero points int64, or both float32.
    """
    axis = wrap_dim(axis, x.dim())
    n = x._size[axis]
    if scales._size != (n,) or zero_points._size != (n,):
        raise RuntimeError(
            f"{n} channels, but scales of size {list(scales._size)} and zero points "
            f"of size {list(zero_points._size)}"
        )
    kinds = (np.float32, np.float32) if zero_points.dtype.kind == "f" else (np.float64, np.int64)
    kept = [Tensor._wrap(t._array.astype(k)) for t, k in zip((scales, zero_points), kinds)]
    return ChannelQuantizer(*kept, axis)


@primitive(
    "aten::quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor"
)
def quantize_dynamic(self, dtype, reduce_range):
    target = quantized_type(dtype)
    low, high = limits(target)
    if reduce_range:
        low, high = low // 2, high // 2
    return quantize(float_values(self), target, *choose_parameters(self._array, low, high))


def choose_parameters(x: np.ndarray, low: int, high: int) -> tuple[float, int]:
    """(scale, zero point) such that codes in [low, high] cover all of the numbers, and 0."""
    smallest = min(float(x.min()), 0.0) if x.size else 0.0
    largest = max(float(x.max()), 0.0) if x.size else 0.0
    scale = (largest - smallest) / (high - low)
    with np.errstate(all="ignore"):
        if np.float32(scale) == 0 or np.isinf(np.float32(1) / np.float32(scale)):
            scale = 0.1
    if scale < SMALLEST_SCALE:
        grown = SMALLEST_SCALE / scale
        if smallest == 0:
            largest = SMALLEST_SCALE * (high - low)
        elif largest == 0:
            smallest = -SMALLEST_SCALE * (high - low)
        else:
            smallest, largest = smallest * grown, largest * grown
        scale = SMALLEST_SCALE
    from_low, from_high = low - smallest / scale, high - largest / scale
    below = abs(low) + abs(smallest / scale) < abs(high) + abs(largest / scale)
    zero = from_low if below else from_high
    return scale, int(min(max(np.rint(zero), low), high))


@primitive(
    "aten::dequantize.self(Tensor self) -> Tensor",
    "aten::dequantize.tensor(Tensor qtensor) -> Tensor",
    may_share=True,
)
def dequantize(self):
    if not isinstance(self, QuantizedTensor):
        return (
            self if self.dtype is dtypes.float32 else Tensor._wrap(self._array.astype(np.float32))
        )
    return Tensor._wrap(self.numbers())


@primitive(
    "aten::dequantize.tensors(Tensor[] tensors) -> Tensor[]",
    "aten::dequantize.list(Tensor[] qtensors) -> Tensor[]",
    may_share=True,
)
def dequantize_all(tensors):
    return [dequantize(t) for t in tensors]


@primitive("aten::dequantize.any(Any tensors) -> Any")
def dequantize_any(tensors):
    if isinstance(tensors, Tensor):
        return dequantize(tensors)
    if isinstance(tensors, (list, tuple)):
        return tensors.__class__(map(dequantize_any, tensors))
    return tensors


def quantizer_of(x: Tensor, kind: type, name: str):
    """The quantizer of a tensor.  Raises RuntimeError if it has none of that kind."""
    if not isinstance(x, QuantizedTensor) or not isinstance(x.quantizer, kind):
        what = "per tensor" if kind is Quantizer else "per channel"
        raise RuntimeError(f"{name} takes a tensor that is quantized {what}")
    return x.quantizer


declare(
    "aten::q_scale(Tensor self) -> float",
    lambda x: quantizer_of(x, Quantizer, "q_scale").scale,
    "primitive",
)
declare(
    "aten::q_zero_point(Tensor self) -> int",
    lambda x: quantizer_of(x, Quantizer, "q_zero_point").zero_point,
    "primitive",
)
declare(
    "aten::q_per_channel_scales(Tensor self) -> Tensor",
    lambda x: quantizer_of(x, ChannelQuantizer, "q_per_channel_scales").scales,
    "primitive",
)
declare(
    "aten::q_per_channel_zero_points(Tensor self) -> Tensor",
    lambda x: quantizer_of(x, ChannelQuantizer, "q_per_channel_zero_points").zero_points,
    "primitive",
)
declare(
    "aten::q_per_channel_axis(Tensor self) -> int",
    lambda x: quantizer_of(x, ChannelQuantizer, "q_per_channel_axis").axis,
    "primitive",
)
declare(
    "aten::qscheme(Tensor self) -> QScheme",
    lambda x: quantizer_of(x, object, "qscheme").scheme,
    "primitive",
)


@primitive("aten::int_repr(Tensor self) -> Tensor")
def int_repr(self):
    if not isinstance(self, QuantizedTensor):
        raise RuntimeError("int_repr takes a quantized tensor")
    return Tensor._wrap(self.laid_codes().copy(order="K"))


@primitive(
    "aten::_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor"
)
def make_per_tensor(self, scale, zero_point):
    codes = in_format_of(self._array, self).copy(order="K")
    return of_codes(Tensor._wrap(codes), type_of_codes(self), Quantizer(scale, zero_point))


@primitive(
    "aten::_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, "
    "int axis) -> Tensor"
)
def make_per_channel(self, scale, zero_point, axis):
    return of_codes(
        Tensor._wrap(np.array(self._array, order="C")),
        type_of_codes(self),
        channel_quantizer(self, scale, zero_point, axis),
    )


def type_of_codes(x: Tensor):
    found = {"int8": dtypes.qint8, "uint8": dtypes.quint8, "int32": dtypes.qint32}.get(x.dtype.name)
    if found is None:
        raise RuntimeError(f"codes are int8, uint8 or int32, not {x.dtype}")
    return found


@primitive(
    "aten::_empty_affine_quantized(SymInt[] size, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None, float scale=1., "
    "int zero_point=0, MemoryFormat? memory_format=0) -> Tensor"
)
def empty_affine(size, dtype, layout, device, pin_memory, scale, zero_point, memory_format):
    from ..shared.fresh import filled

    if dtype is None or dtypes.by_code(dtype).kind != "q":
        raise RuntimeError(
            "Creation of quantized tensor requires quantized dtype like torch.quint8"
        )
    target = quantized_type(dtype)
    codes = filled(size, 0, type_of_quantized(target))
    return of_codes(codes, target, Quantizer(scale, zero_point))


def type_of_quantized(dtype):
    return dtypes.BY_NAME[dtype.name.removeprefix("q")]


def check_codes(low: int, high: int) -> None:
    if low > high:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")


def check_zero_points(points, low: int, high: int) -> None:
    if np.any(np.less(points, low)) or np.any(np.greater(points, high)):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


def fake(x: np.ndarray, scale, zero, is_whole: bool, low: int, high: int) -> np.ndarray:
    """Round numbers to the nearest ones that codes in [low, high] represent.

    Ties go to the even code, or, with integer zero points, to the even number of steps from zero.
    """
    if x.dtype.kind != "f" and x.dtype.name != "bfloat16":
        raise NotImplementedError(f"fake quantization takes floating point numbers, not {x.dtype}")
    with np.errstate(all="ignore"):
        steps = x * (np.float32(1) / scale)
        codes = np.clip(np.rint(steps) + zero if is_whole else np.rint(steps + zero), low, high)
    return ((codes - zero) * scale).astype(x.dtype)


@primitive(
    "aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, "
    "int quant_min, int quant_max) -> Tensor"
)
def fake_per_tensor(self, scale, zero_point, quant_min, quant_max):
    check_codes(quant_min, quant_max)
    check_zero_points(zero_point, quant_min, quant_max)
    return Tensor._wrap(
        fake(self._array, np.float32(scale), np.float32(zero_point), True, quant_min, quant_max)
    )


@primitive(
    "aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, "
    "Tensor zero_point, int quant_min, int quant_max) -> Tensor"
)
def fake_with_tensors(self, scale, zero_point, quant_min, quant_max):
    for t in (scale, zero_point):
        if t.numel() != 1:
            raise RuntimeError(f"a Tensor with {t.numel()} elements cannot be converted to Scalar")
    return fake_per_tensor(
        self, float(scale._item()), int(zero_point._item()), quant_min, quant_max
    )


@primitive(
    "aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, "
    "int axis, int quant_min, int quant_max) -> Tensor"
)
def fake_per_channel(self, scale, zero_point, axis, quant_min, quant_max):
    if scale.dtype.name not in ("float32", "bfloat16"):
        raise RuntimeError(
            f"Scale must be Float or BFloat16, found {dtypes.DISPLAY[scale.dtype.name]}"
        )
    if zero_point.dtype.name not in ("int32", "float32", "float16"):
        raise RuntimeError(
            "Zero-point must be Int32, Float or Half, found "
            f"{dtypes.DISPLAY[zero_point.dtype.name]}"
        )
    if scale.dim() != 1 or zero_point.dim() != 1:
        raise RuntimeError("scale and zero point should be 1-D tensors")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    check_codes(quant_min, quant_max)
    if not self._size or scale.numel() != self._size[wrap_dim(axis, self.dim())]:
        raise RuntimeError(
            "dimensions of scale and zero-point are not consistent with input tensor"
        )
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if zero_point.dtype.kind == "i":
        check_zero_points(zero_point._array, quant_min, quant_max)
    shape = [-1 if d == axis else 1 for d in range(self.dim())]
    s, z = (t._array.astype(np.float32).reshape(shape) for t in (scale, zero_point))
    is_whole = zero_point.dtype.kind == "i"
    return Tensor._wrap(fake(self._array, s, z, is_whole, quant_min, quant_max))


@primitive(
    "aten::fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor "
    "fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, "
    "Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int "
    "ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor",
    may_share=True,
)
def observed_fake_quant(
    self,
    observer_on,
    fake_quant_on,
    running_min,
    running_max,
    scale,
    zero_point,
    averaging_const,
    quant_min,
    quant_max,
    ch_axis,
    per_row_fake_quant,
    symmetric_quant,
):
    """Fake quantization with the given parameters; ranges are not observed (an error is raised)."""
    for flag in (observer_on, fake_quant_on):
        if flag.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {flag.numel()} elements cannot be converted to Scalar"
            )
    if int(observer_on._array.reshape(-1)[0]):
        raise RuntimeError(
            "scriptlang does not observe ranges for quantization; disable the "
            "observers (torch.ao.quantization.disable_observer) before saving"
        )
    if not int(fake_quant_on._array.reshape(-1)[0]):
        return self._as_view(self._size, self._stride, self._offset)
    if per_row_fake_quant:
        return fake_per_channel(self, scale, zero_point, ch_axis, quant_min, quant_max)
    return fake_with_tensors(self, scale, zero_point, quant_min, quant_max)


def requantized(
    scaled: np.ndarray, like: QuantizedTensor, scale, zero_point, rounds_first=True
) -> QuantizedTensor:
    """Quantize numbers, given in units of `scale`, to the type of another tensor.

    rounds_first: whether to round before the zero point is added, or after.
    """
    codes = (
        clipped(scaled, zero_point, like.dtype)
        if rounds_first
        else clipped(scaled + np.float32(zero_point), 0, like.dtype)
    )
    codes = as_suggested(codes, scaled)
    return of_codes(Tensor._wrap(codes), like.dtype, Quantizer(float(scale), int(zero_point)))


def exact_format(x: Tensor) -> int:
    """The memory format of what layers make of an image or a signal, an image of one row.

    Channels last, 2 or 3, where the strides are exactly those of it, and not row-major as well.
    """
    if x.dim() == 3:
        (n, c, length), (a, b, s) = x._size, x._stride
        x = x._as_view((n, c, 1, length), (a, b, s * length, s), x._offset)
    wanted = CHANNELS_LAST.get(x.dim(), 0)
    return wanted if wanted and x.is_contiguous(wanted) and not x.is_contiguous() else 0
