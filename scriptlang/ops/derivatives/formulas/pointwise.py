"""Derivatives of functions of one tensor that take more than a line."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def acosh_slope(x: Tensor) -> Tensor:
    """The derivative of acosh.

    For complex numbers, the product of two roots has other branch cuts than the root of the
    product.
    """
    if x.is_complex():
        return (x + 1).rsqrt() * (x - 1).rsqrt()
    return (x * x - 1).rsqrt()


def angle_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """The gradient of angle: it is 0 for real numbers; for complex ones the angle is Im(log(x))."""
    if not x.is_complex():
        return torch.zeros_like(x)
    at_zero = x == 0
    square = torch.real(x * x.conj()).masked_fill(at_zero, 1.0)
    return torch.mul(x, 1j) * (grad / square)


def logit_gradient(grad: Tensor, x: Tensor, eps: float | None) -> Tensor:
    """The gradient of logit: 0 where eps clamps; without eps, nan outside of [0, 1]."""
    slope = grad / (x * (1 - x)).abs()  # abs, so that -0 gives inf as well
    if eps is None:
        return torch.where((x >= 0) & (x <= 1), slope, torch.full_like(x, torch.nan))
    return torch.where((x >= eps) & (x <= 1 - eps), slope, torch.zeros_like(x))


def sgn_gradient(grad: Tensor, x: Tensor, sign: Tensor) -> Tensor:
    """The gradient of sgn: only the part that rotates a complex number changes its sign."""
    if not x.is_complex():
        return torch.zeros_like(grad)
    size = x.abs()
    at_zero = size == 0
    turned = grad - torch.real(grad * sign.conj()) * sign
    return (turned / size.masked_fill(at_zero, 1.0)).masked_fill(at_zero, 0.0)


def sinc_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """The gradient of sin(pi x) / (pi x), which is 0 at 0."""
    at_zero = x == 0
    full = (x * torch.pi).masked_fill(at_zero, 1.0)
    slope = (full.cos() - full.sin() / full) / x.masked_fill(at_zero, 1.0)
    return grad * slope.masked_fill(at_zero, 0.0).conj()
