"""Rules that look at matrices as a whole: Muon, and Adafactor with its sums of rows and columns."""

from __future__ import annotations

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .shared import count


def orthogonal(grad: Tensor, a: float, b: float, c: float, ns_steps: int, eps: float) -> Tensor:
    """Roughly the orthogonal matrix next to a gradient, by iterations of Newton and Schulz.

    They are computed in bfloat16, as in PyTorch: the result need not be precise.
    """
    is_tall = grad.size(0) > grad.size(1)
    made = grad.to(torch.bfloat16)
    if is_tall:
        made = made.t()
    made = made.div_(made.norm().clamp(min=eps))
    for _ in range(ns_steps):
        gram = made @ made.t()
        change = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        made = torch.addmm(made, change, made, beta=a)
    return made.t() if is_tall else made


def ratio(param: Tensor, adjust_lr_fn: str) -> float:
    """The factor of the rate for a matrix of this size."""
    rows, columns = float(param.size(0)), float(param.size(1))
    if adjust_lr_fn == "match_rms_adamw":
        return 0.2 * max(rows, columns) ** 0.5
    return max(1.0, rows / columns) ** 0.5


def muon(
    params: list[Tensor],
    grads: list[Tensor | None],
    momentum_buffers: list[Tensor],
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    a: float,
    b: float,
    c: float,
    eps: float,
    ns_steps: int,
    adjust_lr_fn: str,
) -> None:
    """Momentum whose steps are made orthogonal. a, b, c: the polynomial of the iterations."""
    for i, param in enumerate(params):
        grad = grads[i]
        if grad is not None:
            velocity = momentum_buffers[i]
            velocity.lerp_(grad, 1.0 - momentum)
            step = grad.lerp(velocity, momentum) if nesterov else velocity
            step = orthogonal(step, a, b, c, ns_steps, eps)
            param.mul_(1.0 - lr * weight_decay)
            param.add_(step, alpha=-lr * ratio(param, adjust_lr_fn))


def precision(x: Tensor) -> float:
    """The distance from 1 to the next number of a dtype."""
    if x.dtype == torch.float64:
        return 2.0**-52
    if x.dtype == torch.bfloat16:
        return 2.0**-7
    return 2.0**-10 if x.dtype == torch.float16 else 2.0**-23


def adafactor(
    params: list[Tensor],
    grads: list[Tensor | None],
    row_vars: list[Tensor],
    col_vars: list[Tensor],
    variances: list[Tensor],
    steps: list[Tensor],
    lr: float,
    beta2_decay: float,
    eps1: float,
    eps2: float,
    d: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Mean squares of gradients, of matrices only by rows and columns; steps that are too long are
    cut. eps1: less than zero for the precision of the numbers."""
    for i, param in enumerate(params):
        given = grads[i]
        if given is not None:
            grad = -given if maximize else given
            least = eps1 if eps1 >= 0.0 else precision(param)
            t = count(steps[i])
            share = t**beta2_decay
            rate = min(lr, 1.0 / t**0.5)
            rate = max(eps2, float(param.norm(2)) / float(param.numel()) ** 0.5) * rate
            if weight_decay != 0.0:
                param.mul_(1.0 - lr * weight_decay)
            if grad.dim() > 1:
                rows, columns = row_vars[i], col_vars[i]
                mean = grad.norm(2, [-1], keepdim=True).square_().div_(grad.size(-1))
                rows.lerp_(mean, share)
                mean = grad.norm(2, [-2], keepdim=True).square_().div_(grad.size(-2))
                columns.lerp_(mean, share)
                square = rows @ columns
                square.div_(rows.mean([-2], keepdim=True).clamp_(min=least))
            else:
                variances[i].lerp_(grad * grad, share)
                square = variances[i].clone()
            step = square.clamp_(min=least * least).rsqrt_().mul_(grad)
            length = float(step.norm(2)) / (float(step.numel()) ** 0.5 * d)
            param.add_(step, alpha=-rate / max(1.0, length))
