"""What every pointwise operator shares: result types, broadcasting, in-place and out forms."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..tensor import Tensor
from .table import declare

DISPLAY = {"uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
           "float16": "Half", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat",
           "complex128": "ComplexDouble", "bool": "Bool", "bfloat16": "BFloat16"}
"""PyTorch's names of element types in error messages."""


def array_of(x: Any, dtype: DType) -> np.ndarray:
    """A tensor's array, or a number's, in an element type (integers wrap, as in PyTorch)."""
    if isinstance(x, Tensor):
        return x._array if x.dtype is dtype else x._array.astype(dtype.numpy)
    if dtype.kind in "ui" and isinstance(x, int):
        bits = dtype.itemsize * 8
        x &= (1 << bits) - 1
        if dtype.kind == "i" and x >> (bits - 1):
            x -= 1 << bits
    return np.asarray(x).astype(dtype.numpy) if isinstance(x, complex) and dtype.kind != "c" \
        else np.array(x, dtype.numpy)


def floating(dtype: DType) -> DType:
    """The type that integers compute in where the result is not integral: the default float."""
    return dtypes.get_default_dtype() if dtype.kind in "buif"[:3] else dtype


def check_broadcast(*operands: Any) -> tuple[int, ...]:
    """The common shape of the tensors among the operands; RuntimeError naming the sizes that clash."""
    shape: list[int] = []
    for x in operands:
        if not isinstance(x, Tensor):
            continue
        size = list(x._size)
        n = max(len(shape), len(size))
        a, b = [1] * (n - len(shape)) + shape, [1] * (n - len(size)) + size
        for d, (p, q) in enumerate(zip(a, b)):
            if p != q and p != 1 and q != 1:
                raise RuntimeError(f"The size of tensor a ({p}) must match the size of tensor b ({q})"
                                   f" at non-singleton dimension {d}")
        shape = [q if p == 1 else p for p, q in zip(a, b)]
    return tuple(shape)


def apply(f: Callable, dtype: DType, *operands: Any) -> Tensor:
    """f of the operands' arrays in `dtype`, as a new tensor.  Invalid values make nan, silently."""
    check_broadcast(*operands)
    with np.errstate(all="ignore"):
        result = f(*(array_of(x, dtype) for x in operands))
    return Tensor._wrap(np.asarray(result))


def cast(x: Tensor, dtype: DType) -> Tensor:
    """The tensor in another element type; itself where it has it already."""
    if x.dtype is dtype:
        return x
    with np.errstate(all="ignore"):
        array = x._array
        if array.dtype.kind == "c" and dtype.kind != "c":
            array = array.real
        if dtype.kind in "ui" and (array.dtype.kind == "f" or x.dtype.kind == "f"):
            array = array.astype(np.float64).astype(np.int64)
        return Tensor._wrap(np.asarray(array.astype(dtype.numpy)))


def store(target: Tensor, value: Tensor, resize: bool = False) -> Tensor:
    """Write a result into the tensor of an in-place or out form; returns that tensor.

    The result's category must not be above the target's; its shape must be the target's.
    """
    if dtypes.category(value.dtype) > dtypes.category(target.dtype):
        raise RuntimeError(f"result type {DISPLAY[value.dtype.name]} can't be cast to the desired "
                           f"output type {DISPLAY[target.dtype.name]}")
    if value._size != target._size:
        if resize:
            return resize_to(target, cast(value, target.dtype))
        raise RuntimeError(f"output with shape {list(target._size)} doesn't match the broadcast "
                           f"shape {list(value._size)}")
    check_writable(target)
    with np.errstate(all="ignore"):
        target._array[...] = cast(value, target.dtype)._array
    return target


def check_writable(target: Tensor) -> None:
    """An expanded tensor has elements that share memory: it cannot be written as a whole."""
    if any(s == 0 and n > 1 for n, s in zip(target._size, target._stride)):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor "
                           "refers to a single memory location. Please clone() the tensor before "
                           "performing the operation.")


def resize_to(target: Tensor, value: Tensor) -> Tensor:
    """Make `target` a contiguous tensor with the value's shape and elements (an out form resizes)."""
    fresh = Tensor._wrap(np.array(value._array, order="C"))
    target.storage, target._size = fresh.storage, fresh._size
    target._stride, target._offset, target._view = fresh._stride, 0, None
    return target


def declare_forms(head: str, rest: str, kernel: Callable, inplace: bool = True, out: str = "out",
                  in_place_name: str | None = None) -> None:
    """Declare `aten::head(Tensor self, rest) -> Tensor` with its in-place and out forms.

    head is `name` or `name.overload`; rest the arguments after self, possibly empty.
    """
    name, _, overload = head.partition(".")
    tail = f", {rest}" if rest else ""
    declare(f"aten::{head}(Tensor self{tail}) -> Tensor", kernel, "primitive")
    if inplace:
        target = f"{name}_" + (f".{overload}" if overload else "")
        declare(f"aten::{target}(Tensor(a!) self{tail}) -> Tensor(a!)",
                lambda self, *args: store(self, kernel(self, *args)), "primitive")
    if out:
        star = ", " if "*" in rest else ", *, "
        declare(f"aten::{name}.{out}(Tensor self{tail}{star}Tensor(a!) out) -> Tensor(a!)",
                lambda self, *args: store(args[-1], kernel(self, *args[:-1]), resize=True),
                "primitive")
