"""Layouts and memory formats: ints in programs, with PyTorch's names for users."""

from __future__ import annotations

from typing import Any


class Named(int):
    """An int that prints as its name in PyTorch."""

    NAMES: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"torch.{self.NAMES[self]}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (int(self),)


class Layout(Named):
    """How the elements of a tensor are stored; here it is always strided."""

    NAMES = ("strided",)


class MemoryFormat(Named):
    """An order of dimensions in memory."""

    NAMES = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


class qscheme(Named):
    """How a tensor is quantized."""

    NAMES = (
        "per_tensor_affine",
        "per_channel_affine",
        "per_tensor_symmetric",
        "per_channel_symmetric",
        "per_channel_affine_float_qparams",
    )


layout, memory_format = Layout, MemoryFormat
"""The names of the classes in torch."""

strided = Layout(0)
contiguous_format, preserve_format, channels_last, channels_last_3d = map(MemoryFormat, range(4))

BY_NAME = {
    name: cls(number)
    for cls in (Layout, MemoryFormat, qscheme)
    for number, name in enumerate(cls.NAMES)
}
