"""Derivatives of interpolation, which multiplies by a matrix along each dimension."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def scales_of(factors: list[float] | None, number: int) -> list[float | None]:
    found: list[float | None] = []
    for i in range(number):
        found.append(None if factors is None else factors[i])
    return found


def matrices(
    kind: str,
    like: Tensor,
    size: list[int],
    out: list[int],
    align_corners: bool,
    scales: list[float | None],
) -> list[Tensor]:
    """For each spatial dimension, the interpolation matrix (size before, size after)."""
    found: list[Tensor] = []
    for i, scale in enumerate(scales):
        n, m = size[i + 2], out[i + 2]
        units = torch.eye(n, dtype=like.dtype).reshape([n, 1, n])
        found.append(interpolated(kind, units, m, align_corners, scale).reshape([n, m]))
    return found


def interpolated(kind: str, x: Tensor, m: int, align_corners: bool, scale: float | None) -> Tensor:
    """Resize dimension 2 of x to m by the interpolation named `kind`."""
    if kind == "nearest1d" or kind == "nearest2d" or kind == "nearest3d":
        return torch.upsample_nearest1d(x, [m], scale)
    if kind == "nearest_exact1d" or kind == "nearest_exact2d" or kind == "nearest_exact3d":
        return torch._upsample_nearest_exact1d(x, [m], scale)
    if kind == "linear1d" or kind == "bilinear2d" or kind == "trilinear3d":
        return torch.upsample_linear1d(x, [m], align_corners, scale)
    wide = x.unsqueeze(-1)
    if kind == "bicubic2d":
        return torch.upsample_bicubic2d(wide, [m, 1], align_corners, scale, None)
    if kind == "bilinear2d_aa":
        return torch._upsample_bilinear2d_aa(wide, [m, 1], align_corners, scale, None)
    if kind == "lanczos2d_aa":
        return torch._upsample_lanczos2d_aa(wide, [m, 1], align_corners, scale, None)
    return torch._upsample_bicubic2d_aa(wide, [m, 1], align_corners, scale, None)


def affine_gradient(grad: Tensor, size: list[int], align_corners: bool) -> Tensor:
    """The gradient of affine_grid_generator: the grid is theta times the positions.

    The positions are computed as the grid of the identity.
    """
    number = len(size) - 2
    unit = torch.eye(number, number + 1, dtype=grad.dtype)
    one = torch.affine_grid_generator(unit.unsqueeze(0), [1] + size[1:], align_corners)
    places = torch.constant_pad_nd(one.reshape([-1, number]), [0, 1], 1.0)
    return grad.reshape([size[0], -1, number]).transpose(1, 2).matmul(places)
