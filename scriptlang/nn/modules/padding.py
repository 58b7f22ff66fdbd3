"""Padding layers for one to three dimensions, on top of `F.pad`."""

from __future__ import annotations

from typing import Any

from ...tensors import Tensor
from .. import functional as F
from ..sizes import _ntuple, _pair, _quadruple
from .module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

_sextuple = _ntuple(6, "_sextuple")


class _PadNd(Module):
    """padding: two sizes (before, after) a dimension, from the last one on; or one for all."""

    __constants__ = ["padding"]
    sides = staticmethod(_pair)

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = self.sides(padding)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    """Pads with elements from the opposite end of the input."""

    def _check_input_dim(self, input):
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    """Pads 1 dimension with elements from its opposite end.
    Raises ValueError for ranks other than 2, 3."""

    def _check_input_dim(self, input):
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class CircularPad2d(_CircularPadNd):
    """Pads 2 dimensions with elements from the opposite end.
    Raises ValueError for ranks other than 3, 4."""

    sides = staticmethod(_quadruple)

    def _check_input_dim(self, input):
        if input.dim() != 3 and input.dim() != 4:
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")


class CircularPad3d(_CircularPadNd):
    """Pads 3 dimensions with elements from the opposite end.
    Raises ValueError for ranks other than 4, 5."""

    sides = staticmethod(_sextuple)

    def _check_input_dim(self, input):
        if input.dim() != 4 and input.dim() != 5:
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")


class _ConstantPadNd(_PadNd):
    """Pads with one value."""

    __constants__ = ["padding", "value"]
    value: float

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads 1 dimension with `value`; negative padding crops."""


class ConstantPad2d(_ConstantPadNd):
    """Pads 2 dimensions with `value`; negative padding crops."""

    sides = staticmethod(_quadruple)


class ConstantPad3d(_ConstantPadNd):
    """Pads 3 dimensions with `value`; negative padding crops."""

    sides = staticmethod(_sextuple)


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd):
    """Pads 1 dimension with zeros; negative padding crops."""


class ZeroPad2d(_ZeroPadNd):
    """Pads 2 dimensions with zeros; negative padding crops."""

    sides = staticmethod(_quadruple)


class ZeroPad3d(_ZeroPadNd):
    """Pads 3 dimensions with zeros; negative padding crops."""

    sides = staticmethod(_sextuple)


class _ReflectionPadNd(_PadNd):
    """Pads with the mirror image of the input, without repeating the edge."""

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class ReflectionPad1d(_ReflectionPadNd):
    """Pads 1 dimension with the mirror image, without repeating the edge."""


class ReflectionPad2d(_ReflectionPadNd):
    """Pads 2 dimensions with the mirror image, without repeating the edge."""

    sides = staticmethod(_quadruple)


class ReflectionPad3d(_ReflectionPadNd):
    """Pads 3 dimensions with the mirror image, without repeating the edge."""

    sides = staticmethod(_sextuple)


class _ReplicationPadNd(_PadNd):
    """Pads with copies of the edge."""

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class ReplicationPad1d(_ReplicationPadNd):
    """Pads 1 dimension with copies of the edge."""


class ReplicationPad2d(_ReplicationPadNd):
    """Pads 2 dimensions with copies of the edge."""

    sides = staticmethod(_quadruple)


class ReplicationPad3d(_ReplicationPadNd):
    """Pads 3 dimensions with copies of the edge."""

    sides = staticmethod(_sextuple)
