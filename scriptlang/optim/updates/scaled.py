"""Rules that divide steps by the root of a mean or sum of squared gradients."""

from __future__ import annotations

from ...tensors import Tensor
from .shared import count, real


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor | None],
    square_avgs: list[Tensor],
    momentum_buffers: list[Tensor],
    grad_avgs: list[Tensor],
    steps: list[Tensor],
    lr: float,
    momentum: float,
    alpha: float,
    eps: float,
    centered: bool,
    weight_decay: float,
    maximize: bool,
) -> None:
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            steps[i].add_(1)
            grad = -given if maximize else given
            if weight_decay != 0.0:
                grad = grad.add(param, alpha=weight_decay)
            grad, p, square = real(grad), real(param), real(square_avgs[i])
            square.mul_(alpha).addcmul_(grad, grad, value=1.0 - alpha)
            if centered:
                mean = real(grad_avgs[i])
                mean.lerp_(grad, 1.0 - alpha)
                divisor = square.addcmul(mean, mean, value=-1.0).sqrt_().add_(eps)
            else:
                divisor = square.sqrt().add_(eps)
            if momentum > 0.0:
                velocity = real(momentum_buffers[i])
                velocity.mul_(momentum).addcdiv_(grad, divisor)
                p.add_(velocity, alpha=-lr)
            else:
                p.addcdiv_(grad, divisor, value=-lr)


def adagrad(
    params: list[Tensor],
    grads: list[Tensor | None],
    sums: list[Tensor],
    steps: list[Tensor],
    lr: float,
    lr_decay: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            t = count(steps[i])
            grad = -given if maximize else given
            if weight_decay != 0.0:
                grad = grad.add(param, alpha=weight_decay)
            grad, total = real(grad), real(sums[i])
            total.addcmul_(grad, grad, value=1.0)
            divisor = total.sqrt().add_(eps)
            real(param).addcdiv_(grad, divisor, value=-(lr / (1.0 + (t - 1.0) * lr_decay)))


def adadelta(
    params: list[Tensor],
    grads: list[Tensor | None],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    steps: list[Tensor],
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Steps are as large as the root of the mean of squared steps so far."""
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            steps[i].add_(1)
            grad = -given if maximize else given
            if weight_decay != 0.0:
                grad = grad.add(param, alpha=weight_decay)
            grad, square, moved = real(grad), real(square_avgs[i]), real(acc_deltas[i])
            square.mul_(rho).addcmul_(grad, grad, value=1.0 - rho)
            delta = moved.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
            moved.mul_(rho).addcmul_(delta, delta, value=1.0 - rho)
            real(param).add_(delta, alpha=-lr)
