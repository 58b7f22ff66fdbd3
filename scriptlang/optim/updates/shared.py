"""What the update rules share: complex numbers as pairs, and the count of steps."""

from __future__ import annotations

from ...ops.calling import functions as torch
from ...tensors import Tensor


def real(x: Tensor) -> Tensor:
    """A complex tensor as pairs of real numbers in the same memory; other tensors unchanged."""
    return torch.view_as_real(x) if x.is_complex() else x


def count(step: Tensor) -> float:
    """Increment the count of steps, and return it."""
    step.add_(1)
    return float(step)
