"""Derivatives of activations that take more than a line."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def softmax_gradient(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    along = grad * result.conj()
    return along - result.conj() * along.sum([dim], True)


def prelu_weight(x: Tensor, weight: Tensor) -> Tensor:
    """The weight reshaped to broadcast over the channels of x, which are dimension 1."""
    if weight.dim() == 0 or x.dim() < 2:
        return weight.reshape([1 for _ in range(x.dim())])
    shape = [1 for _ in range(x.dim())]
    shape[1] = weight.size(0)
    return weight.reshape(shape)


def elu_gradient(grad: Tensor, x: Tensor, alpha: float, scale: float, steep: float) -> Tensor:
    below = grad * (steep * alpha * scale) * torch.exp(torch.clamp_max(x, 0) * steep)
    return torch.where(x <= 0, below, grad * scale)


def gelu_gradient(grad: Tensor, x: Tensor, approximate: str) -> Tensor:
    if approximate == "tanh":
        width, cubic = 0.7978845608028654, 0.044715  # sqrt(2 / pi)
        inner = torch.tanh(width * (x + cubic * x * x * x))
        slope = width * (1 + 3 * cubic * x * x)
        return grad * (0.5 * (1 + inner) + 0.5 * x * (1 - inner * inner) * slope)
    below = 0.5 * (1 + torch.erf(x * 0.7071067811865476))
    density = 0.3989422804014327 * torch.exp(-0.5 * x * x)
    return grad * (below + x * density)


def mish_gradient(grad: Tensor, x: Tensor) -> Tensor:
    gate = torch.tanh(torch.softplus(x))
    return grad * (gate + x * torch.sigmoid(x) * (1 - gate * gate))


def softplus_gradient(grad: Tensor, x: Tensor, beta: float, threshold: float) -> Tensor:
    return torch.where(x * beta > threshold, grad, grad * torch.sigmoid(x * beta))
