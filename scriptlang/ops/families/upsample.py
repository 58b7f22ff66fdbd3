"""Resizing: interpolation in every mode, sampling on a grid, channel and pixel shuffles.

Interpolation is separable: each mode is a sparse matrix of weights for one dimension, applied to
the spatial dimensions in turn.  Coordinates follow PyTorch: with align_corners the centers of the
corner pixels are aligned, else the pixel areas.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from ... import dtypes
from ...dtypes import DISPLAY, DType
from ...tensors import Tensor
from ..shared.elementwise import check_kind, unsupported
from ..shared.layout import in_format_of
from ..table import declare, describe, primitive


def scale_of(inputs: int, outputs: int, align: bool, factor: float | None) -> float:
    """The distance in the input of one step in the output."""
    if align:
        return (inputs - 1) / (outputs - 1) if outputs > 1 else 0.0
    return 1 / factor if factor is not None and factor > 0 else inputs / outputs


def index_at(at: np.ndarray, first: int, last: int) -> np.ndarray:
    """Convert positions to indices: outside ones become the nearest, NaN the first."""
    return np.clip(np.where(np.isnan(at), first, at), first, last).astype(np.int64)


def nearest(inputs, outputs, align, factor, real, exact=False):
    i = np.arange(outputs)
    with np.errstate(all="ignore"):
        scale = np.float32(scale_of(inputs, outputs, False, factor))
        at = np.floor((i + (0.5 if exact else 0)).astype(np.float32) * scale)
    return index_at(at, 0, inputs - 1)[:, None], np.ones((outputs, 1))


def nearest_exact(inputs, outputs, align, factor, real):
    return nearest(inputs, outputs, align, factor, real, exact=True)


def places(inputs, outputs, align, factor, real, clamp: bool) -> np.ndarray:
    """The input coordinates of the output pixels, computed in the type `real`.

    The type matters, as in PyTorch: in a wide image, float32 coordinates have a larger rounding
    error than the pixels.
    """
    scale = real(scale_of(inputs, outputs, align, factor))
    i = np.arange(outputs, dtype=real)
    half = real(0.5)
    if align:
        return i * scale
    # Rounded once, as in PyTorch's kernels, which are compiled to fused multiply-adds: the product
    # of two float32 is exact in float64.
    at = ((i + half).astype(np.float64) * float(scale) - 0.5).astype(real)
    return np.maximum(at, real(0)) if clamp else at


def linear(inputs, outputs, align, factor, real):
    at = places(inputs, outputs, align, factor, real, clamp=True)
    low = index_at(at, 0, inputs - 1)
    high = np.minimum(low + 1, inputs - 1)
    t = np.clip(at - low.astype(real), 0, 1)
    return np.stack([low, high], 1), np.stack([1 - t, t], 1)


def cubic_weight(x, a):
    x, real = np.abs(x), x.dtype.type  # a Python int would turn bfloat16 into float32
    near = (real(a + 2) * x - real(a + 3)) * x * x + real(1)
    far = ((a * x - real(5 * a)) * x + real(8 * a)) * x - real(4 * a)
    return np.where(x <= 1, near, np.where(x < 2, far, real(0)))


def cubic(inputs, outputs, align, factor, real):
    at = places(inputs, outputs, align, factor, real, clamp=False)
    floor = np.floor(at)
    base = index_at(floor, -4, inputs + 4)  # far outside, every tap is clamped to the edge
    offsets = np.arange(-1, 3)
    with np.errstate(all="ignore"):
        weights = cubic_weight((at - floor)[:, None] - offsets.astype(real), real(-0.75))
    return np.clip(base[:, None] + offsets, 0, inputs - 1), weights


def antialiased(kernel, support: float):
    """Make the function of a filter's weights; the filter widens if the image shrinks."""

    def weights(inputs, outputs, align, factor, real):
        scale = scale_of(inputs, outputs, align, factor)
        reach = support * max(scale, 1.0)
        inverse = 1 / scale if scale >= 1 else 1.0
        center = scale * (np.arange(outputs) + 0.5)
        first = np.maximum((center - reach + 0.5).astype(np.int64), 0)
        count = np.minimum((center + reach + 0.5).astype(np.int64), inputs) - first
        width = max(int(count.max()), 1)
        j = np.arange(width)
        w = kernel((j[None] + first[:, None] - center[:, None] + 0.5) * inverse)
        w = np.where(j[None] < count[:, None], w, 0)
        total = w.sum(1, keepdims=True)
        return np.minimum(first[:, None] + j, inputs - 1), w / np.where(total == 0, 1, total)

    return weights


