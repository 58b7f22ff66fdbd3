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


def mish_gradient(grad: Tensor, x: Tensor) -> Tensor:
    gate = torch.tanh(torch.softplus(x))
    return grad * (gate + x * torch.sigmoid(x) * (1 - gate * gate))


def softplus_gradient(grad: Tensor, x: Tensor, beta: float, threshold: float) -> Tensor:
    return torch.where(x * beta > threshold, grad, grad * torch.sigmoid(x * beta))
