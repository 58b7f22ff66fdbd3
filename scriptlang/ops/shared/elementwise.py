"""Helpers of pointwise operators: result types, broadcasting, checks of writes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...dtypes import DISPLAY, DType, is_half, working_type
from ...lazy_numpy import np
from ...tensors import Tensor
from ..calling.current import note_moved
from ..table import declare
from .layout import copied, is_dense, laid, laid_like, pointwise_order, resize


def array_of(x: Any, dtype: DType, working: np.dtype | None = None) -> np.ndarray:
    """The array of a tensor, or of a number, in an element type (integers wrap, as in PyTorch).

    working: the numpy type to return instead, since half types are computed in float32.  Tensors
    are rounded to the half type first; numbers are not.
    """
    target = working or dtype.numpy
    if isinstance(x, Tensor):
        array = x._array
        if target != dtype.numpy and array.dtype != dtype.numpy and array.dtype.itemsize > 1:
            array = array_of(x, dtype)
        if array.dtype == target:
            return array
        if array.dtype.kind == "c" and target.kind != "c":
            array = array.real
        return array.astype(target)
    if dtype.kind in "ui" and isinstance(x, int):
        bits = dtype.itemsize * 8
        x = int(x) & (1 << bits) - 1
        if dtype.kind == "i" and x >> (bits - 1):
            x -= 1 << bits
    if isinstance(x, complex) and dtype.kind != "c":
        x = x.real
    return np.array(x, target)


def beside_halves(self: Any, other: Any) -> tuple[Any, Any]:
    """Both operands; numbers are rounded if the result is of a half type."""
    dtype = dtypes.result_type(self, other)
    if not is_half(dtype):
        return self, other
    first, second = (
        x if isinstance(x, (Tensor, bool)) else rounded_number(x, dtype) for x in (self, other)
    )
    return first, second


def rounded_number(value: Any, dtype: DType) -> Any:
    """The number, rounded if `dtype` is a half type."""
    return float(np.asarray(value, dtype.numpy)) if is_half(dtype) else value


def rounded(a: np.ndarray, dtype: DType) -> np.ndarray:
    """The array rounded to the precision of `dtype`, in its own, possibly wider, type."""
    return a if a.dtype == dtype.numpy else a.astype(dtype.numpy).astype(a.dtype)


def floating(dtype: DType) -> DType:
    """The default float type for integers and bool, else the type itself."""
    return dtypes.get_default_dtype() if dtype.kind in "bui" else dtype


def check_broadcast(*operands: Any) -> tuple[int, ...]:
    """The shape that the tensors among the operands broadcast to.

    Raises RuntimeError that names the sizes that do not match.
    """
    sizes = [x._size for x in operands if isinstance(x, Tensor)]
    if all(size == sizes[0] for size in sizes):
        return sizes[0] if sizes else ()
    shape: list[int] = []
    for given in sizes:
        size = list(given)
        n = max(len(shape), len(size))
        a, b = [1] * (n - len(shape)) + shape, [1] * (n - len(size)) + size
        for d in reversed(range(n)):
            if a[d] != b[d] and 1 not in (a[d], b[d]):
                raise RuntimeError(
                    f"The size of tensor a ({a[d]}) must match the size of tensor b "
                    f"({b[d]}) at non-singleton dimension {d}"
                )
        shape = [q if p == 1 else p for p, q in zip(a, b)]
    return tuple(shape)


def unsupported(name: str, dtype: DType) -> NotImplementedError:
    """The error of an operator that does not support an element type."""
    error = NotImplementedError(f"\"{name}_cpu\" not implemented for '{DISPLAY[dtype.name]}'")
    error.computed = dtype  # in-place forms check this type
    return error


def check_category(dtype: DType, target: Tensor) -> None:
    """Raise RuntimeError if a result cannot be written into a tensor, such as complex into real."""
    if dtypes.category(dtype) > dtypes.category(target.dtype):
        raise RuntimeError(
            f"result type {DISPLAY[dtype.name]} can't be cast to the desired "
            f"output type {DISPLAY[target.dtype.name]}"
        )


def check_kind(name: str, dtype: DType, kinds: str) -> None:
    """Raise NotImplementedError if the type is of none of the kinds (letters as numpy's).

    uint16, uint32 and uint64 are only accepted by the few operators for which PyTorch has them.
    """
    if dtype.kind not in kinds or dtype in dtypes.BAREBONES and name not in EVERY_TYPE:
        raise unsupported(name, dtype)


EVERY_TYPE = {
    "mul",
    "eq",
    "ne",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "isnan",
    "isinf",
    "isfinite",
    "isreal",
    "floor",
    "ceil",
    "trunc",
    "round",
    "conj_physical",
    "_conj_physical",
}
"""Pointwise operators that also support uint16, uint32 and uint64."""


def lying(array: np.ndarray, dtype: DType | None, *operands: Any) -> Tensor:
    """Wrap a pointwise result, with its dimensions in the operands' order in memory.

    dtype: the type that the operands were converted to before, if any.
    """
    return Tensor._wrap(laid(array, pointwise_order(array.shape, dtype, operands)))


def apply(
    f: Callable,
    dtype: DType,
    *operands: Any,
    name: str = "",
    kinds: str = "buifc",
    last_is_exact: bool = False,
) -> Tensor:
    """Apply f to the operands' arrays in `dtype`; return a new tensor.

    Invalid values give nan without a warning. f may return bool for any type; any other result is
    rounded to `dtype`, which must be of `kinds`. The dimensions of the result have the operands'
    order in memory. last_is_exact: a last operand of one element is not rounded to a half type
    first.
    """
    check_broadcast(*operands)  # PyTorch checks shapes before types
    check_kind(name or getattr(f, "__name__", "operator").strip("<>"), dtype, kinds)
    working = working_type(dtype)
    try:
        with np.errstate(all="ignore"):
            arrays = [array_of(x, dtype, working) for x in operands]
            last = operands[-1]
            if last_is_exact and isinstance(last, Tensor) and last.numel() == 1:
                arrays[-1] = array_of(last, dtypes.BY_NAME[working.name])
            result = np.asarray(f(*arrays))
            if result.dtype == working and working != dtype.numpy:
                result = result.astype(dtype.numpy)
    except TypeError:  # the ufunc has no loop for the type
        raise unsupported(name or getattr(f, "__name__", "operator"), dtype) from None
    return lying(result, dtype, *operands)


def cast(x: Tensor, dtype: DType) -> Tensor:
    """The tensor converted to an element type; itself if it has that type."""
    if x.dtype is dtype:
        return x
    with np.errstate(all="ignore"):
        array = x._array
        if array.dtype.kind == "c" and dtype.kind not in "cb":
            array = array.real
        if dtype.kind in "ui" and x.dtype.kind in "fc" and dtype.itemsize != 4:
            array = array.astype(np.float64).astype(np.int64)
        return Tensor._wrap(laid_like(array.astype(dtype.numpy), x))


def store(target: Tensor, value: Tensor, resize: bool = False) -> Tensor:
    """Write a result into the tensor of an in-place or out= form; return that tensor.

    Raises RuntimeError if the result's type is of a higher category than the target's, or if the
    shapes differ and `resize` is not set.
    """
    if target.is_quantized and value.is_quantized:
        return target.take_codes(value)
    check_category(value.dtype, target)
    if value._size != target._size:
        if resize:
            return resize_to(target, cast(value, target.dtype))
        raise RuntimeError(
            f"output with shape {list(target._size)} doesn't match the broadcast "
            f"shape {list(value._size)}"
        )
    check_writable(target)
    with np.errstate(all="ignore"):
        target._array[...] = cast(value, target.dtype)._array
    return target


RANGES = {
    "uint8": ("uint8_t", 0, 255),
    "int8": ("int8_t", -128, 127),
    "int16": ("int16_t", -(2**15), 2**15 - 1),
    "int32": ("int", -(2**31), 2**31 - 1),
    "uint16": ("uint16_t", 0, 2**16 - 1),
    "uint32": ("uint32_t", 0, 2**32 - 1),
    "uint64": ("uint64_t", 0, 2**64 - 1),
    "int64": ("int64_t", -(2**63), 2**63 - 1),
    "float16": ("c10::Half", -65504.0, 65504.0),
    "bfloat16": ("c10::BFloat16", -3.3895313892515355e38, 3.3895313892515355e38),
    "float32": ("float", -3.4028234663852886e38, 3.4028234663852886e38),
    "complex64": ("c10::complex<float>", -3.4028234663852886e38, 3.4028234663852886e38),
}
"""Element types with a limited range -> PyTorch's C++ name, the least and the greatest number."""


def check_fits(value: Any, dtype: DType) -> None:
    """Raise RuntimeError if a number is out of range for a type; accept tensors and None."""
    if isinstance(value, complex):
        if value.imag and dtype.kind != "c":
            name = "double" if dtype is dtypes.float64 else RANGES.get(dtype.name, (dtype.name,))[0]
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")
        if dtype is dtypes.complex64:
            check_fits(value.imag, dtype)
        value = value.real
    if not isinstance(value, (int, float)) or dtype.name not in RANGES:
        return
    name, low, high = RANGES[dtype.name]
    if dtype.kind in "fc" and not math.isfinite(value):
        return
    if dtype.kind == "u" and isinstance(value, int):
        low = -high  # negative numbers wrap: -1 becomes 255
    if not low <= value <= high:
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def check_factor(value: Any, dtype: DType) -> None:
    """`check_fits` for operators that compute half types in float32."""
    check_fits(value, dtypes.float32 if is_half(dtype) else dtype)


def overlaps_itself(target: Tensor) -> bool:
    """Whether a dimension is expanded, so that elements share memory."""
    return 0 not in target._size and any(
        s == 0 and n > 1 for n, s in zip(target._size, target._stride)
    )


def check_writable(target: Tensor) -> None:
    """Raise RuntimeError for an expanded tensor, which cannot be written: elements share memory."""
    if overlaps_itself(target):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor "
            "refers to a single memory location. Please clone() the tensor before "
            "performing the operation."
        )