def _triangle(x):
    return np.maximum(1 - np.abs(x), 0)


def _lanczos(x):
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


MODES = {
    "nearest": nearest,
    "nearest_exact": nearest_exact,
    "linear": linear,
    "cubic": cubic,
    "linear_aa": antialiased(_triangle, 1),
    "lanczos_aa": antialiased(_lanczos, 3),
    "cubic_aa": antialiased(lambda x: cubic_weight(x, -0.5), 2),
}


def resample(array: np.ndarray, axis: int, at: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Along one axis, for every i: the sum over k of `weights[i, k]` times the slice `at[i, k]`."""
    moved = np.moveaxis(array, axis, -1)
    total = 0
    for k in range(at.shape[1]):
        if np.any(weights[:, k]):
            total = total + moved[..., at[:, k]] * weights[:, k].astype(array.dtype)
    return np.moveaxis(np.broadcast_to(total, (*moved.shape[:-1], len(at))), -1, axis)


def resample_bytes(array: np.ndarray, axis: int, at: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """`resample` of bytes as PyTorch computes it: with integer weights of 15 bits.

    Each dimension is rounded to bytes.
    """
    weights = weights.copy()
    for k in range(at.shape[1] - 1, 0, -1):  # merges taps that were clamped to the edge
        same = at[:, k] == at[:, k - 1]
        weights[same, k - 1] += weights[same, k]
        weights[same, k] = 0
    most = float(weights.max())
    bits = next((b for b in range(22) if int(0.5 + most * (2 << b)) >= 1 << 15), 22)
    whole = np.trunc(weights * (1 << bits) + np.copysign(0.5, weights))
    total = resample(array.astype(np.int64), axis, at, whole) + (1 << bits - 1)
    return np.clip(total >> bits, 0, 255).astype(array.dtype)


def sizes_by(sizes: tuple, factors: list) -> list[int]:
    if len(factors) != len(sizes):
        raise RuntimeError(f"scale_factors must have {len(sizes)} values")
    made = [n * f for n, f in zip(sizes, factors)]
    if not all(abs(x) < 2.0**63 for x in made):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return [int(x) for x in made]


def check_image_type(dtype: DType, mode: str, dims: int) -> None:
    """Raise NotImplementedError unless an image is floating or, where it is supported, of bytes."""
    if dtype.kind != "f" and (
        dtype is not dtypes.uint8 or dims != 2 and not mode.startswith("nearest")
    ):
        raise NotImplementedError(
            f"\"compute_indices_weights_{mode}\" not implemented for '{DISPLAY[dtype.name]}'"
        )


def interpolate(mode: str, dims: int):
    def run(self, output_size, factors, align):
        if len(self._size) != dims + 2:
            raise RuntimeError(
                f"It is expected input_size equals to {dims + 2}, but got size {len(self._size)}"
            )
        if output_size is None and factors is None:
            raise RuntimeError("Must specify exactly one of output_size and scale_factors")
        if output_size is None:
            output_size = sizes_by(self._size[2:], factors)
        if len(output_size) != dims:
            raise RuntimeError(
                f"It is expected output_size equals to {dims}, but got size {len(output_size)}"
            )
        if min((*self._size[1:], *output_size), default=1) <= 0:
            raise RuntimeError(
                "Input and output sizes should be greater than 0, but got input "
                f"{list(self._size)}, output {list(output_size)}"
            )
        check_image_type(self.dtype, mode, dims)
        factors = factors or [None] * dims
        array = self._array
        wide = array.astype(dtypes.working_type(self.dtype), copy=False)
        bytes_ = self.dtype.kind == "u" and not mode.startswith("nearest")
        real = np.float64 if bytes_ or self.dtype is dtypes.float64 else np.float32
        for d in reversed(range(dims)) if bytes_ else range(dims):
            # A dimension that keeps its size is not interpolated, whatever the factor.
            kept = output_size[d] == self._size[2 + d] and mode.endswith(("linear", "aa"))
            factor = None if kept else factors[d]
            at, weights = MODES[mode](self._size[2 + d], output_size[d], align, factor, real)
            if mode.startswith("nearest"):
                wide = np.take(wide, at[:, 0], axis=2 + d)
            else:
                wide = (resample_bytes if bytes_ else resample)(wide, 2 + d, at, weights)
        return Tensor._wrap(in_format_of(wide.astype(self.dtype.numpy), self))

    return run


FAMILIES = (
    ("upsample_nearest{}", "nearest", (1, 2, 3), False),
    ("_upsample_nearest_exact{}", "nearest_exact", (1, 2, 3), False),
    ("upsample_linear{}", "linear", (1,), True),
    ("upsample_bilinear{}", "linear", (2,), True),
    ("upsample_trilinear{}", "linear", (3,), True),
    ("upsample_bicubic{}", "cubic", (2,), True),
    ("_upsample_bilinear{}_aa", "linear_aa", (2,), True),
    ("_upsample_bicubic{}_aa", "cubic_aa", (2,), True),
    ("_upsample_lanczos{}_aa", "lanczos_aa", (2,), True),
)
"""Name, mode, the numbers of spatial dimensions, whether align_corners is an argument."""

SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


def _declare(name: str, dims: int, run, aligned: bool) -> None:
    align = ", bool align_corners" if aligned else ""
    scales = "".join(f", float? {s}=None" for s in SCALES[dims])
    declare(
        f"aten::{name}(Tensor self, SymInt[{dims}] output_size{align}{scales}) -> Tensor",
        lambda self, size, *rest: run(
            self, size, list(rest[aligned:]), rest[0] if aligned else False
        ),
        "primitive",
    )
    declare(
        f"aten::{name}.vec(Tensor input, SymInt[]? output_size{align}, float[]? scale_factors)"
        " -> Tensor",
        lambda self, size, *rest: run(
            self, *one_of(size, rest[-1]), align=rest[0] if aligned else False
        ),
        "primitive",
    )


def one_of(size, factors) -> tuple:
    if (size is None) == (factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    return size, factors


for _name, _mode, _dims, _aligned in FAMILIES:
    for _d in _dims:
        _declare(_name.format(f"{_d}d"), _d, interpolate(_mode, _d), _aligned)


class GridAxis:
    """Converts grid positions along one dimension of an image to pixels.

    padding: 0 zeros, 1 border, 2 reflection.  flat: whether the image has two dimensions: PyTorch
    computes these in another order than volumes, and reads NaN as the first pixel if it pads with
    pixels; otherwise NaN makes the sample NaN.
    """

    def __init__(self, size: int, padding: int, align: bool, flat: bool):
        self.size, self.padding, self.align, self.flat = size, padding, align, flat

    def pixels(self, x: np.ndarray) -> np.ndarray:
        """Convert coordinates in [-1, 1] to pixels, in the precision of the coordinates."""
        n = self.size
        if self.flat:
            half = x.dtype.type((n - 1 if self.align else n) / 2)
            return (x + x.dtype.type(1)) * half - x.dtype.type(0 if self.align else 0.5)
        return (x + 1) / 2 * (n - 1) if self.align else ((x + 1) * n - 1) / 2

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Move pixel positions outside of the image back inside, as the padding says."""
        last = x.dtype.type(self.size - 1)
        if self.padding == 2:
            x = self.reflected(x)
        if self.padding and self.flat:
            return np.minimum(np.where(x > 0, x, x.dtype.type(0)), last)
        if self.padding:
            x = np.where(x < 0, 0, x)
            return np.where(x < last, x, last)
        return x

    def reflected(self, x: np.ndarray) -> np.ndarray:
        low, span = (0, self.size - 1) if self.align else (-0.5, self.size)
        if span == 0:
            return np.zeros_like(x)
        distance = np.abs(x - x.dtype.type(low))
        if self.flat:
            twice = x.dtype.type(2 * span)
            extra = distance - np.trunc(distance / twice) * twice
            return np.minimum(extra, twice - extra) + x.dtype.type(low)
        flips, extra = np.floor(distance / span), np.mod(distance, span)
        return np.where(flips % 2 == 0, extra, span - extra) + low

    def taps(self, x: np.ndarray, interpolation: int) -> tuple[list, list]:
        """(indices of the pixels to read, their weights); one outside of the image is none.

        interpolation: 0 bilinear, 1 nearest, 2 bicubic.
        """
        x = self.pixels(x)
        if interpolation == 2:
            low = np.floor(x)
            steps = [x.dtype.type(s) for s in range(-1, 3)]
            part = x - low
            return (
                [self.indices(self.inside(low + s)) for s in steps],
                [
                    cubic_weight(part - s, x.dtype.type(-0.75)) + part * x.dtype.type(0)
                    for s in steps
                ],
            )  # NaN stays NaN
        x = self.inside(x)
        if interpolation == 1:
            return [self.indices(np.rint(x))], [np.ones_like(x)]
        low = np.floor(x) if self.flat else np.floor(np.where(np.isfinite(x), x, -100))
        first = self.indices(low)
        return [first, first + 1], [x.dtype.type(1) - (x - low), x - low]

    def indices(self, x: np.ndarray) -> np.ndarray:
        """Pixel positions as integers; with padding, rounding beyond the last pixel is undone."""
        wide = x.astype(np.float64)
        at = np.where(np.abs(wide) < 1e9, wide, -100).astype(np.int64)
        return np.minimum(at, self.size - 1) if self.padding else at


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    if grid._size[0] != input._size[0] or grid._size[-1] != len(input._size) - 2:
        raise RuntimeError(
            "grid_sampler(): expected grid to have size "
            f"{len(input._size) - 2} in last dimension and the batch of the input, "
            f"but got grid with sizes {list(grid._size)}"
        )
    if interpolation_mode not in (0, 1, 2) or padding_mode not in (0, 1, 2):
        raise RuntimeError("grid_sampler(): unknown interpolation or padding mode")
    dims = len(input._size) - 2
    if interpolation_mode == 2 and dims != 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    check_kind("grid_sampler", input.dtype, "f")
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            "grid_sampler(): expected input and grid to have same dtype, but input "
            f"has {input.dtype} and grid has {grid.dtype}"
        )
    x, g = input._array, grid._array
    rounded = dims == 2 and dtypes.is_half(input.dtype)  # every step, as PyTorch
    if g.dtype != np.float64 and not rounded:
        g = g.astype(np.float32)
    with np.errstate(all="ignore"):
        taps = [
            GridAxis(n, padding_mode, align_corners, dims == 2).taps(
                g[..., dims - 1 - d], interpolation_mode
            )
            for d, n in enumerate(input._size[2:])
        ]
        real = x.dtype if rounded else np.dtype(np.float64)
        total = (gather_rows if interpolation_mode == 2 else gather_taps)(
            x.astype(real), input._size[2:], taps, dims == 2
        )
    return Tensor._wrap(np.ascontiguousarray(total.astype(x.dtype)))


