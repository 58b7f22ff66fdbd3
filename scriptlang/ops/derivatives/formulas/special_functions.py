"""Where functions of physics are told otherwise."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def apart(x: Tensor) -> Tensor:
    """Whether a number can be told from 0 beside 1; nan cannot."""
    return x.abs() > (2.220446049250313e-16 if x.dtype == torch.float64 else 1.1920928955078125e-07)
