"""Helpers of the derivatives of special functions."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def apart(x: Tensor) -> Tensor:
    """Whether |x| is above the machine epsilon; false for nan."""
    return x.abs() > (2.220446049250313e-16 if x.dtype == torch.float64 else 1.1920928955078125e-07)


def unknown_gradient(grad: Tensor) -> Tensor:
    """The gradient of an argument for which nobody has a formula: going back to it raises."""
    raise NotImplementedError("the derivative by this argument is not implemented")
    return grad