def gather_taps(x: np.ndarray, sizes, taps: list[tuple[list, list]], keeps_nan: bool) -> np.ndarray:
    """The sum over all combinations of taps of weight times pixel, in the type of x.

    Pixels outside of the image count as zero.  keeps_nan: NaN weights count there, too.
    """
    batch = np.arange(x.shape[0]).reshape(-1, *[1] * (x.ndim - 2))
    total = x.dtype.type(0)
    moved = np.moveaxis(x, 1, -1)
    for choice in itertools.product(*(range(len(t[0])) for t in taps)):
        at = [taps[d][0][k] for d, k in enumerate(choice)]
        weight = math.prod(
            (taps[d][1][k].astype(x.dtype) for d, k in enumerate(choice)), start=x.dtype.type(1)
        )
        inside = np.ones(weight.shape, bool)
        for a, n in zip(at, sizes):
            inside &= (a >= 0) & (a < n)
        nothing = x.dtype.type(0)
        outside = np.where(np.isnan(weight), weight, nothing) if keeps_nan else nothing
        key = tuple(np.clip(a, 0, n - 1) for a, n in zip(at, sizes))
        total = total + np.where(
            inside[..., None],
            moved[(batch, *key)] * weight[..., None],
            np.asarray(outside)[..., None],
        )
    return np.moveaxis(total, -1, 1)


