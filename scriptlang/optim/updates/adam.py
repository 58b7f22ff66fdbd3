"""Adam and its like: means of gradients and of their squares, with corrections for the start."""

from __future__ import annotations

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .shared import count, real


def adam(
    params: list[Tensor],
    grads: list[Tensor | None],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    amsgrad: bool,
    maximize: bool,
    decoupled_weight_decay: bool,
) -> None:
    """Adam, or AdamW if decoupled_weight_decay."""
    for i, param in enumerate(params):
        grad = grads[i]
        if grad is not None:
            adam_of_one(
                param,
                grad,
                exp_avgs[i],
                exp_avg_sqs[i],
                max_exp_avg_sqs[i] if amsgrad else None,
                count(steps[i]),
                lr,
                beta1,
                beta2,
                eps,
                weight_decay,
                maximize,
                decoupled_weight_decay,
            )


def adam_of_one(
    param: Tensor,
    given: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    max_exp_avg_sq: Tensor | None,
    t: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
    decoupled_weight_decay: bool,
) -> None:
    grad = -given if maximize else given
    if weight_decay != 0.0:
        if decoupled_weight_decay:
            param.mul_(1.0 - lr * weight_decay)
        else:
            grad = grad.add(param, alpha=weight_decay)
    grad = real(grad)
    mean, square = real(exp_avg), real(exp_avg_sq)
    mean.lerp_(grad, 1.0 - beta1)
    square.mul_(beta2).addcmul_(grad, grad, value=1.0 - beta2)
    if max_exp_avg_sq is not None:
        most = real(max_exp_avg_sq)
        most.copy_(torch.maximum(most, square))
        square = most
    scale = (1.0 - beta2**t) ** 0.5
    divisor = square.sqrt().div_(scale).add_(eps)
    real(param).addcdiv_(mean, divisor, value=-(lr / (1.0 - beta1**t)))


def adamax(
    params: list[Tensor],
    grads: list[Tensor | None],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Adam with the largest gradient, which fades, in place of the mean of squares."""
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            t = count(steps[i])
            grad = -given if maximize else given
            if weight_decay != 0.0:
                grad = grad.add(param, alpha=weight_decay)
            grad = real(grad)
            mean, most = real(exp_avgs[i]), real(exp_infs[i])
            mean.lerp_(grad, 1.0 - beta1)
            most.copy_(torch.maximum(most.mul_(beta2), grad.abs().add_(eps)))
            real(param).addcdiv_(mean, most, value=-(lr / (1.0 - beta1**t)))


def nadam(
    params: list[Tensor],
    grads: list[Tensor | None],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    momentum_decay: float,
    decoupled_weight_decay: bool,
    maximize: bool,
) -> None:
    """Adam with Nesterov's momentum, which grows from step to step."""
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            t = count(steps[i])
            grad, p = real(-given if maximize else given), real(param)
            if weight_decay != 0.0:
                if decoupled_weight_decay:
                    p.mul_(1.0 - lr * weight_decay)
                else:
                    grad = grad.add(p, alpha=weight_decay)
            mu = beta1 * (1.0 - 0.5 * 0.96 ** (t * momentum_decay))
            mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((t + 1.0) * momentum_decay))
            mu_products[i].mul_(mu)
            product = float(mu_products[i])
            mean, square = real(exp_avgs[i]), real(exp_avg_sqs[i])
            mean.lerp_(grad, 1.0 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1.0 - beta2)
            divisor = square.div(1.0 - beta2**t).sqrt().add_(eps)
            p.addcdiv_(grad, divisor, value=-lr * (1.0 - mu) / (1.0 - product))
            p.addcdiv_(mean, divisor, value=-lr * mu_next / (1.0 - product * mu_next))


def radam(
    params: list[Tensor],
    grads: list[Tensor | None],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled_weight_decay: bool,
    maximize: bool,
) -> None:
    """Adam that divides by the root of squares only once their mean is worth it."""
    most = 2.0 / (1.0 - beta2) - 1.0
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            t = count(steps[i])
            grad, p = real(-given if maximize else given), real(param)
            if weight_decay != 0.0:
                if decoupled_weight_decay:
                    p.mul_(1.0 - lr * weight_decay)
                else:
                    grad = grad.add(p, alpha=weight_decay)
            mean, square = real(exp_avgs[i]), real(exp_avg_sqs[i])
            mean.lerp_(grad, 1.0 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1.0 - beta2)
            scale = 1.0 - beta2**t
            change = mean / (1.0 - beta1**t) * lr
            length = most - 2.0 * t * beta2**t / scale  # of the mean of squares, in steps
            if length > 5.0:
                share = (length - 4.0) * (length - 2.0) * most
                share = share / ((most - 4.0) * (most - 2.0) * length)
                change = change * (scale**0.5 / square.sqrt().add_(eps)) * share**0.5
            p.add_(change, alpha=-1.0)
