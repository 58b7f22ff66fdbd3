"""Quantized tensors: integers (codes) that represent numbers by a scale and a zero point.

    number = (code - zero_point) * scale

Views share the codes, as views of other tensors share elements.  Operators that do not support
quantization cannot reach the codes: they raise an error that advises to dequantize.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import dtypes
from ...dtypes import DType
from ...lazy_numpy import np
from ...records import record
from ...tensors import Storage, Tensor

CODES = {dtypes.qint8: dtypes.int8, dtypes.quint8: dtypes.uint8, dtypes.qint32: dtypes.int32}
"""Quantized type -> element type of its codes."""

LARGEST_ZERO = 1 << 16
"""An output's zero point may lie outside of the range of codes, but its size is at most this."""

PER_TENSOR, PER_CHANNEL, PER_CHANNEL_FLOAT = 0, 1, 4
"""PyTorch's numbers for the quantization schemes."""


@record(frozen=True, eq=False)
class Quantizer:
    """One scale and one zero point for all elements."""

    scale: float
    zero_point: int
    scheme = PER_TENSOR

    def parameters(self, ndim: int) -> tuple[np.float32, int]:
        """(scale, zero point), such that they broadcast with codes of `ndim` dimensions."""
        return np.float32(self.scale), self.zero_point

    def all_scales(self) -> np.ndarray:
        return np.array([self.scale], np.float32)


@record(frozen=True, eq=False)
class ChannelQuantizer:
    """A scale and a zero point for each index of dimension `axis`; zero points may be float."""

    scales: Tensor
    zero_points: Tensor
    axis: int

    @property
    def scheme(self) -> int:
        return PER_CHANNEL_FLOAT if self.zero_points.dtype.kind == "f" else PER_CHANNEL

    def parameters(self, ndim: int) -> tuple[np.ndarray, np.ndarray]:
        shape = [-1 if d == self.axis else 1 for d in range(ndim)]
        return (
            self.scales._array.astype(np.float32).reshape(shape),
            self.zero_points._array.reshape(shape),
        )

    def all_scales(self) -> np.ndarray:
        return self.scales._array.astype(np.float32)


class QuantizedTensor(Tensor):
    """A tensor of codes with their quantizer."""

    __slots__ = ("quantizer",)
    is_quantized = True

    def __init__(
        self,
        storage: Storage,
        dtype: DType,
        size: Sequence[int],
        stride,
        offset: int,
        quantizer: Quantizer | ChannelQuantizer,
        requires_grad=False,
    ):
        super().__init__(storage, dtype, size, stride, offset, requires_grad)
        self.quantizer = quantizer

    @property
    def _array(self) -> np.ndarray:
        raise NotImplementedError(
            f"this operator takes no quantized tensor ({self.dtype}); pass x.dequantize()"
        )

    @property
    def codes(self) -> Tensor:
        """The codes as an integer tensor that shares the memory."""
        return Tensor(self._storage, CODES[self.dtype], self._size, self._stride, self._offset)

    def laid_codes(self) -> np.ndarray:
        """The codes in the memory format that they suggest, which is that of most results.

        They may share memory with this tensor.
        """
        return in_suggested_format(self.codes._array, self)

    def _as_view(self, size, stride, offset: int) -> QuantizedTensor:
        return QuantizedTensor(self._storage, self.dtype, size, stride, offset, self.quantizer)

    def with_codes(self, codes: Tensor) -> QuantizedTensor:
        """A tensor with these codes and the quantizer of this one."""
        return of_codes(codes, self.dtype, self.quantizer)

    def take_codes(self, other: QuantizedTensor) -> QuantizedTensor:
        """Copy the codes, in place, and the quantizer of a tensor of the same type."""
        if other.dtype is not self.dtype:
            raise RuntimeError(
                f"a tensor of {other.dtype} cannot be written into one of {self.dtype}"
            )
        self.codes._array[...] = other.codes._array
        self.quantizer = other.quantizer
        return self

    def numbers(self) -> np.ndarray:
        """The numbers that the codes represent, in float32 and the suggested memory format."""
        codes = self.laid_codes()
        scale, zero = self.quantizer.parameters(codes.ndim)
        if self.quantizer.scheme == PER_CHANNEL_FLOAT:
            made = (codes.astype(np.float32) - zero.astype(np.float32)) * scale
        else:
            wide = np.int64 if self.dtype is dtypes.qint32 else np.int32
            made = (codes.astype(wide) - zero).astype(np.float32) * scale
        return in_suggested_format(made, self)

    def __reduce__(self):
        return QuantizedTensor, (
            self._storage,
            self.dtype,
            self._size,
            self._stride,
            self._offset,
            self.quantizer,
            self.requires_grad,
        )

    def __repr__(self) -> str:
        from ...printing import quantized_text

        return quantized_text(self)