def check_apart(target: Tensor, other: Tensor, same: bool = True) -> None:
    """Raise RuntimeError if the two tensors overlap in memory.

    same: whether it is allowed that each element shares memory with its counterpart.
    """
    if target is other and same or target._storage is not other._storage:
        return
    if target is not other:
        if not target.numel() or not other.numel() or not is_dense(target) or not is_dense(other):
            return  # nothing is shared, or it is hard to tell
        (a, b), (c, d) = place_of(target), place_of(other)
        if b <= c or d <= a or same and (a, b) == (c, d) and lie_alike(target, other):
            return
    raise RuntimeError(
        "unsupported operation: some elements of the input tensor and the "
        "written-to tensor refer to a single memory location. Please clone() the "
        "tensor before performing the operation."
    )


def lie_alike(a: Tensor, b: Tensor) -> bool:
    """Whether the strides are equal, except for dimensions of size 1."""
    return len(a._size) == len(b._size) and all(
        s == t or m == n == 1 for s, t, m, n in zip(a._stride, b._stride, a._size, b._size)
    )


def place_of(x: Tensor) -> tuple[int, int]:
    """The first byte of a dense tensor in its storage, and the byte after its last."""
    return x._offset * x.dtype.itemsize, (x._offset + x.numel()) * x.dtype.itemsize


def resize_to(target: Tensor, value: Tensor) -> Tensor:
    """Give `target` the value's shape, elements and strides; its storage grows if needed."""
    fresh = Tensor._wrap(copied(value))
    resize(target, list(value._size))
    target._stride, target._view = fresh._stride, None
    note_moved(target)
    check_writable(target)
    target._array[...] = fresh._array
    return target


def declare_pointwise(head: str, rest: str, kernel: Callable, **facts) -> None:
    """Declare `aten::head(Tensor self, rest) -> Tensor`; its in-place and out= forms are derived.

    head: `name` or `name.overload`.  rest: the arguments after self, possibly empty.
    """
    tail = f", {rest}" if rest else ""
    declare(
        f"aten::{head}(Tensor self{tail}) -> Tensor", kernel, "primitive", pointwise=True, **facts
    )
