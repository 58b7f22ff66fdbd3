"""Steps of optimizers over lists of tensors, in one call: Adam and AdamW.

They write their arguments. `state_steps` count the steps, this one included. Gradients are written
only if `grad_scale` is given, by which they are divided first; nothing is written if `found_inf` is
1. Half types are computed in float32, and rounded when they are stored.
"""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite


def _check_count(count: int, expected: int, name: str) -> None:
    if count != expected:
        raise RuntimeError(
            "{} has {} tensors, and there are {} parameters".format(name, count, expected)
        )


def _check_like(param: Tensor, other: Tensor, name: str) -> None:
    if not param.is_floating_point():
        raise NotImplementedError("a step of parameters that are {}".format(param.dtype))
    if other.dtype != param.dtype:
        raise RuntimeError(
            "a parameter is {}, and its part of {} is {}".format(param.dtype, name, other.dtype)
        )
    if other.size() != param.size():
        raise RuntimeError(
            "a parameter has the size {}, and its part of {} has {}".format(
                param.size(), name, other.size()
            )
        )


def _is_over(found_inf: Tensor | None) -> bool:
    return found_inf is not None and float(found_inf) == 1.0


def _wide(x: Tensor) -> Tensor:
    """The tensor itself, or a copy in float32 of one of a half type."""
    return x.to(dtype=torch.promote_types(x.dtype, torch.float32))


def _keep(x: Tensor, wide: Tensor) -> None:
    if wide.dtype != x.dtype:
        x.copy_(wide)


def _gradient(
    grad: Tensor, param: Tensor, weight_decay: float, maximize: bool, grad_scale: Tensor | None
) -> Tensor:
    """The gradient that a step follows, in the type that it is computed in."""
    wide = _wide(grad)
    if grad_scale is not None:
        wide.div_(grad_scale)
        _keep(grad, wide)
    if maximize:
        wide = -wide
    return wide.add(param, alpha=weight_decay) if weight_decay != 0.0 else wide


def _adam(
    params: list[Tensor],
    grads: list[Tensor],
    means: list[Tensor],
    squares: list[Tensor],
    largest: list[Tensor],
    steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
    is_decoupled: bool,
) -> None:
    if _is_over(found_inf):
        return
    _check_count(len(grads), len(params), "grads")
    _check_count(len(means), len(params), "exp_avgs")
    _check_count(len(squares), len(params), "exp_avg_sqs")
    _check_count(len(largest), len(params) if amsgrad else 0, "max_exp_avg_sqs")
    _check_count(len(steps), len(params), "state_steps")
    for i, param in enumerate(params):
        _check_like(param, grads[i], "grads")
        _check_like(param, means[i], "exp_avgs")
        _check_like(param, squares[i], "exp_avg_sqs")
        if amsgrad:
            _check_like(param, largest[i], "max_exp_avg_sqs")
    for i, param in enumerate(params):
        t = float(steps[i])
        p, mean, square = _wide(param), _wide(means[i]), _wide(squares[i])
        decay = 0.0 if is_decoupled else weight_decay
        grad = _gradient(grads[i], p, decay, maximize, grad_scale)
        if is_decoupled and weight_decay != 0.0:
            p.mul_(1.0 - lr * weight_decay)
        mean.lerp_(grad, 1.0 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1.0 - beta2)
        _keep(means[i], mean)
        _keep(squares[i], square)
        if amsgrad:
            square = torch.maximum(largest[i], square)
            largest[i].copy_(square)
        divisor = square.sqrt().div_((1.0 - beta2**t) ** 0.5).add_(eps)
        p.addcdiv_(mean, divisor, value=-(lr / (1.0 - beta1**t)))
        _keep(param, p)


def _clones(tensors: list[Tensor]) -> list[Tensor]:
    return [t.clone() for t in tensors]


_LISTS = (
    "Tensor{0}[] self, Tensor{1}[] grads, Tensor{2}[] exp_avgs, Tensor{3}[] exp_avg_sqs, "
    "Tensor{4}[] max_exp_avg_sqs, Tensor[] state_steps"
)
_NUMBERS = (
    "float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "
    "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None"
)
_WRITTEN = f"{_LISTS.format('(a!)', '(b!)', '(c!)', '(d!)', '(e!)')}, *, {_NUMBERS}"
_READ = f"{_LISTS.format('', '', '', '', '')}, *, {_NUMBERS}"
_NEW = (
    "(Tensor[] self_out, Tensor[] grads_out, Tensor[] exp_avgs_out, Tensor[] exp_avg_sqs_out, "
    "Tensor[] max_exp_avg_sqs_out)"
)
_Lists = tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor]]


@composite(f"aten::_fused_adam({_READ}) -> {_NEW}")
def _fused_adam(
    self: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> _Lists:
    new, of, means, squares = _clones(self), _clones(grads), _clones(exp_avgs), _clones(exp_avg_sqs)
    largest = _clones(max_exp_avg_sqs)
    torch._fused_adam_(
        new,
        of,
        means,
        squares,
        largest,
        state_steps,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=weight_decay,
        eps=eps,
        amsgrad=amsgrad,
        maximize=maximize,
        grad_scale=grad_scale,
        found_inf=found_inf,
    )
    return new, of, means, squares, largest


@composite(f"aten::_fused_adam_({_WRITTEN}) -> ()")
def _fused_adam_(
    self: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    _adam(
        self,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs,
        state_steps,
        lr,
        beta1,
        beta2,
        weight_decay,
        eps,
        amsgrad,
        maximize,
        grad_scale,
        found_inf,
        False,
    )


@composite(f"aten::_fused_adamw({_READ}) -> {_NEW}")
def _fused_adamw(
    self: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> _Lists:
    new, of, means, squares = _clones(self), _clones(grads), _clones(exp_avgs), _clones(exp_avg_sqs)
    largest = _clones(max_exp_avg_sqs)
    torch._fused_adamw_(
        new,
        of,
        means,
        squares,
        largest,
        state_steps,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=weight_decay,
        eps=eps,
        amsgrad=amsgrad,
        maximize=maximize,
        grad_scale=grad_scale,
        found_inf=found_inf,
    )
    return new, of, means, squares, largest


@composite(f"aten::_fused_adamw_({_WRITTEN}) -> ()")
def _fused_adamw_(
    self: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    _adam(
        self,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs,
        state_steps,
        lr,
        beta1,
        beta2,
        weight_decay,
        eps,
        amsgrad,
        maximize,
        grad_scale,
        found_inf,
        True,
    )
