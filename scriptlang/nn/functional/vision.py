"""Resizing and sampling of images, and their patches."""

from __future__ import annotations

import math
import warnings
from typing import List, Optional, Union

from ...jit import _overload
from ...ops.calling import functions as torch
from ...tensors import Tensor
from ..sizes import _pair
from .pool import BroadcastingList2, adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def _output_sizes(input: Tensor, size: Union[int, List[int], None]) -> Optional[List[int]]:
    dim = input.dim() - 2
    if size is None:
        return None
    if isinstance(size, int):
        return [size for _ in range(dim)]
    if len(size) != dim:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {list(input.shape[2:])} and output size of {size}. Please "
            "provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, "
            "...,oK) format."
        )
    return size


def _scales(input: Tensor, scale_factor: Union[float, List[float], None]) -> Optional[List[float]]:
    dim = input.dim() - 2
    if scale_factor is None:
        return None
    if isinstance(scale_factor, (int, float)):
        return [float(scale_factor) for _ in range(dim)]
    if len(scale_factor) != dim:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input "
            f"with spatial dimensions of {list(input.shape[2:])} and scale_factor of shape "
            f"{scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format."
        )
    return scale_factor


def _resize_linear(
    input: Tensor,
    mode: str,
    size: Optional[List[int]],
    align: bool,
    scales: Optional[List[float]],
    antialias: bool,
) -> Tensor:
    """The modes that take `align_corners`.
    Raises NotImplementedError if mode and rank do not fit."""
    dim = input.dim()
    if dim == 3 and mode == "linear":
        return torch.upsample_linear1d(input, size, align, scales)
    if dim == 4 and mode == "bilinear":
        return (
            torch._upsample_bilinear2d_aa(input, size, align, scales)
            if antialias
            else torch.upsample_bilinear2d(input, size, align, scales)
        )
    if dim == 5 and mode == "trilinear":
        return torch.upsample_trilinear3d(input, size, align, scales)
    if dim == 4 and mode == "bicubic":
        return (
            torch._upsample_bicubic2d_aa(input, size, align, scales)
            if antialias
            else torch.upsample_bicubic2d(input, size, align, scales)
        )
    if dim == 4 and mode == "lanczos":
        if align:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
        return torch._upsample_lanczos2d_aa(input, size, align, scales)
    if dim >= 3 and dim <= 5 and mode in ("linear", "bilinear", "trilinear"):
        needed = 3 if mode == "linear" else (4 if mode == "bilinear" else 5)
        raise NotImplementedError(f"Got {dim}D input, but {mode} mode needs {needed}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {dim}D) for the modes: "
        "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got "
        f"{mode})"
    )


def _resize_nearest(
    input: Tensor, mode: str, size: Optional[List[int]], scales: Optional[List[float]]
) -> Tensor:
    """The modes that select pixels, or average them ("area").
    Raises NotImplementedError likewise."""
    dim = input.dim()
    if mode == "area" and dim >= 3 and dim <= 5:
        assert size is not None
        if dim == 3:
            return adaptive_avg_pool1d(input, size)
        return adaptive_avg_pool2d(input, size) if dim == 4 else adaptive_avg_pool3d(input, size)
    exact = mode == "nearest-exact"
    if dim == 3:
        return (
            torch._upsample_nearest_exact1d(input, size, scales)
            if exact
            else torch.upsample_nearest1d(input, size, scales)
        )
    if dim == 4:
        return (
            torch._upsample_nearest_exact2d(input, size, scales)
            if exact
            else torch.upsample_nearest2d(input, size, scales)
        )
    if dim == 5:
        return (
            torch._upsample_nearest_exact3d(input, size, scales)
            if exact
            else torch.upsample_nearest3d(input, size, scales)
        )
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {dim}D) for the modes: "
        "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got "
        f"{mode})"
    )


@_overload
def interpolate(
    input: Tensor,
    size: Optional[int] = None,
    scale_factor: Optional[List[float]] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
) -> Tensor:
    pass


@_overload
def interpolate(
    input: Tensor,
    size: Optional[int] = None,
    scale_factor: Optional[float] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
) -> Tensor:
    pass


@_overload
def interpolate(
    input: Tensor,
    size: Optional[List[int]] = None,
    scale_factor: Optional[List[float]] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
) -> Tensor:
    pass


