"""Linear maps, convolutions and channel shuffles; most are operators of the table."""

from __future__ import annotations

from ...ops.calling import functions as torch
from ...tensors import Tensor

linear, bilinear = torch.linear, torch.bilinear
conv1d, conv2d, conv3d, conv_tbc = torch.conv1d, torch.conv2d, torch.conv3d, torch.conv_tbc
conv_transpose1d, conv_transpose2d = torch.conv_transpose1d, torch.conv_transpose2d
conv_transpose3d = torch.conv_transpose3d
pixel_shuffle, pixel_unshuffle = torch.pixel_shuffle, torch.pixel_unshuffle
channel_shuffle = native_channel_shuffle = torch.channel_shuffle


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: int | None = None,
) -> Tensor:
    """A matrix product for each group. A 3-D operand has one matrix for each group; a 2-D one is
    split at `offs`, the ends of the groups."""
    return torch._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)
