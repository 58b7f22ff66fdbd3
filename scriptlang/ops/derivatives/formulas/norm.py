"""Derivatives of normalisations, for the input and for what it is scaled and shifted by."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def normalized_gradient(grad: Tensor, normal: Tensor, invstd: Tensor, dims: list[int]) -> Tensor:
    """Of (x - mean) * invstd, whose value is `normal`: what moves or scales all of x is lost."""
    rest = grad - grad.mean(dims, True) - normal * (grad * normal).mean(dims, True)
    return rest * invstd


def layer_norm_gradient(
    grad: Tensor | None,
    x: Tensor,
    weight: Tensor | None,
    number: int,
    eps: float,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """number: how many trailing dimensions are normalised."""
    if grad is None:
        return None, None, None
    dims = list(range(x.dim() - number, x.dim()))
    centred = x - x.mean(dims, True)
    invstd = torch.rsqrt((centred * centred).mean(dims, True) + eps)
    normal = centred * invstd
    of_x: Tensor | None = None
    if needs[0]:
        scaled = grad if weight is None else grad * weight
        of_x = normalized_gradient(scaled, normal, invstd, dims)
    return of_x, grad * normal if needs[1] else None, grad if needs[2] else None


def rms_norm_gradient(
    grad: Tensor | None,
    x: Tensor,
    weight: Tensor | None,
    number: int,
    eps: float | None,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None]:
    if grad is None:
        return None, None
    dims = list(range(x.dim() - number, x.dim()))
    least = 1.1920928955078125e-07 if eps is None else eps
    if eps is None and (x.dtype == torch.float64 or x.dtype == torch.complex128):
        least = 2.220446049250313e-16
    inverse = torch.rsqrt((x * x).mean(dims, True) + least)
    normal = x * inverse
    of_x: Tensor | None = None
    if needs[0]:
        scaled = grad if weight is None else grad * weight.conj()
        along = (scaled * normal.conj()).mean(dims, True)
        of_x = (scaled - normal.conj() * along) * inverse.conj()
    return of_x, grad * normal.conj() if needs[1] else None


def channel_shape(x: Tensor) -> list[int]:
    """Where the channels, dimension 1, are spread over the others."""
    shape = [1 for _ in range(x.dim())]
    shape[1] = x.size(1)
    return shape


def batch_norm_gradient(
    grad: Tensor | None,
    x: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    eps: float,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    if grad is None:
        return None, None, None
    if x.numel() == 0:
        none = torch.zeros([0] if weight is None else weight.size(), dtype=grad.dtype)
        return grad, none if needs[1] else None, none if needs[2] else None
    shape = channel_shape(x)
    dims = [d for d in range(x.dim()) if d != 1]
    if training or running_mean is None or running_var is None:
        centred = x - x.mean(dims, True)
        invstd = torch.rsqrt((centred * centred).mean(dims, True) + eps)
    else:
        centred = x - running_mean.reshape(shape)
        invstd = torch.rsqrt(running_var.reshape(shape) + eps)
    normal = centred * invstd
    of_x: Tensor | None = None
    if needs[0]:
        scaled = grad if weight is None else grad * weight.reshape(shape)
        if training:
            of_x = normalized_gradient(scaled, normal, invstd, dims)
        else:
            of_x = scaled * invstd
    of_weight = (grad * normal).sum(dims) if needs[1] else None
    return of_x, of_weight, grad.sum(dims) if needs[2] else None


def group_norm_gradient(
    grad: Tensor | None,
    grad_mean: Tensor | None,
    grad_invstd: Tensor | None,
    x: Tensor,
    weight: Tensor | None,
    n: int,
    channels: int,
    area: int,
    group: int,
    eps: float,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The statistics are results, too."""
    parts = [n, group, channels // group, area]
    grouped = x.reshape(parts)
    centred = grouped - grouped.mean([2, 3], True)
    invstd = torch.rsqrt((centred * centred).mean([2, 3], True) + eps)
    normal = centred * invstd
    of_x: Tensor | None = None
    of_weight: Tensor | None = None
    of_bias: Tensor | None = None
    number = channels // group * area
    if grad is not None:
        flat = grad.reshape([n, channels, area])
        if needs[0]:
            scaled = flat if weight is None else flat * weight.reshape([1, channels, 1])
            of_x = normalized_gradient(scaled.reshape(parts), normal, invstd, [2, 3])
        if needs[1]:
            of_weight = (flat * normal.reshape([n, channels, area])).sum([0, 2])
        of_bias = flat.sum([0, 2]) if needs[2] else None
    if needs[0] and grad_mean is not None:
        own = (grad_mean / number).reshape([n, group, 1, 1]).expand(parts)
        of_x = own if of_x is None else of_x + own
    if needs[0] and grad_invstd is not None:
        steep = grad_invstd.reshape([n, group, 1, 1]) * invstd * invstd / -number
        own = steep * normal
        of_x = own if of_x is None else of_x + own
    return None if of_x is None else of_x.reshape(x.size()), of_weight, of_bias
