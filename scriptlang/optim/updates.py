"""The update rules of the optimizers: functions in the scripted language.

Optimizers run them eagerly, and programs made by `training_step` call them. A parameter without a
gradient is not changed. Everything is written in place, since programs keep their state in buffers.
The order of operations is that of PyTorch, so that results are equal.
"""

from __future__ import annotations

from ..ops.calling import functions as torch
from ..tensors import Tensor


def real(x: Tensor) -> Tensor:
    """A complex tensor as pairs of real numbers in the same memory; other tensors unchanged."""
    return torch.view_as_real(x) if x.is_complex() else x


def count(step: Tensor) -> float:
    """Increment the count of steps, and return it."""
    step.add_(1)
    return float(step)


def sgd(
    params: list[Tensor],
    grads: list[Tensor | None],
    momentum_buffers: list[Tensor],
    started: Tensor,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """SGD. started: whether each momentum buffer has a value; if not, it gets the gradient."""
    known: list[bool] = []
    if momentum != 0.0:
        known = [bool(flag) for flag in started.unbind()]
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            grad = -given if maximize else given
            if weight_decay != 0.0:
                grad = grad.add(param, alpha=weight_decay)
            if momentum != 0.0:
                velocity = momentum_buffers[i]
                if known[i]:
                    velocity.mul_(momentum).add_(grad, alpha=1.0 - dampening)
                else:
                    velocity.copy_(grad)
                    started[i].fill_(True)
                grad = grad.add(velocity, alpha=momentum) if nesterov else velocity
            param.add_(grad, alpha=-lr)


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
        given = grads[i]
        if given is not None:
            t = count(steps[i])
            grad = -given if maximize else given
            if weight_decay != 0.0:
                if decoupled_weight_decay:
                    param.mul_(1.0 - lr * weight_decay)
                else:
                    grad = grad.add(param, alpha=weight_decay)
            grad = real(grad)
            mean, square = real(exp_avgs[i]), real(exp_avg_sqs[i])
            mean.lerp_(grad, 1.0 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1.0 - beta2)
            if amsgrad:
                most = real(max_exp_avg_sqs[i])
                torch.maximum(most, square, out=most)
                square = most
            scale = (1.0 - beta2**t) ** 0.5
            divisor = square.sqrt().div_(scale).add_(eps)
            real(param).addcdiv_(mean, divisor, value=-(lr / (1.0 - beta1**t)))


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


def present(x: Tensor | None) -> Tensor:
    """A parameter that is declared as Optional (such as a bias), but is not None."""
    assert x is not None
    return x


def joined(
    param: Tensor, grad: Tensor | None, other: Tensor, other_grad: Tensor | None
) -> Tensor | None:
    """The gradient of a parameter that occurs in two places.

    In a loaded archive these may be two tensors over the same memory; each has a part of the
    gradient.
    """
    if param is other or other_grad is None:
        return grad
    return other_grad if grad is None else grad + other_grad


def quasi_newton(
    grad: Tensor, changes: list[Tensor], steps: list[Tensor], inverses: list[Tensor], scale: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """Return (direction of L-BFGS from past steps and changes of the gradient, its coefficients).

    inverses: 1 / (change . step) for each step. scale: the scale of the initial inverse Hessian.
    This is the two-loop recursion (Nocedal and Wright, Numerical Optimization, algorithm 7.4).
    """
    made = -grad
    count = len(changes)
    coefficients: list[Tensor] = []
    for k in range(count):
        i = count - 1 - k
        alpha = steps[i].dot(made) * inverses[i]
        made.sub_(changes[i] * alpha)
        coefficients.append(alpha)
    made = made * scale
    for i in range(count):
        alpha = coefficients[count - 1 - i]
        made.add_(steps[i] * (alpha - changes[i].dot(made) * inverses[i]))
    coefficients.reverse()
    return made, coefficients
