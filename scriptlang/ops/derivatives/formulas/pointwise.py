"""Derivatives of functions of one tensor that take more than a line."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def acosh_slope(x: Tensor) -> Tensor:
    """Complex roots are taken apart: their product has other cuts than the root of the product."""
    if x.is_complex():
        return (x + 1).rsqrt() * (x - 1).rsqrt()
    return (x * x - 1).rsqrt()


def angle_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """The angle is constant along the real line; it is Im(log(x)) elsewhere, and 0 at 0."""
    if not x.is_complex():
        return torch.zeros_like(x)
    at_zero = x == 0
    square = torch.real(x * x.conj()).masked_fill(at_zero, 1.0)
    return torch.mul(x, 1j) * (grad / square)


def logit_gradient(grad: Tensor, x: Tensor, eps: float | None) -> Tensor:
    """Zero where eps clamped; nan outside of [0, 1] where there is no eps."""
    slope = grad / (x * (1 - x)).abs()  # inf at -0, too
    if eps is None:
        return torch.where((x >= 0) & (x <= 1), slope, torch.full_like(x, torch.nan))
    return torch.where((x >= eps) & (x <= 1 - eps), slope, torch.zeros_like(x))


def sgn_gradient(grad: Tensor, x: Tensor, sign: Tensor) -> Tensor:
    """What turns a complex number changes its sign, what scales it does not."""
    if not x.is_complex():
        return torch.zeros_like(grad)
    size = x.abs()
    at_zero = size == 0
    turned = grad - torch.real(grad * sign.conj()) * sign
    return (turned / size.masked_fill(at_zero, 1.0)).masked_fill(at_zero, 0.0)


def sinc_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """The derivative of sin(pi x) / (pi x), which is 0 at 0."""
    at_zero = x == 0
    full = (x * torch.pi).masked_fill(at_zero, 1.0)
    slope = (full.cos() - full.sin() / full) / x.masked_fill(at_zero, 1.0)
    return grad * slope.masked_fill(at_zero, 0.0).conj()
