"""SGD, ASGD and Rprop: options and state."""

from __future__ import annotations

from typing import Any

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .. import updates
from ..optimizer import Optimizer, Options, Params, check
from .shared import Counting, check_options, checked_lr, refuse_capturable, refuse_fused, scalar


class SGD(Optimizer):
    """Stochastic gradient descent with momentum (also Nesterov's), dampening and weight decay."""

    update = updates.sgd
    states = ("momentum_buffer",)
    takes = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        checked_lr(lr)
        check("momentum value", momentum, not momentum < 0.0)
        check("weight_decay value", weight_decay, not weight_decay < 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        refuse_fused(fused, differentiable, foreach)

    def wanted(self, group: Options) -> tuple[str, ...]:
        return self.states if group["momentum"] != 0 else ()

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        return {"momentum_buffer": torch.zeros_like(param).detach()}

    def _kept(self, params: list[Tensor], group: Options) -> list[Any]:
        """The momentum buffers, and a bool tensor: which of them existed before this step."""
        if group["momentum"] == 0:
            return [[], torch.tensor([False])]
        started = [self.state[p].get("momentum_buffer") is not None for p in params]
        for p, is_started in zip(params, started):
            if not is_started:  # the key may exist with the value None
                self.state[p].update(self.new_state(p, group))
        return [*super()._kept(params, group), torch.tensor(started)]


class ASGD(Counting):
    """Averaged SGD: `ax` in the state is the mean of the parameters after t0 steps."""

    update = updates.asgd
    states = ("ax", "mu", "eta", "step")
    takes = ("lr", "lambd", "alpha", "t0", "weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        checked_lr(lr)
        check_options(weight_decay=weight_decay)
        refuse_capturable(capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        return {
            "step": scalar(0.0),
            "eta": scalar(float(group["lr"])),
            "mu": scalar(1.0),
            "ax": torch.zeros_like(param).detach(),
        }


class Rprop(Counting):
    """Follows only the signs of gradients; each number has a size of its steps."""

    update = updates.rprop
    states = ("prev", "step_size", "step")
    takes = ("lr", "etas", "step_sizes", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        refuse_capturable(capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        lr = float(group["lr"])
        start = complex(lr, lr) if param.is_complex() else lr
        return {
            "step": scalar(0.0),
            "prev": torch.zeros_like(param).detach(),
            "step_size": torch.full_like(param, start).detach(),
        }
