"""Backward operators of `grid_sampler`.

A sample is a sum over the corners of the cell that it lies in: of the pixel at a corner, times a
weight for each dimension. So the gradient of an image adds up weights, and that of a grid pixels
times the slopes of the weights.
"""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite
from .activation import single


def _check(grad: Tensor, x: Tensor, grid: Tensor, number: int, modes: list[int]) -> None:
    if x.dim() != number + 2 or grid.dim() != number + 2 or grad.dim() != number + 2:
        raise RuntimeError(
            "grid_sampler(): expected {}D gradient, input and grid, but got sizes {}, {}, "
            "{}".format(number + 2, grad.size(), x.size(), grid.size())
        )
    if x.dtype != grid.dtype or grad.dtype != x.dtype:
        raise RuntimeError("grid_sampler(): expected gradient, input and grid of one type")
    if not x.is_floating_point():
        raise NotImplementedError("gradients of grid_sampler are not implemented for this type")
    if grid.size(0) != x.size(0) or grid.size(-1) != number:
        raise RuntimeError(
            "grid_sampler(): a grid of size {} does not fit an input of size {}".format(
                grid.size(), x.size()
            )
        )
    if list(grad.size()) != [x.size(0), x.size(1)] + list(grid.size()[1:-1]):
        raise RuntimeError(
            "a gradient of size {} does not fit a grid of size {}".format(grad.size(), grid.size())
        )
    if min(modes) < 0 or max(modes) > 2:
        raise RuntimeError("grid_sampler(): unknown interpolation or padding mode")
    if number == 3 and modes[0] == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    for n in x.size()[2:]:
        if n == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                "has sizes {}".format(x.size())
            )


def _inside(place: Tensor, n: int, padding: int, align_corners: bool) -> tuple[Tensor, Tensor]:
    """Coordinates that are moved into the image as the padding says, and their slopes."""
    slope = torch.ones_like(place)
    if padding == 0:
        return place, slope
    if padding == 2:
        low, span = -0.5, float(n)
        if align_corners:
            low, span = 0.0, float(n - 1)
        if span == 0:
            place = torch.zeros_like(place)
        else:
            off = (place - low).abs()
            turns = (off / span).detach().floor()
            rest = off - turns * span
            is_even = torch.remainder(turns, 2) == 0
            slope = torch.where((place >= low) == is_even, slope, -slope)
            place = torch.where(is_even, rest + low, span - rest + low)
    is_flat = (place <= 0) | (place >= n - 1)
    bounded = torch.where(is_flat, place.clamp(0, n - 1).detach(), place)
    return bounded, torch.where(is_flat, 0, slope)