def in_suggested_format(array: np.ndarray, x: Tensor) -> np.ndarray:
    """The array in the memory format that the strides of a tensor suggest."""
    from ..shared.layout import in_format_of  # imports numpy

    return in_format_of(array, x)


def of_codes(codes: Tensor, dtype: DType, quantizer) -> QuantizedTensor:
    """A quantized tensor that shares the memory of its codes."""
    return QuantizedTensor(
        codes._storage, dtype, codes._size, codes._stride, codes._offset, quantizer
    )


def limits(dtype: DType) -> tuple[int, int]:
    """The smallest and the largest code of a quantized type."""
    info = np.iinfo(CODES[dtype].numpy)
    return int(info.min), int(info.max)


def check_zero_point(dtype: DType, zero_point: int) -> None:
    low, high = limits(dtype)
    if not low <= zero_point <= high:
        raise RuntimeError(f"the zero point {zero_point} is outside of {dtype}")


def encode(numbers: np.ndarray, dtype: DType, quantizer) -> np.ndarray:
    """The nearest codes of float32 numbers, clamped to the type's range.

    They are in the memory format that the numbers suggest.

    Rounds half to even after the zero point is added, as PyTorch does where it quantizes tensors;
    bytes with one scale for all are rounded once.  PyTorch's vector kernels round before
    (`quantize_rounding_first`); results differ if the zero point is odd.
    """
    scale, zero = quantizer.parameters(numbers.ndim)
    with np.errstate(all="ignore"):
        inverse = np.float32(1) / scale
        if dtype is dtypes.qint32 or quantizer.scheme != PER_TENSOR or abs(zero) > LARGEST_ZERO:
            scaled = numbers.astype(np.float32) * inverse + np.asarray(zero, np.float32)
        else:  # a fused multiply-add
            scaled = (numbers.astype(np.float64) * np.float64(inverse) + zero).astype(np.float32)
        return as_suggested(clipped(scaled, 0, dtype), numbers)


def as_suggested(codes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The codes in the memory format that the numbers suggest."""
    return in_suggested_format(codes, Tensor._wrap(numbers))


def clipped(scaled: np.ndarray, zero, dtype: DType) -> np.ndarray:
    """Round numbers in units of the scale, add the zero point, and clamp to the codes' range."""
    low, high = limits(dtype)
    whole = np.nan_to_num(np.rint(scaled.astype(np.float64)), nan=-(2.0**31))
    return np.clip(whole + zero, low, high).astype(CODES[dtype].numpy)


def quantize_rounding_first(
    numbers: np.ndarray, dtype: DType, scale: float, zero_point: int
) -> QuantizedTensor:
    """`quantize`, but rounding half to even before the zero point is added."""
    quantizer = Quantizer(float(scale), int(zero_point))
    with np.errstate(all="ignore"):
        scaled = numbers.astype(np.float32) * (np.float32(1) / np.float32(scale))
    codes = as_suggested(clipped(scaled, zero_point, dtype), numbers)
    return of_codes(Tensor._wrap(codes), dtype, quantizer)


def quantize(numbers: np.ndarray, dtype: DType, scale: float, zero_point: int) -> QuantizedTensor:
    """Quantize numbers with one scale and zero point for all."""
    quantizer = Quantizer(float(scale), int(zero_point))
    return of_codes(Tensor._wrap(encode(numbers, dtype, quantizer)), dtype, quantizer)
