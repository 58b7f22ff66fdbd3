"""Pooling: maxima, means and norms over windows."""

from __future__ import annotations

from typing import List, Optional, Tuple, Union

from ...ops.calling import functions as torch
from ...tensors import Tensor
from ..sizes import _list_with_default, _pair, _single, _triple
from .boolean_dispatch import boolean_dispatch

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List
"""In annotations: a list of that length, or one value for all elements."""


def _steps(stride: Optional[List[int]]) -> List[int]:
    """The stride as operators expect it: [] stands for the size of the window."""
    if stride is None:
        return []
    return stride


avg_pool1d, avg_pool2d, avg_pool3d = torch.avg_pool1d, torch.avg_pool2d, torch.avg_pool3d
adaptive_avg_pool1d = torch.adaptive_avg_pool1d


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tuple[Tensor, Tensor]:
    """The maxima of windows, and their indices in the input."""
    return torch.max_pool1d_with_indices(
        input, kernel_size, _steps(stride), padding, dilation, ceil_mode
    )


def _max_pool1d(
    input: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """The maxima of windows along one dimension; return_indices: also their indices."""
    return torch.max_pool1d(input, kernel_size, _steps(stride), padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tuple[Tensor, Tensor]:
    """The maxima of windows, and their indices in the flattened image."""
    return torch.max_pool2d_with_indices(
        input, kernel_size, _steps(stride), padding, dilation, ceil_mode
    )


def _max_pool2d(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """The maxima of windows along two dimensions; return_indices: also their indices."""
    return torch.max_pool2d(input, kernel_size, _steps(stride), padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tuple[Tensor, Tensor]:
    """The maxima of windows, and their indices in the flattened volume."""
    return torch.max_pool3d_with_indices(
        input, kernel_size, _steps(stride), padding, dilation, ceil_mode
    )


def _max_pool3d(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """The maxima of windows along three dimensions; return_indices: also their indices."""
    return torch.max_pool3d(input, kernel_size, _steps(stride), padding, dilation, ceil_mode)


max_pool1d = boolean_dispatch("return_indices", 6, False, max_pool1d_with_indices, _max_pool1d)
max_pool2d = boolean_dispatch("return_indices", 6, False, max_pool2d_with_indices, _max_pool2d)
max_pool3d = boolean_dispatch("return_indices", 6, False, max_pool3d_with_indices, _max_pool3d)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> Tuple[Tensor, Tensor]:
    """The maxima of `output_size` windows, and their indices."""
    return torch.adaptive_max_pool1d(input, output_size)


def _adaptive_max_pool1d(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> Tensor:
    """The maxima of `output_size` windows; return_indices: also their indices."""
    return adaptive_max_pool1d_with_indices(input, output_size)[0]


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False
) -> Tuple[Tensor, Tensor]:
    """The maxima of `output_size` windows, and their indices."""
    return torch.adaptive_max_pool2d(input, _list_with_default(output_size, input.size()))


def _adaptive_max_pool2d(
    input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False
) -> Tensor:
    """The maxima of `output_size` windows (None keeps a size); return_indices: also their
    indices."""
    return adaptive_max_pool2d_with_indices(input, output_size)[0]


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False
) -> Tuple[Tensor, Tensor]:
    """The maxima of `output_size` windows, and their indices."""
    return torch.adaptive_max_pool3d(input, _list_with_default(output_size, input.size()))


def _adaptive_max_pool3d(
    input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False
) -> Tensor:
    """The maxima of `output_size` windows (None keeps a size); return_indices: also their
    indices."""
    return adaptive_max_pool3d_with_indices(input, output_size)[0]


adaptive_max_pool1d = boolean_dispatch(
    "return_indices", 2, False, adaptive_max_pool1d_with_indices, _adaptive_max_pool1d
)
adaptive_max_pool2d = boolean_dispatch(
    "return_indices", 2, False, adaptive_max_pool2d_with_indices, _adaptive_max_pool2d
)
adaptive_max_pool3d = boolean_dispatch(
    "return_indices", 2, False, adaptive_max_pool3d_with_indices, _adaptive_max_pool3d
)


def adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    """The means of `output_size` windows; None keeps the size of that dimension."""
    return torch.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_avg_pool3d(input: Tensor, output_size: BroadcastingList3[int]) -> Tensor:
    """The means of `output_size` windows; None keeps the size of that dimension."""
    return torch.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    output_size: Optional[BroadcastingList2[int]] = None,
    output_ratio: Optional[BroadcastingList2[float]] = None,
    return_indices: bool = False,
    _random_samples: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor]:
    """The maxima of windows at random positions, and their indices.

    Raises ValueError unless output_size or output_ratio (relative to the input) is given.
    """
    if output_size is None and output_ratio is None:
        raise ValueError(
            "fractional_max_pool2d requires specifying either an output_size or an output_ratio"
        )
    if output_size is None:
        assert output_ratio is not None
        ratio = _pair(output_ratio)
        output_size = [int(input.size(-2) * ratio[0]), int(input.size(-1) * ratio[1])]
    if _random_samples is None:
        n_batch = 1 if input.dim() == 3 else input.size(0)
        _random_samples = torch.rand(
            n_batch, input.size(-3), 2, dtype=input.dtype, device=input.device
        )
    return torch.fractional_max_pool2d(input, kernel_size, output_size, _random_samples)


def _fractional_max_pool2d(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    output_size: Optional[BroadcastingList2[int]] = None,
    output_ratio: Optional[BroadcastingList2[float]] = None,
    return_indices: bool = False,
    _random_samples: Optional[Tensor] = None,
) -> Tensor:
    """The maxima of windows at random positions; return_indices: also their indices."""
    return fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    output_size: Optional[BroadcastingList3[int]] = None,
    output_ratio: Optional[BroadcastingList3[float]] = None,
    return_indices: bool = False,
    _random_samples: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor]:
    """The maxima of windows at random positions, and their indices; see fractional_max_pool2d."""
    if output_size is None and output_ratio is None:
        raise ValueError(
            "fractional_max_pool3d requires specifying either an output_size or an output_ratio"
        )
    if output_size is None:
        assert output_ratio is not None
        ratio = _triple(output_ratio)
        output_size = [
            int(input.size(-3) * ratio[0]),
            int(input.size(-2) * ratio[1]),
            int(input.size(-1) * ratio[2]),
        ]
    if _random_samples is None:
        n_batch = 1 if input.dim() == 4 else input.size(0)
        _random_samples = torch.rand(
            n_batch, input.size(-4), 3, dtype=input.dtype, device=input.device
        )
    return torch.fractional_max_pool3d(input, kernel_size, output_size, _random_samples)


def _fractional_max_pool3d(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    output_size: Optional[BroadcastingList3[int]] = None,
    output_ratio: Optional[BroadcastingList3[float]] = None,
    return_indices: bool = False,
    _random_samples: Optional[Tensor] = None,
) -> Tensor:
    """The maxima of windows at random positions; return_indices: also their indices."""
    return fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


fractional_max_pool2d = boolean_dispatch(
    "return_indices", 4, False, fractional_max_pool2d_with_indices, _fractional_max_pool2d
)
fractional_max_pool3d = boolean_dispatch(
    "return_indices", 4, False, fractional_max_pool3d_with_indices, _fractional_max_pool3d
)


def _unpool_output_size(
    input: Tensor,
    kernel_size: List[int],
    stride: List[int],
    padding: List[int],
    output_size: Optional[List[int]],
) -> List[int]:
    """The size of the input of the pooling: the default, or a given size close enough to it.

    Raises ValueError otherwise."""
    shape = input.size()
    n = len(kernel_size)
    default: List[int] = []
    for d in range(n):
        default.append((shape[-n + d] - 1) * stride[d] + kernel_size[d] - 2 * padding[d])
    chosen = default
    if output_size is not None:
        if len(output_size) == n + 2:
            output_size = output_size[2:]
        if len(output_size) != n:
            raise ValueError(
                "output_size should be a sequence containing "
                f"{n} or {n + 2} elements, but it has a length of "
                f"'{len(output_size)}'"
            )
        for d in range(n):
            low = default[d] - stride[d]
            high = default[d] + stride[d]
            if not low < output_size[d] < high:
                raise ValueError(
                    f'invalid output_size "{output_size}" (dim {d} must be between '
                    f"{low} and {high})"
                )
        chosen = output_size
    for d in range(n):
        if chosen[d] < 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial "
                f"dimensions, but got output_size[{d}]={chosen[d]}"
            )
    return chosen


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    padding: BroadcastingList1[int] = 0,
    output_size: Optional[BroadcastingList1[int]] = None,
) -> Tensor:
    """Place maxima at the indices from `max_pool1d(return_indices=True)`; zeros elsewhere."""
    kernel = list(_single(kernel_size))
    steps = kernel if stride is None else list(_single(stride))
    size = _unpool_output_size(input, kernel, steps, list(_single(padding)), output_size)
    return torch.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), list(size) + [1]).squeeze(
        -1
    )


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    padding: BroadcastingList2[int] = 0,
    output_size: Optional[BroadcastingList2[int]] = None,
) -> Tensor:
    """Place maxima at the indices from `max_pool2d(return_indices=True)`; zeros elsewhere."""
    kernel = list(_pair(kernel_size))
    steps = kernel if stride is None else list(_pair(stride))
    size = _unpool_output_size(input, kernel, steps, list(_pair(padding)), output_size)
    return torch.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    padding: BroadcastingList3[int] = 0,
    output_size: Optional[BroadcastingList3[int]] = None,
) -> Tensor:
    """Place maxima at the indices from `max_pool3d(return_indices=True)`; zeros elsewhere."""
    kernel = list(_triple(kernel_size))
    steps = kernel if stride is None else list(_triple(stride))
    pads = list(_triple(padding))
    size = _unpool_output_size(input, kernel, steps, pads, output_size)
    return torch.max_unpool3d(input, indices, size, steps, pads)


