"""Rules that follow the gradient, or only its sign."""

from __future__ import annotations

from ...tensors import Tensor
from .shared import count, real


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
                    velocity.copy_(grad.detach())  # as PyTorch, for derivatives of steps
                    started[i].fill_(True)
                grad = grad.add(velocity, alpha=momentum) if nesterov else velocity
            param.add_(grad, alpha=-lr)


def asgd(
    params: list[Tensor],
    grads: list[Tensor | None],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    steps: list[Tensor],
    lr: float,
    lambd: float,
    alpha: float,
    t0: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """SGD whose rates fade, and whose parameters are averaged after t0 steps."""
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            t = count(steps[i])
            grad, p, mean = real(-given if maximize else given), real(param), real(axs[i])
            if weight_decay != 0.0:
                grad = grad.add(p, alpha=weight_decay)
            eta = float(etas[i])
            p.mul_(1.0 - lambd * eta)
            p.add_(grad, alpha=-eta)
            if float(mus[i]) != 1.0:
                mean.add_(p.sub(mean).mul_(mus[i]))
            else:
                mean.copy_(p)
            etas[i].fill_(lr / (1.0 + lambd * lr * t) ** alpha)
            mus[i].fill_(1.0 / max(1.0, t - t0))


def rprop(
    params: list[Tensor],
    grads: list[Tensor | None],
    prevs: list[Tensor],
    sizes: list[Tensor],
    steps: list[Tensor],
    lr: float,
    etaminus: float,
    etaplus: float,
    step_size_min: float,
    step_size_max: float,
    maximize: bool,
) -> None:
    """Each number has a size of its steps, which grows while the sign of its gradient stays.

    lr: the first size; it is part of the state, so it is not asked for here."""
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            steps[i].add_(1)
            grad = real(-given if maximize else given)
            before, size = real(prevs[i]), real(sizes[i])
            factor = grad.mul(before).sign()
            factor = factor.masked_fill(factor.gt(0), etaplus)
            factor = factor.masked_fill(factor.lt(0), etaminus)
            factor = factor.masked_fill(factor.eq(0), 1.0)
            size.mul_(factor).clamp_(step_size_min, step_size_max)
            grad = grad.masked_fill(factor.eq(etaminus), 0.0)
            real(param).addcmul_(grad.sign(), size, value=-1.0)
            before.copy_(grad)
