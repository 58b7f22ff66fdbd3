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
    """SGD. started: whether each momentum buffer has a value; if not, it is zero and gets the
    gradient. Without dampening that is what it gets in any case, so that nothing has to be asked.
    Where derivatives go through steps, PyTorch's first buffer has no history."""
    asks = momentum != 0.0 and (dampening != 0.0 or any_requires_grad(grads))
    known: list[bool] = []
    if asks:
        known = [bool(flag) for flag in started.unbind()]
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            grad = -given if maximize else given
            if weight_decay != 0.0:
                grad = grad.add(param, alpha=weight_decay)
            if momentum != 0.0:
                velocity = momentum_buffers[i]
                if not asks or known[i]:
                    velocity.mul_(momentum).add_(grad, alpha=1.0 - dampening)
                else:
                    velocity.copy_(grad.detach())
                    started[i].fill_(True)
                grad = grad.add(velocity, alpha=momentum) if nesterov else velocity
            param.add_(grad, alpha=-lr)
    if momentum != 0.0 and not asks:
        note_started(started, grads)


def any_requires_grad(grads: list[Tensor | None]) -> bool:
    found = False
    for grad in grads:
        found = found or (grad is not None and grad.requires_grad)
    return found


def note_started(started: Tensor, grads: list[Tensor | None]) -> None:
    """Note that the momentum buffers of parameters with a gradient have a value."""
    missing = 0
    for grad in grads:
        if grad is None:
            missing += 1
    if missing == 0:
        started.fill_(True)
    else:
        for i, grad in enumerate(grads):
            if grad is not None:
                started[i].fill_(True)


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