def lp_pool1d(
    input: Tensor,
    norm_type: Union[int, float],
    kernel_size: int,
    stride: Optional[BroadcastingList1[int]] = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norms of order `norm_type` of windows along one dimension."""
    if norm_type == float("inf"):
        return max_pool1d(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -max_pool1d(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    means = avg_pool1d(input.pow(norm_type), kernel_size, _steps(stride), 0, ceil_mode)
    return (torch.sign(means) * torch.relu(torch.abs(means))).mul(kernel_size).pow(1.0 / norm_type)


def lp_pool2d(
    input: Tensor,
    norm_type: Union[int, float],
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norms of order `norm_type` of windows along two dimensions."""
    kh, kw = _pair(kernel_size)
    if norm_type == float("inf"):
        return max_pool2d(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -max_pool2d(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    means = avg_pool2d(input.pow(norm_type), kernel_size, _steps(stride), 0, ceil_mode)
    return (torch.sign(means) * torch.relu(torch.abs(means))).mul(kh * kw).pow(1.0 / norm_type)


def lp_pool3d(
    input: Tensor,
    norm_type: Union[int, float],
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norms of order `norm_type` of windows along three dimensions."""
    kd, kh, kw = _triple(kernel_size)
    if norm_type == float("inf"):
        return max_pool3d(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -max_pool3d(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    means = avg_pool3d(input.pow(norm_type), kernel_size, _steps(stride), 0, ceil_mode)
    return (torch.sign(means) * torch.relu(torch.abs(means))).mul(kd * kh * kw).pow(1.0 / norm_type)