def gather_rows(x: np.ndarray, sizes, taps: list[tuple[list, list]], keeps_nan: bool) -> np.ndarray:
    """`gather_taps` row by row: each row of taps is summed before it is weighted."""
    (places, weights), columns = taps
    total = x.dtype.type(0)
    for place, weight in zip(places, weights):
        row = gather_taps(x, sizes, [([place], [np.ones_like(weight)]), columns], keeps_nan)
        total = total + row * weight.astype(x.dtype)[:, None]
    return total


_args = "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)"


def grid_sampler_of(rank: int):
    """Make grid_sampler of images (rank 4) or volumes (rank 5)."""

    def sampler(input, grid, *rest):
        if len(input._size) != rank or len(grid._size) != rank:
            raise RuntimeError(
                f"grid_sampler(): expected {rank}D input and grid, but got sizes "
                f"{list(input._size)} and {list(grid._size)}"
            )
        return grid_sampler(input, grid, *rest)

    return sampler


for _name, _kernel in (
    ("grid_sampler", grid_sampler),
    ("grid_sampler_2d", grid_sampler_of(4)),
    ("grid_sampler_3d", grid_sampler_of(5)),
):
    declare(f"aten::{_name}{_args} -> Tensor", _kernel, "primitive")


@primitive("aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor")
def affine_grid_generator(theta, size, align_corners):
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    if theta.dtype is dtypes.bool:
        raise unsupported("affine_grid", theta.dtype)
    axes = []
    for n in size[2:]:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        axes.append(line if align_corners else line * (n - 1) / n)
    grids = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*grids[::-1], np.ones_like(grids[0])], -1)
    flat = base.reshape(-1, base.shape[-1]).astype(theta.dtype.numpy)
    made = (flat @ theta._array.swapaxes(1, 2)).astype(theta.dtype.numpy)
    return Tensor._wrap(np.ascontiguousarray(made.reshape(size[0], *size[2:], len(axes))))


