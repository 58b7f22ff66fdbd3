"""Conversions and copies: element type, memory format, device."""

from __future__ import annotations

from ... import dtypes
from ...tensors import Tensor
from ..calling import functions as torch
from ..shared.elementwise import DISPLAY, cast, check_kind
from ..shared.fresh import formatted
from ..shared.layout import format_of
from ..table import composite, declare, describe, primitive


@primitive(
    "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", shape="like_first"
)
def clone(self, memory_format):
    return formatted(self, 1 if memory_format is None else memory_format)


@primitive(
    "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
    may_copy=True,
    keeps_type="floating",
    layout="hides",
    shape="like_first",
)
def contiguous(self, memory_format):
    return self if self.is_contiguous(memory_format) else formatted(self, memory_format)


def convert(self, dtype: int | None, copy: bool, memory_format: int | None = None) -> Tensor:
    """The converted tensor; self if nothing changes and no copy is asked for."""
    target = self.dtype if dtype is None else dtypes.by_code(dtype)
    unchanged = target is self.dtype and memory_format in (None, 1, format_of(self))
    if unchanged and not copy:
        return self
    result = cast(self, target) if target is not self.dtype else formatted(self, 1)
    return result if memory_format in (None, 1) else formatted(result, memory_format)


declare(
    "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
    "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    lambda self, device, dtype, block, copy, fmt: convert(self, dtype, copy, fmt),
    "primitive",
)
declare(
    "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool "
    "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    lambda self, dtype, block, copy, fmt: convert(self, dtype, copy, fmt),
    "primitive",
)
declare(
    "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    lambda self, other, block, copy, fmt: convert(self, other.dtype.code, copy, fmt),
    "primitive",
)
declare(
    "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    lambda self, dtype, layout, device, pin, block, copy, fmt: convert(self, dtype, copy, fmt),
    "primitive",
)
declare(
    "aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, "
    "bool non_blocking=False, bool copy=False) -> Tensor(a|b)",
    lambda self, device, dtype, block, copy: convert(self, dtype, copy),
    "primitive",
)
declare(
    "aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, "
    "bool copy=False) -> Tensor(a|b)",
    lambda self, dtype, block, copy: convert(self, dtype, copy),
    "primitive",
)
declare(
    "aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(a|b)",
    lambda self, block, copy: convert(self, None, copy),
    "primitive",
)
declare(
    "aten::type_as(Tensor self, Tensor other) -> Tensor",
    lambda self, other: convert(self, other.dtype.code, False),
    "primitive",
)
declare("aten::cpu(Tensor(a) self) -> Tensor(a|b)", lambda self: self, "primitive")
declare(
    "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, bool non_blocking=False, "
    "MemoryFormat? memory_format=None) -> Tensor",
    lambda self, dtype, layout, device, pin, block, fmt: convert(self, dtype, True, fmt),
    "primitive",
)


@primitive("aten::item(Tensor self) -> Scalar", "aten::_local_scalar_dense(Tensor self) -> Scalar")
def item(self):
    return self.item()


@primitive("aten::real(Tensor(a) self) -> Tensor(a)", pointwise=True, may_copy=True)
def real(self):
    if self.dtype.kind != "c":
        return self
    return part_of(self, 0)


def part_of(z: Tensor, number: int) -> Tensor:
    """A view of the real (number 0) or imaginary (1) parts of complex numbers."""
    stride = [2 * s for s in z._stride]
    offset = 2 * z._offset + number
    return Tensor(z._storage, dtypes.part_of(z.dtype), z._size, stride, offset)


@primitive("aten::imag(Tensor(a) self) -> Tensor(a)", pointwise=True, may_copy=True)
def imag(self):
    if self.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return part_of(self, 1)


@primitive(
    "aten::conj(Tensor(a) self) -> Tensor(a)",
    "aten::_conj(Tensor(a) self) -> Tensor(a)",
    may_copy=True,
)
def conj(self):
    return self if self.dtype.kind != "c" else Tensor._wrap(self._array.conj())


@primitive("aten::_neg_view(Tensor(a) self) -> Tensor(a)", may_copy=True)
def neg_view(self):
    check_kind("neg", self.dtype, "uifc")
    return Tensor._wrap(-self._array)


@primitive(
    "aten::resolve_conj(Tensor(a) self) -> Tensor(a)",
    "aten::resolve_neg(Tensor(a) self) -> Tensor(a)",
    pointwise=True,
    may_copy=True,
)
def resolve(self):
    return self


@primitive("aten::view_as_real(Tensor(a) self) -> Tensor(a)")
def view_as_real(self):
    if self.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    part = dtypes.float32 if self.dtype is dtypes.complex64 else dtypes.float64
    return Tensor(
        self._storage, part, [*self._size, 2], [*(2 * s for s in self._stride), 1], self._offset * 2
    )


@primitive("aten::view_as_complex(Tensor(a) self) -> Tensor(a)")
def view_as_complex(self):
    whole = dtypes.complex_of(self.dtype)
    if self.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got "
            f"a tensor of scalar type: {DISPLAY[self.dtype.name]}"
        )
    if not self._size:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self._size[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if self._stride[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    steps = (s for n, s in zip(self._size, self._stride[:-1]) if n != 1)
    if any(s % 2 for s in steps) or self._offset % 2:
        raise RuntimeError("Tensor must have strides and a storage offset divisible by 2")
    return Tensor(
        self._storage,
        whole,
        self._size[:-1],
        [s // 2 for s in self._stride[:-1]],
        self._offset // 2,
    )


# Operators that bodies of `with torch.autocast` call; conversions for the GPU never apply here.


@composite(
    "aten::_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, "
    "bool cpu_enabled, ScalarType cuda_dtype, ScalarType cpu_dtype) -> Tensor(a)"
)
def _autocast_to_reduced_precision(
    self: Tensor, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: int, cpu_dtype: int
) -> Tensor:
    if cpu_enabled and self.dtype == torch.float32:
        return self.to(dtype=cpu_dtype)
    return self


@composite(
    "aten::_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, "
    "bool cpu_enabled) -> Tensor(a)"
)
def _autocast_to_full_precision(self: Tensor, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
    if cpu_enabled and (self.dtype == torch.float16 or self.dtype == torch.bfloat16):
        return self.to(torch.float32)
    return self


describe("to.dtype", fusible=True)
describe("cpu cuda pin_memory to to_dense type_as", may_copy=True)
describe("resolve_conj to type_as", may_share=True)
describe("conj", pointwise=True)
describe("cpu to.device to.prim_Device", shape="like_first")
