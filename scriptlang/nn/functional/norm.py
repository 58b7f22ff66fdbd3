"""The normalisations of nn.functional: batch, layer, group and instance norm, normalize."""

from __future__ import annotations

from typing import List, Optional

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .pool import avg_pool2d, avg_pool3d


def _verify_batch_size(size: List[int]) -> None:
    """Raise ValueError if each channel has a single value, which has no variance."""
    count = size[0]
    for i in range(len(size) - 2):
        count *= size[i + 2]
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


def _verify_spatial_size(size: List[int]) -> None:
    count = 1
    for i in range(2, len(size)):
        count *= size[i]
    if count == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {size}"
        )


def batch_norm(
    input: Tensor,
    running_mean: Optional[Tensor],
    running_var: Optional[Tensor],
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise channels (dimension 1) to mean 0 and variance 1, then scale and shift them.

    training: use the statistics of the batch, and update the running ones; else use the running
    ones.
    """
    if training:
        _verify_batch_size(input.size())
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return torch.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


def instance_norm(
    input: Tensor,
    running_mean: Optional[Tensor] = None,
    running_var: Optional[Tensor] = None,
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each sample to mean 0 and variance 1, then scale and shift it."""
    if use_input_stats:
        _verify_spatial_size(input.size())
    return torch.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def layer_norm(
    input: Tensor,
    normalized_shape: List[int],
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise the last dimensions, of shape `normalized_shape`, to mean 0 and variance 1."""
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, False)


def rms_norm(
    input: Tensor,
    normalized_shape: List[int],
    weight: Optional[Tensor] = None,
    eps: Optional[float] = None,
) -> Tensor:
    """Divide the last dimensions, of shape `normalized_shape`, by the root of their mean square."""
    return torch.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise groups of channels to mean 0 and variance 1.
    Raises RuntimeError for less than 2-D input."""
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    _verify_batch_size(
        [input.size(0) * input.size(1) // num_groups, num_groups] + list(input.size()[2:])
    )
    return torch.group_norm(input, num_groups, weight, bias, eps, False)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide values by (k + alpha * mean of the squares of `size` channels around them) ** beta.

    input: at least 3-D, with channels in dimension 1. Raises ValueError for lower ranks.
    """
    dim = input.dim()
    if dim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          "
            f"input (got {dim} dimensions)"
        )
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    if dim == 3:
        squares = torch.pad(squares.unsqueeze(1), (0, 0, size // 2, (size - 1) // 2))
        squares = avg_pool2d(squares, (size, 1), stride=1).squeeze(1)
    else:
        shape = input.size()
        squares = squares.view(shape[0], 1, shape[1], shape[2], -1)
        squares = torch.pad(squares, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        squares = avg_pool3d(squares, (size, 1, 1), stride=1).squeeze(1).view(shape)
    return input / squares.mul(alpha).add(k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Optional[Tensor] = None
) -> Tensor:
    """Divide the input by its p-norm along `dim`; norms below eps count as eps."""
    size = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / size if out is None else torch.div(input, size, out=out)