@_overload
def interpolate(
    input: Tensor,
    size: Optional[List[int]] = None,
    scale_factor: Optional[float] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
    recompute_scale_factor: Optional[bool] = None,
    antialias: bool = False,
) -> Tensor:
    pass


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resize (N, C, L), (N, C, H, W) or (N, C, D, H, W) to another size.

    size, scale_factor: one for all spatial dimensions, or one for each. Raises ValueError unless
    exactly one of them is given.
    mode: nearest, nearest-exact, area, linear, bilinear, bicubic, trilinear or lanczos.
    recompute_scale_factor: compute the scale from the rounded output size, as if `size` were
    given.
    """
    picks = mode in ("nearest", "area", "nearest-exact")
    if picks and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear"
        )
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    recompute = recompute_scale_factor is not None and recompute_scale_factor
    if recompute and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    sizes = _output_sizes(input, size)
    scales = _scales(input, scale_factor)
    if scales is not None and (recompute or mode == "area"):
        rounded: List[int] = []
        for i in range(input.dim() - 2):
            rounded.append(math.floor(float(input.size(i + 2)) * scales[i]))
        sizes, scales = rounded, None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes "
            "and requires a 4-D tensor as input"
        )
    if picks:
        return _resize_nearest(input, mode, sizes, scales)
    align = False if align_corners is None else align_corners
    return _resize_linear(input, mode, sizes, align, scales, antialias)


@_overload
def upsample(
    input: Tensor,
    size: Optional[int] = None,
    scale_factor: Optional[float] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
) -> Tensor:
    pass


@_overload
def upsample(
    input: Tensor,
    size: Optional[List[int]] = None,
    scale_factor: Optional[float] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
) -> Tensor:
    pass


@_overload
def upsample(
    input: Tensor,
    size: Optional[int] = None,
    scale_factor: Optional[List[float]] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
) -> Tensor:
    pass


@_overload
def upsample(
    input: Tensor,
    size: Optional[List[int]] = None,
    scale_factor: Optional[List[float]] = None,
    mode: str = "nearest",
    align_corners: Optional[bool] = None,
) -> Tensor:
    pass


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of `interpolate`, with a deprecation warning."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


@_overload
def upsample_nearest(
    input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None
) -> Tensor:
    pass


@_overload
def upsample_nearest(
    input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None
) -> Tensor:
    pass


@_overload
def upsample_nearest(
    input: Tensor, size: Optional[int] = None, scale_factor: Optional[List[float]] = None
) -> Tensor:
    pass


@_overload
def upsample_nearest(
    input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None
) -> Tensor:
    pass


def upsample_nearest(input, size=None, scale_factor=None):
    """The old name of `interpolate(mode="nearest")`, with a deprecation warning."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


@_overload
def upsample_bilinear(
    input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None
) -> Tensor:
    pass


@_overload
def upsample_bilinear(
    input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None
) -> Tensor:
    pass


@_overload
def upsample_bilinear(
    input: Tensor, size: Optional[int] = None, scale_factor: Optional[List[float]] = None
) -> Tensor:
    pass


@_overload
def upsample_bilinear(
    input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None
) -> Tensor:
    pass


def upsample_bilinear(input, size=None, scale_factor=None):
    """The deprecated name of `interpolate(mode="bilinear", align_corners=True)`."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _aligned(align_corners: Optional[bool]) -> bool:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to "
            "align_corners=False since 1.3.0. Please specify align_corners=True if the "
            "old behavior is desired. See the documentation of grid_sample for details.",
            stacklevel=3,
        )
        return False
    return align_corners


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: Optional[bool] = None,
) -> Tensor:
    """Sample the input (N, C, [D,] H, W) at a grid (N, ..., 2 or 3) of positions in [-1, 1].

    mode: bilinear, nearest or bicubic. padding_mode, for positions outside: zeros, border or
    reflection.
    Raises ValueError for other modes.
    """
    if mode != "bilinear" and mode != "nearest" and mode != "bicubic":
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' "
            f"or 'bicubic', but got: '{mode}'"
        )
    if padding_mode != "zeros" and padding_mode != "border" and padding_mode != "reflection":
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', "
            f"'border', or 'reflection', but got: '{padding_mode}'"
        )
    how = 0 if mode == "bilinear" else (1 if mode == "nearest" else 2)
    outside = 0 if padding_mode == "zeros" else (1 if padding_mode == "border" else 2)
    return torch.grid_sampler(input, grid, how, outside, _aligned(align_corners))


def affine_grid(theta: Tensor, size: List[int], align_corners: Optional[bool] = None) -> Tensor:
    """The grid of affine maps (N, 2, 3) or (N, 3, 4), for an output of `size` (N, C, [D,] H, W)."""
    align = _aligned(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n != 2 and n != 3:
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine "
            f"transforms, respectively. Got size {size}."
        )
    if theta.dim() != 3 or theta.size(-2) != n or theta.size(-1) != n + 1:
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for "
            f"size {size}. Got {theta.shape}."
        )
    if align and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids "
            "when align_corners=True. This is not an intended use case of affine_grid."
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return torch.affine_grid_generator(theta, size, align)


def unfold(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    """The patches of images as columns: (N, C, H, W) -> (N, C * kernel elements, patches)."""
    return torch.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(
    input: Tensor,
    output_size: BroadcastingList2[int],
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    """Put columns back as patches, and add them where they overlap; the reverse of `unfold`."""
    return torch.col2im(
        input,
        _pair(output_size),
        _pair(kernel_size),
        _pair(dilation),
        _pair(padding),
        _pair(stride),
    )
