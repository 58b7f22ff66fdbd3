"""Initialisation of the tensors of layers.

Every function writes to its tensor in place and returns it. Random ones draw from a generator in
the same order as PyTorch, so that a seed gives the same weights.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Callable, Optional

from ..grad_mode import F, no_grad
from ..ops.calling import functions as torch
from ..ops.shared.generator import Generator
from ..tensors import Tensor


def without_gradients(function: F) -> F:
    """A function that runs `function` without recording gradients."""
    made: F = no_grad()(function)
    return made


LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)
GAINS = {**dict.fromkeys(LINEAR, 1), "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
"""The gains of nonlinearities: how much the standard deviation has to be scaled to be preserved."""


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The gain of a nonlinearity. param: the slope of leaky_relu.
    Raises ValueError for unknown ones."""
    if nonlinearity != "leaky_relu":
        if nonlinearity not in GAINS:
            raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
        return GAINS[nonlinearity]
    if param is None:
        param = 0.01
    elif isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + param**2))


@without_gradients
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Optional[Generator] = None
) -> Tensor:
    """Fill with uniformly distributed values in [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@without_gradients
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Optional[Generator] = None
) -> Tensor:
    """Fill with normally distributed values."""
    return tensor.normal_(mean, std, generator=generator)


@without_gradients
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Optional[Generator] = None,
) -> Tensor:
    """Fill with normally distributed values, truncated to [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The "
            "distribution of values may be incorrect.",
            stacklevel=2,
        )
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    return (_redraw_outliers if inside > 0.3 else _reject_by_density)(
        tensor, mean, std, a, b, generator
    )


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_outliers(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Optional[Generator]
) -> Tensor:
    """Draw normal values, and redraw those outside of the interval until there are none."""
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    result = tensor.normal_(mean, std, generator=generator)
    while (outside := (result < low) | (result > high)).any():
        again = torch.empty_like(result).normal_(mean, std, generator=generator)
        result = torch.where(outside, again, result)
    return tensor if result is tensor else tensor.copy_(result)


def _reject_by_density(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Optional[Generator]
) -> Tensor:
    """Draw uniform values, and accept them in proportion to the density; for narrow intervals."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    candidates, chance = torch.empty_like(tensor), torch.empty_like(tensor)

    def rejected() -> Tensor:
        candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return chance.uniform_(generator=generator).log_().gt(candidates)

    candidates.copy_(tensor.uniform_(a, b, generator=generator))
    pending, result = rejected(), tensor
    while pending.any():
        candidates.uniform_(a, b, generator=generator)
        result = torch.where(pending, candidates, result)
        pending = torch.where(pending, rejected(), pending)
    return tensor if result is tensor else tensor.copy_(result)


@without_gradients
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with `val`."""
    return tensor.fill_(val)


@without_gradients
def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return tensor.fill_(1.0)


@without_gradients
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return tensor.zero_()


@without_gradients
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity. Raises ValueError for other ranks."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(torch.eye(*tensor.shape, dtype=tensor.dtype))


@without_gradients
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it passes its channels through.
    Raises ValueError for ranks other than 3 to 5, or if groups do not divide dimension 0."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    each = tensor.size(0) // groups
    tensor.zero_()
    centre = tuple(n // 2 for n in tensor.shape[2:])
    for g in range(groups):
        for d in range(min(each, tensor.size(1))):
            tensor[(g * each + d, d, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return (inputs of an output, outputs of an input).
    Raises ValueError for less than 2-D tensors."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


@without_gradients
def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Optional[Generator] = None
) -> Tensor:
    """Fill with uniform values in [-a, a), a = gain * sqrt(6 / (fan_in + fan_out)) (Glorot)."""
    a = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return tensor.uniform_(-a, a, generator=generator)


@without_gradients
def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: Optional[Generator] = None
) -> Tensor:
    """Fill with normal values of deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot)."""
    return tensor.normal_(0.0, _xavier_std(tensor, gain), generator=generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@without_gradients
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Optional[Generator] = None,
) -> Tensor:
    """Fill with uniform values in [-a, a), where a = gain * sqrt(3 / fan) (He). The gain is that of
    the nonlinearity after the layer; mode: which fan is preserved, "fan_in" or "fan_out"."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return tensor.uniform_(-bound, bound, generator=generator)


@without_gradients
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Optional[Generator] = None,
) -> Tensor:
    """Fill with normal values with standard deviation gain / sqrt(fan) (He); see
    kaiming_uniform_."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else tensor.normal_(0, std, generator=generator)


@without_gradients
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Optional[Generator] = None) -> Tensor:
    """Fill with orthogonal rows or columns, as a matrix (dimensions after the first are flattened).

    Raises ValueError for less than 2-D tensors."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    values = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
    q, r = torch.linalg_qr(values.t() if rows < cols else values)
    q = q * torch.diag(r, 0).sign()
    tensor.view(rows, cols).copy_(q.t() if rows < cols else q)
    return tensor.mul_(gain)


@without_gradients
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Optional[Generator] = None
) -> Tensor:
    """Fill a matrix with normal values, and set a fraction `sparsity` of each column to zero."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    tensor.normal_(0, std, generator=generator)
    for column in range(cols):
        tensor[torch.randperm(rows)[: math.ceil(sparsity * rows)], column] = 0
    return tensor


def _deprecated(function: Callable) -> Callable:
    name = function.__name__
    old = name.removesuffix("_")

    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{name}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"The former name of `{name}`."
    return call


uniform, normal, constant = _deprecated(uniform_), _deprecated(normal_), _deprecated(constant_)
eye, dirac, sparse = _deprecated(eye_), _deprecated(dirac_), _deprecated(sparse_)
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
