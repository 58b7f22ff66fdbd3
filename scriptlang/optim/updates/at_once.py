"""Updates that change all parameters in one operator, in place of the update rules.

Only our engines run them: PyTorch takes a call that writes the tensors of a list for one without an
effect, so archives have the rules themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...api import script
from ...ir import Function
from ...ops.calling import functions as torch
from ...programs.module import ScriptFunction
from ...serialization.printer import print_function
from ...tensors import Tensor
from .adam import adam, adam_of_one
from .shared import count


def adam_at_once(
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
    """`adam`, in one call for all real parameters of 32 or 64 bits."""
    own: list[Tensor] = []
    of: list[Tensor] = []
    means: list[Tensor] = []
    squares: list[Tensor] = []
    largest: list[Tensor] = []
    counts: list[Tensor] = []
    for i, param in enumerate(params):
        grad = grads[i]
        if grad is not None:
            most = max_exp_avg_sqs[i] if amsgrad else None
            if is_plain(param, grad):
                own.append(param)
                of.append(grad)
                means.append(exp_avgs[i])
                squares.append(exp_avg_sqs[i])
                if most is not None:
                    largest.append(most)
                counts.append(steps[i].add_(1))
            else:
                mean, square, t = exp_avgs[i], exp_avg_sqs[i], count(steps[i])
                adam_of_one(param, grad, mean, square, most, t, lr, beta1, beta2, eps,
                            weight_decay, maximize, decoupled_weight_decay)  # fmt: skip
    if len(own) > 0 and decoupled_weight_decay:
        torch._fused_adamw_(own, of, means, squares, largest, counts, lr=lr, beta1=beta1,
                            beta2=beta2, weight_decay=weight_decay, eps=eps, amsgrad=amsgrad,
                            maximize=maximize)  # fmt: skip
    elif len(own) > 0:
        torch._fused_adam_(own, of, means, squares, largest, counts, lr=lr, beta1=beta1,
                           beta2=beta2, weight_decay=weight_decay, eps=eps, amsgrad=amsgrad,
                           maximize=maximize)  # fmt: skip


def is_plain(param: Tensor, grad: Tensor) -> bool:
    """Whether the operator computes in the type of a parameter, which has to be a real one."""
    is_wide = param.dtype == torch.float32 or param.dtype == torch.float64
    return is_wide and grad.dtype == param.dtype


AT_ONCE: dict[Callable[..., Any], Callable[..., Any]] = {adam: adam_at_once}
"""Update rules, and what does the same in one operator."""


def compiled_at_once(update: Callable[..., Any]) -> ScriptFunction[..., Any]:
    """An update rule as a program that changes all parameters in one call."""
    return compiled(AT_ONCE.get(update, update))


def at_once(function: Function) -> Function:
    """What to run for a function that a step calls: another one if it is a rule that has one.

    A rule from an archive is known by its code, and by that of the functions that it calls.
    """
    for rule, faster in AT_ONCE.items():
        if function.name.rpartition(".")[2] == rule.__name__:
            known = compiled(rule)._function
            if function is known or code_of(function) == code_of(known):
                return compiled(faster)._function
    return function


@functools.cache
def compiled(update: Callable[..., Any]) -> ScriptFunction[..., Any]:
    return script(update)


def code_of(function: Function) -> list[str]:
    """The code of a function and of all functions that it calls."""
    found, pending = [function], [function]
    while pending:
        for node in pending.pop().graph.walk():
            callee = node.attributes.get("function")
            if isinstance(callee, Function) and callee not in found:
                found.append(callee)
                pending.append(callee)
    return [print_function(f) for f in found]