def _cubic(t: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The weights (parameter -0.75) of four neighbours for a point at t after the second, and
    their slopes."""
    a = -0.75
    far, near, end = t + 1, 1 - t, 2 - t
    weights = [
        ((a * far - 5 * a) * far + 8 * a) * far - 4 * a,
        ((a + 2) * t - (a + 3)) * t * t + 1,
        ((a + 2) * near - (a + 3)) * near * near + 1,
        ((a * end - 5 * a) * end + 8 * a) * end - 4 * a,
    ]
    slopes = [
        (3 * a * far - 10 * a) * far + 8 * a,
        (3 * (a + 2) * t - 2 * (a + 3)) * t,
        -(3 * (a + 2) * near - 2 * (a + 3)) * near,
        -((3 * a * end - 10 * a) * end + 8 * a),
    ]
    return weights, slopes


def _taps(
    coordinate: Tensor, n: int, interpolation: int, padding: int, align_corners: bool
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """What a sample reads along one dimension of n pixels: places, weights, slopes of weights."""
    if align_corners:
        scale = 0.5 * float(n - 1)
        place = (coordinate + 1) * scale
    else:
        scale = 0.5 * float(n)
        place = ((coordinate + 1) * float(n) - 1) * 0.5
    places: list[Tensor] = []
    if interpolation == 2:
        low = place.detach().floor()
        weights, slopes = _cubic(place - low)
        for k in range(4):
            places.append(_inside(low + (k - 1), n, padding, align_corners)[0])
        return places, weights, [slope * scale for slope in slopes]
    place, slope = _inside(place, n, padding, align_corners)
    if interpolation == 1:
        return [place.detach().round()], [torch.ones_like(place)], [torch.zeros_like(place)]
    low, slope = place.detach().floor(), slope * scale
    return [low, low + 1], [low + 1 - place, place - low], [-slope, slope]


def _product(weights: list[list[Tensor]], taps: list[int]) -> Tensor:
    """The weight of a corner: the product of those of its taps."""
    product = weights[0][taps[0]]
    for d in range(1, len(taps)):
        product = product * weights[d][taps[d]]
    return product


def _corners(each: int, number: int) -> list[list[int]]:
    """The taps of each corner, by dimension."""
    corners = 1
    for _ in range(number):
        corners *= each
    found: list[list[int]] = []
    for corner in range(corners):
        taps: list[int] = []
        rest = corner
        for _ in range(number):
            taps.append(rest % each)
            rest = rest // each
        found.append(taps)
    return found


def _pixels(places: list[list[Tensor]], taps: list[int], x: Tensor) -> tuple[Tensor, Tensor]:
    """Where a corner lies in a plane, and whether it is inside."""
    is_there = torch.ones_like(places[0][0], dtype=torch.bool)
    index = torch.zeros_like(places[0][0], dtype=torch.int64)
    for d, tap in enumerate(taps):
        place, n = places[d][tap], x.size(2 + d)
        is_there = is_there & (place >= 0) & (place <= n - 1)
        index = index * n + place.nan_to_num(0.0).clamp(0, n - 1).to(dtype=torch.int64)
    return index, is_there


def _gradients(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    modes: list[int],
    align_corners: bool,
    output_mask: list[bool],
    number: int,
) -> tuple[Tensor, Tensor]:
    """modes: of interpolation and padding. number: of dimensions of the image."""
    if len(output_mask) != 2:
        raise RuntimeError("output_mask must be two bools")
    _check(grad_output, input, grid, number, modes)
    x, at, grad = single(input), single(grid), single(grad_output).flatten(2)
    flat = x.flatten(2)
    places: list[list[Tensor]] = []
    weights: list[list[Tensor]] = []
    slopes: list[list[Tensor]] = []
    along: list[Tensor] = []
    for d in range(number):
        coordinate = at.select(-1, number - 1 - d).flatten(1)
        p, w, s = _taps(coordinate, x.size(2 + d), modes[0], modes[1], align_corners)
        places.append(p)
        weights.append(w)
        slopes.append(s)
        along.append(torch.zeros_like(coordinate))
    of_x = torch.zeros_like(flat)
    for taps in _corners(len(places[0]), number):
        index, is_there = _pixels(places, taps, x)
        row = index.unsqueeze(1).expand([x.size(0), x.size(1), -1])
        if output_mask[0]:
            share = grad * _product(weights, taps).unsqueeze(1)
            of_x = of_x.scatter_add(2, row, torch.where(is_there.unsqueeze(1), share, 0))
        if output_mask[1]:
            total = (grad * flat.gather(2, row)).sum([1])
            for d in range(number):
                factors = weights[:d] + [slopes[d]] + weights[d + 1 :]
                share = total * _product(factors, taps)
                along[d] = along[d] + torch.where(is_there, share, 0)
    of_grid = torch.stack([along[number - 1 - d] for d in range(number)], -1)
    none = torch.zeros([0], dtype=input.dtype)
    return (
        of_x.reshape(input.size()).to(dtype=input.dtype) if output_mask[0] else none,
        of_grid.reshape(grid.size()).to(dtype=input.dtype) if output_mask[1] else none,
    )


@composite(
    "aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int "
    "interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> "
    "(Tensor, Tensor)"
)
def grid_sampler_2d_backward(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: list[bool],
) -> tuple[Tensor, Tensor]:
    """The gradients of input and grid; those that output_mask excludes are empty."""
    modes = [interpolation_mode, padding_mode]
    return _gradients(grad_output, input, grid, modes, align_corners, output_mask, 2)


@composite(
    "aten::grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int "
    "interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> "
    "(Tensor, Tensor)"
)
def grid_sampler_3d_backward(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: list[bool],
) -> tuple[Tensor, Tensor]:
    """The gradients of input and grid; those that output_mask excludes are empty."""
    modes = [interpolation_mode, padding_mode]
    return _gradients(grad_output, input, grid, modes, align_corners, output_mask, 3)
