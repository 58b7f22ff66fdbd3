"""RMSprop, Adagrad and Adadelta: options and state."""

from __future__ import annotations

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .. import updates
from ..optimizer import Options, Params, check
from .shared import Counting, check_options, checked_lr, refuse_capturable, refuse_fused, scalar


class RMSprop(Counting):
    """Divide steps by the root of the mean of squared gradients; centered: of their variance."""

    update = updates.rmsprop
    states = ("square_avg", "momentum_buffer", "grad_avg", "step")
    takes = ("lr", "momentum", "alpha", "eps", "centered", "weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked_lr(lr)
        check_options(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        refuse_capturable(capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def wanted(self, group: Options) -> tuple[str, ...]:
        left_out = {
            *(() if group["momentum"] > 0 else ("momentum_buffer",)),
            *(() if group["centered"] else ("grad_avg",)),
        }
        return tuple(name for name in self.states if name not in left_out)


class Adagrad(Counting):
    """Divide steps by the root of the sum of all squared gradients."""

    update = updates.adagrad
    states = ("sum", "step")
    takes = ("lr", "lr_decay", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        checked_lr(lr)
        check_options(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        refuse_fused(fused, differentiable, foreach)
        for group in self.param_groups:  # PyTorch creates this state at once
            for p in group["params"]:
                self.state[p] = self.new_state(p, group)

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        value = group["initial_accumulator_value"]
        start = complex(value, value) if param.is_complex() else value
        return {"step": scalar(0.0, group["fused"]), "sum": torch.full_like(param, start).detach()}


class Adadelta(Counting):
    """Divides by the root of the mean of squared gradients, times that of squared steps."""

    update = updates.adadelta
    states = ("square_avg", "acc_delta", "step")
    takes = ("lr", "rho", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked_lr(lr)
        check("rho value", rho, 0.0 <= rho <= 1.0)
        check_options(eps=eps, weight_decay=weight_decay)
        refuse_capturable(capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )
