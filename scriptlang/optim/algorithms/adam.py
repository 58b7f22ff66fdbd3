"""Adam, AdamW, Adamax, NAdam and RAdam: options and state."""

from __future__ import annotations

from typing import Any

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .. import updates
from ..optimizer import Options, Params
from .shared import (
    Counting,
    check_betas,
    check_options,
    checked_lr,
    refuse_capturable,
    refuse_fused,
    scalar,
)


class Adam(Counting):
    """Adam; amsgrad: divide by the root of the largest mean of squares so far."""

    update = updates.adam
    states = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step")
    takes = ("lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "decoupled_weight_decay")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        refuse_tensors(lr, betas, foreach)
        checked_lr(lr)
        check_options(eps=eps)
        check_betas(betas)
        check_options(weight_decay=weight_decay)
        refuse_capturable(capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )
        refuse_fused(fused, differentiable, foreach)

    def wanted(self, group: Options) -> tuple[str, ...]:
        return tuple(n for n in self.states if group["amsgrad"] or n != "max_exp_avg_sq")


class AdamW(Adam):
    """Adam with weight decay that is decoupled from the gradient."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class Adamax(Counting):
    """Adam with the largest gradient so far, which fades, in place of the mean of squares."""

    update = updates.adamax
    states = ("exp_avg", "exp_inf", "step")
    takes = ("lr", "betas", "eps", "weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        checked_lr(lr)
        check_options(eps=eps)
        check_betas(betas)
        check_options(weight_decay=weight_decay)
        refuse_capturable(capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )


class NAdam(Counting):
    """Adam with Nesterov's momentum."""

    update = updates.nadam
    states = ("exp_avg", "exp_avg_sq", "mu_product", "step")
    takes = (
        "lr",
        "betas",
        "eps",
        "weight_decay",
        "momentum_decay",
        "decoupled_weight_decay",
        "maximize",
    )

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked_lr(lr)
        check_options(eps=eps)
        check_betas(betas)
        check_options(weight_decay=weight_decay, momentum_decay=momentum_decay)
        refuse_capturable(capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        return {
            "step": scalar(0.0),
            "mu_product": scalar(1.0),
            "exp_avg": torch.zeros_like(param).detach(),
            "exp_avg_sq": torch.zeros_like(param).detach(),
        }


class RAdam(Counting):
    """Adam that divides by the root of squares only once their mean is worth it."""

    update = updates.radam
    states = ("exp_avg", "exp_avg_sq", "step")
    takes = ("lr", "betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked_lr(lr)
        check_options(eps=eps)
        check_betas(betas)
        check_options(weight_decay=weight_decay)
        refuse_capturable(capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )


def refuse_tensors(lr: Any, betas: Any, foreach: bool | None) -> None:
    """Raise ValueError for options that are tensors where PyTorch takes numbers."""
    if isinstance(lr, Tensor) and foreach:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
    kinds = [next((k for k in (float, Tensor) if isinstance(b, k)), None) for b in betas]
    if None in kinds or kinds[0] is not kinds[1]:
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor) and foreach:
            raise ValueError(
                f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True"
            )
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
