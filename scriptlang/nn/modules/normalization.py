"""Layer, RMS, group and local response normalisation."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple, Union

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _Response(Module):
    size: int
    alpha: float
    beta: float
    k: float

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_Response):
    """Divides each value by a power of the mean square of `size` neighbouring channels."""

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_Response):
    """LocalResponseNorm of (N, C, H, W) whose window has (size - 1) // 2 + 1 channels before."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        after = int((self.size - 1) / 2 + 1)
        squares = input.pow(2)
        sums = torch.zeros_like(squares)
        for c in range(input.size(1)):
            near = squares[:, max(1, c - after + 1) : c + after].sum(1)
            sums[:, c] = squares[:, 0] + near  # the first channel stays in all sums
        return input * sums.mul(self.alpha / self.size).add(self.k).pow(-self.beta)


class _Affine(Module):
    """A layer whose weight starts as ones and bias as zeros, if it has them."""

    def _parameter(self, name: str, shape: Any, wanted: bool, **options: Any) -> None:
        self.register_parameter(name, Parameter(torch.empty(shape, **options)) if wanted else None)

    def reset_parameters(self) -> None:
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            if self._parameters.get(name) is not None:
                fill(self._parameters[name])


def shape_of(normalized_shape: Union[int, List[int]]) -> Tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(_Affine):
    """Normalises the last dimensions, `normalized_shape`, to mean 0 and variance 1."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    eps: float
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = shape_of(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._parameter(
            "weight", self.normalized_shape, elementwise_affine, device=device, dtype=dtype
        )
        self._parameter(
            "bias", self.normalized_shape, elementwise_affine and bias, device=device, dtype=dtype
        )
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Divides the last dimensions, `normalized_shape`, by the root of their mean square."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    eps: Optional[float]
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: Any,
        eps: Optional[float] = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = shape_of(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._parameter(
            "weight", self.normalized_shape, elementwise_affine, device=device, dtype=dtype
        )
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(_Affine):
    """Normalises groups of channels to mean 0 and variance 1; scales and shifts each channel."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._parameter("weight", num_channels, affine, device=device, dtype=dtype)
        self._parameter("bias", num_channels, affine and bias, device=device, dtype=dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )
