"""nn.functional.pad, for all modes of padding."""

from __future__ import annotations

from typing import List, Optional

from ...ops.calling import functions as torch
from ...tensors import Tensor


def pad(
    input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None
) -> Tensor:
    """The input padded by two sizes (before, after) for each dimension, from the last one on.

    mode: "constant" (with `value`), "reflect", "replicate" or "circular".
    """
    return torch.pad(input, pad, mode, value)
