"""Derivatives of normalizations, for the input, weight and bias."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch
from ..helpers import by_channel


def wide(x: Tensor) -> Tensor:
    """x in the type that statistics are computed in: float32 for half types."""
    if x.dtype == torch.float16 or x.dtype == torch.bfloat16:
        return x.to(dtype=torch.float32)
    return x


def layer_norm_gradient(
    grad: Tensor | None,
    x: Tensor,
    weight: Tensor | None,
    number: int,
    eps: float,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of layer_norm; number: how many trailing dimensions are normalized."""
    if grad is None:
        return None, None, None
    shape = list(x.size()[x.dim() - number :])
    var, mean = torch.var_mean(wide(x), list(range(x.dim() - number, x.dim())), correction=0)
    of_x, of_weight, of_bias = torch.ops.aten.native_layer_norm_backward(
        grad, x, shape, mean, torch.rsqrt(var + eps), weight, None, needs
    )
    return (
        of_x if needs[0] else None,
        of_weight if needs[1] else None,
        of_bias if needs[2] else None,
    )


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
    mean: Tensor | None = None
    invstd: Tensor | None = None
    if training:
        dims = [d for d in range(x.dim()) if d != 1]
        var, mean = torch.var_mean(wide(x), dims, correction=0)
        invstd = torch.rsqrt(var + eps)
    of_x, of_weight, of_bias = torch.ops.aten.native_batch_norm_backward(
        grad, x, weight, running_mean, running_var, mean, invstd, training, eps, needs
    )
    return (
        of_x if needs[0] else None,
        of_weight if needs[1] else None,
        of_bias if needs[2] else None,
    )


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
    """The gradients of native_group_norm, whose results mean and invstd have gradients, too."""
    number = channels // group * area
    grouped = wide(x).reshape([n, group, number])
    var, mean = torch.var_mean(grouped, [2], correction=0)
    invstd = torch.rsqrt(var + eps)
    of_x: Tensor | None = None
    of_weight: Tensor | None = None
    of_bias: Tensor | None = None
    if grad is not None:
        of_x, of_weight, of_bias = torch.ops.aten.native_group_norm_backward(
            grad, x, mean, invstd, weight, n, channels, area, group, needs
        )
    if needs[0] and grad_mean is not None:
        own = (grad_mean / number).reshape([n, group, 1]).expand(grouped.size()).reshape(x.size())
        of_x = own if of_x is None else of_x + own
    if needs[0] and grad_invstd is not None:
        steep = grad_invstd.reshape([n, group, 1]) * (invstd * invstd * invstd).unsqueeze(2)
        own = (steep / -number * (grouped - mean.unsqueeze(2))).reshape(x.size())
        of_x = own if of_x is None else of_x + own
    return (
        of_x if needs[0] else None,
        of_weight if needs[1] else None,
        of_bias if needs[2] else None,
    )


def standardized_tangent(tangent: Tensor, x: Tensor, dims: list[int], eps: float) -> Tensor:
    """The derivative of x without its mean, divided by its deviation, over these dimensions."""
    return standard_tangents(tangent, x, dims, eps)[0]


def standard_tangents(
    tangent: Tensor, x: Tensor, dims: list[int], eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The same, with the derivatives of the mean and of the inverse deviation."""
    x, tangent = wide(x), wide(tangent)
    var, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
    inverse = torch.rsqrt(var + eps)
    normal = (x - mean) * inverse
    along = (normal * tangent).mean(dims, True)
    of_mean = tangent.mean(dims, True)
    return inverse * (tangent - of_mean - normal * along), of_mean, -inverse * inverse * along


def layer_norm_tangent(
    tangent: Tensor, x: Tensor, weight: Tensor | None, number: int, eps: float
) -> Tensor:
    made = standardized_tangent(tangent, x, list(range(x.dim() - number, x.dim())), eps)
    return made if weight is None else made * weight


def rms_norm_tangent(
    tangent: Tensor, x: Tensor, weight: Tensor | None, number: int, eps: float | None
) -> Tensor:
    dims = list(range(x.dim() - number, x.dim()))
    least = 1.1920928955078125e-07 if eps is None else eps
    if eps is None and (x.dtype == torch.float64 or x.dtype == torch.complex128):
        least = 2.220446049250313e-16
    inverse = torch.rsqrt((x * x).mean(dims, True) + least)
    normal = x * inverse
    made = inverse * (tangent - normal * (normal * tangent).mean(dims, True))
    return made if weight is None else made * weight


def batch_norm_tangent(
    tangent: Tensor,
    x: Tensor,
    weight: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    eps: float,
) -> Tensor:
    if x.numel() == 0:
        return tangent
    if training or running_var is None:
        made = standardized_tangent(tangent, x, [d for d in range(x.dim()) if d != 1], eps)
    else:
        made = tangent * by_channel(torch.rsqrt(running_var + eps), x)
    return made if weight is None else made * by_channel(weight, x)


def group_norm_tangent(
    tangent: Tensor,
    x: Tensor,
    weight: Tensor | None,
    n: int,
    channels: int,
    area: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The derivatives of native_group_norm's results, of which the last two are statistics."""
    size = [n, group, channels // group * area]
    made, mean, inverse = standard_tangents(tangent.reshape(size), x.reshape(size), [2], eps)
    made = made.reshape(x.size())
    made = made if weight is None else made * by_channel(weight, x)
    return made, mean.squeeze(2), inverse.squeeze(2)
