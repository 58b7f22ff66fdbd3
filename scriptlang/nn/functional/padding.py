"""nn.functional.pad and what it calls, for every mode of padding."""

from __future__ import annotations

from typing import List, Optional

from ...ops.calling import functions as torch
from ...tensors import Tensor


def pad(
    input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None
) -> Tensor:
    """The input with sides added, two numbers a dimension, from the last dimension on.

    mode: constant (of `value`), reflect, replicate or circular.
    """
    return torch.pad(input, pad, mode, value)