def check_image(self: Tensor, name: str) -> None:
    if len(self._size) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input "
            f"with {len(self._size)} dimension(s)"
        )


@primitive("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor")
def pixel_shuffle(self, upscale_factor):
    check_image(self, "pixel_shuffle")
    *lead, c, h, w = self._size
    r = upscale_factor
    if r > 0 and r * r >= 1 << 63:
        raise ValueError(
            f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={r}"
        )
    if r <= 0 or c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible "
            f"by the square of upscale_factor, but input.size(-3)={c} is not "
            f"divisible by {r * r}"
        )
    x = self._array.reshape(math.prod(lead), c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return fresh(x.reshape(*lead, c // (r * r), h * r, w * r), self)


def fresh(array: np.ndarray, self: Tensor) -> Tensor:
    """A result in the memory format of its image that does not share memory with it."""
    made = in_format_of(array, self)
    return Tensor._wrap(made.copy("K") if np.may_share_memory(made, self._array) else made)


@primitive("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor")
def pixel_unshuffle(self, downscale_factor):
    check_image(self, "pixel_unshuffle")
    *lead, c, h, w = self._size
    r = downscale_factor
    if r <= 0 or h % r or w % r:
        raise RuntimeError(
            f"pixel_unshuffle expects height and width to be divisible by "
            f"downscale_factor, but got {h}x{w} and {r}"
        )
    if not self.numel():
        return Tensor._wrap(self._array.copy("K"))  # PyTorch keeps its shape
    x = self._array.reshape(math.prod(lead), c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    return fresh(x.reshape(*lead, c * r * r, h // r, w // r), self)


@primitive(
    "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    "aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
)
def channel_shuffle(self, groups):
    if len(self._size) < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(self._size)}"
        )
    n, c, *rest = self._size
    if groups <= 0 or c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    x = self._array.reshape(n, groups, c // groups, *rest).swapaxes(1, 2)
    return fresh(x.reshape(self._size), self)


describe("channel_shuffle", may_share=True)
describe("channel_shuffle", shape="like_first")
