"""Derivatives of arithmetic that take more than a line."""

from __future__ import annotations

from numbers import Number

from ....tensors import Tensor
from ...calling import functions as torch


def divided(grad: Tensor, by: Number) -> Tensor:
    """A gradient divided by the conjugate of a number."""
    if grad.is_complex():
        return torch.div(grad.conj(), by).conj()
    return torch.div(grad, by)


def squares(a: Tensor, b: Tensor) -> Tensor:
    """a^2 + b^2, with 0 replaced by 1, so that the gradient of an angle is 0 at the origin."""
    total = a * a + b * b
    return total.masked_fill(total == 0, 1.0)


def copysign_gradient(grad: Tensor, x: Tensor, result: Tensor) -> Tensor:
    ratio = result / x
    return grad * ratio.masked_fill(x == 0, 0.0)


def power_type(x: Tensor, y: Tensor) -> int:
    """The type that float_power computes in: double precision."""
    return torch.complex128 if x.is_complex() or y.is_complex() else torch.float64


def power_of_number(x: Tensor, exponent: Number) -> Tensor:
    to_complex = x.is_complex() or isinstance(exponent, complex)
    return torch.pow(x.to(dtype=torch.complex128 if to_complex else torch.float64), exponent)


def number_to_power(base: Number, exponent: Tensor) -> Tensor:
    to_complex = exponent.is_complex() or isinstance(base, complex)
    return torch.pow(base, exponent.to(dtype=torch.complex128 if to_complex else torch.float64))


def power_gradient(grad: Tensor, x: Tensor, exponent: Number) -> Tensor:
    """The gradient of x ** exponent; x ** 0 is constant, also at x = 0."""
    if exponent == 0:
        return torch.zeros_like(grad)
    return grad * (torch.pow(x, exponent - 1) * exponent).conj()


def power_base_gradient(grad: Tensor, x: Tensor, exponent: Tensor) -> Tensor:
    slope = exponent * torch.pow(x, exponent - 1)
    return grad * slope.masked_fill(exponent == 0, 0.0).conj()


def is_not_negative(x: Tensor) -> Tensor:
    """Whether the real part is at least 0."""
    return torch.real(x) >= 0 if x.is_complex() else x >= 0


def power_exponent_gradient(grad: Tensor, x: Tensor, exponent: Tensor, result: Tensor) -> Tensor:
    """The gradient for the exponent; it is 0 where x is 0 and the exponent is not negative."""
    flat = (x == 0) & is_not_negative(exponent)
    slope = result * torch.log(x.to(dtype=result.dtype))  # complex for complex exponents
    return grad * slope.masked_fill(flat, 0.0).conj()


def number_power_gradient(grad: Tensor, base: Number, exponent: Tensor, result: Tensor) -> Tensor:
    slope = result * torch.log(torch.full_like(result, base))
    if base == 0:
        slope = slope.masked_fill(is_not_negative(exponent), 0.0)
    return grad * slope.conj()
