"""Derivatives of interpolation, and grid_sampler in the scripted language."""

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


def places_in(
    x: Tensor, grid: Tensor, interpolation: int, padding: int, align_corners: bool
) -> list[Tensor]:
    """The pixel coordinates of grid points, as one tensor for each dimension of the image."""
    places: list[Tensor] = []
    for i in range(grid.size(-1)):
        n = x.size(2 + i)
        place = grid.select(-1, grid.size(-1) - 1 - i)
        if align_corners:
            place = (place + 1) * (0.5 * float(n - 1))
        else:
            place = ((place + 1) * float(n) - 1) * 0.5
        if interpolation != 2:
            place = inside(place, n, padding, align_corners)
        places.append(place)
    return places


def sampled(
    x: Tensor, grid: Tensor, interpolation: int, padding: int, align_corners: bool
) -> Tensor:
    """grid_sampler.

    interpolation: 0 linear, 1 nearest, 2 cubic.  padding: 0 zeros, 1 border, 2 reflection.
    The last dimension of the grid is (x, y) or (x, y, z), in [-1, 1] over the image.
    """
    number = grid.size(-1)
    flat = x.reshape([x.size(0), x.size(1), -1])
    places = places_in(x, grid, interpolation, padding, align_corners)
    lows: list[Tensor] = []
    weights: list[list[Tensor]] = []
    for place in places:
        if interpolation == 1:
            lows.append(place.round())
            weights.append([place.nan_to_num(0.0, 0.0, 0.0) * 0 + 1])  # constant, of the grid
        elif interpolation == 0:
            low = place.detach().floor()
            lows.append(low)
            weights.append([low + 1 - place, place - low])
        else:
            low = place.detach().floor()
            lows.append(low - 1)
            weights.append(cubic(place - low))
    total = torch.zeros([x.size(0), x.size(1)] + list(grid.size()[1 : 1 + number]), dtype=x.dtype)
    each = len(weights[0])
    corners = 1
    for _ in range(number):
        corners *= each
    for corner in range(corners):
        rest = corner
        weight = torch.ones_like(places[0])
        index = torch.zeros_like(places[0], dtype=torch.int64)
        for d in range(number):
            n = x.size(2 + d)
            k = rest % each
            rest = rest // each
            at = lows[d].detach() + k
            if interpolation == 2:
                at = inside(at, n, padding, align_corners)
            weight = weight * weights[d][k] * ((at >= 0) & (at <= n - 1))
            index = index * n + at.clamp(0, n - 1).nan_to_num(0.0).to(dtype=torch.int64)
        row = index.reshape([x.size(0), 1, -1]).expand([x.size(0), x.size(1), -1])
        value = flat.gather(2, row).reshape(total.size())
        total = total + value * weight.unsqueeze(1)
    return total


def cubic(t: Tensor) -> list[Tensor]:
    """The cubic weights (parameter -0.75) of four neighbors for a point at t after the second."""
    a = -0.75
    far, near = t + 1, 1 - t
    end = 2 - t
    return [
        ((a * far - 5 * a) * far + 8 * a) * far - 4 * a,
        ((a + 2) * t - (a + 3)) * t * t + 1,
        ((a + 2) * near - (a + 3)) * near * near + 1,
        ((a * end - 5 * a) * end + 8 * a) * end - 4 * a,
    ]


def inside(place: Tensor, n: int, padding: int, align_corners: bool) -> Tensor:
    """Move coordinates into the image, as the padding says; their gradient at the border is 0."""
    if padding == 0:
        return place
    if padding == 2:
        if align_corners:
            low, span = 0.0, float(n - 1)
        else:
            low, span = -0.5, float(n)
        if span == 0:
            place = torch.zeros_like(place)
        else:
            off = (place - low).abs()
            turns = (off / span).detach().floor()
            rest = off - turns * span
            even = torch.remainder(turns, 2) == 0
            place = torch.where(even, rest + low, span - rest + low)
    bounded = place.clamp(0, n - 1)
    flat = (place <= 0) | (place >= n - 1)
    return torch.where(flat, bounded.detach(), bounded)
