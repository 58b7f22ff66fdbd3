"""SGD, Adam, AdamW, RMSprop, Adagrad: options and state; the computations are in `updates.py`."""

from __future__ import annotations

from typing import Any

from ..dtypes import get_default_dtype
from ..ops.calling import functions as torch
from ..tensors import Tensor
from . import updates
from .optimizer import Optimizer, Options, Params, check

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "RMSprop"]


def checked_lr(lr: Any) -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check("learning rate", lr, not lr < 0.0)


def refuse_modes(differentiable: bool, capturable: bool = False) -> None:
    """Raise NotImplementedError for modes of torch.optim that are not supported."""
    if differentiable:
        raise NotImplementedError(
            "differentiable=True is not offered: steps are not recorded; write the update with "
            "the functions of scriptlang, and scriptlang.autograd.grad with create_graph=True"
        )
    if capturable:
        raise NotImplementedError("capturable=True is for CUDA graphs; leave it out")


def zero() -> Tensor:
    """A count of steps; it is a tensor, as in PyTorch."""
    dtype = get_default_dtype()
    return torch.zeros([], dtype=dtype if dtype.name == "float64" else torch.float32)


def number(value: Any) -> float:
    return float(value)


class SGD(Optimizer):
    """Stochastic gradient descent with momentum (also Nesterov's), dampening and weight decay."""

    update = updates.sgd
    states = ("momentum_buffer",)

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
        refuse_modes(differentiable)
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

    def wanted(self, group: Options) -> tuple[str, ...]:
        return self.states if group["momentum"] != 0 else ()

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        return {"momentum_buffer": torch.zeros_like(param).detach()}

    def arguments(self, group: Options) -> dict[str, float | bool]:
        names = ("lr", "momentum", "dampening", "weight_decay")
        return {
            **{name: number(group[name]) for name in names},
            "nesterov": bool(group["nesterov"]),
            "maximize": bool(group["maximize"]),
        }

    def _kept(self, params: list[Tensor], group: Options) -> list[Any]:
        """The momentum buffers, and a bool tensor: which of them existed before this step."""
        if group["momentum"] == 0:
            return [[], torch.tensor([False])]
        started = [self.state[p].get("momentum_buffer") is not None for p in params]
        for p, is_started in zip(params, started):
            if not is_started:  # the key may exist with the value None
                self.state[p].update(self.new_state(p, group))
        return [*super()._kept(params, group), torch.tensor(started)]


class Adam(Optimizer):
    """Adam; amsgrad: divide by the root of the largest mean of squares so far."""

    update = updates.adam
    states = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step")

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
        checked_lr(lr)
        check("epsilon value", eps, eps >= 0.0)
        for i in range(2):
            check(f"beta parameter at index {i}", betas[i], 0.0 <= number(betas[i]) < 1.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        refuse_modes(differentiable, capturable)
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

    def wanted(self, group: Options) -> tuple[str, ...]:
        return tuple(n for n in self.states if group["amsgrad"] or n != "max_exp_avg_sq")

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        names = [name for name in self.wanted(group) if name != "step"]
        zeros = {name: torch.zeros_like(param).detach() for name in names}
        return {"step": zero(), **zeros}

    def arguments(self, group: Options) -> dict[str, float | bool]:
        return {
            "lr": number(group["lr"]),
            "beta1": number(group["betas"][0]),
            "beta2": number(group["betas"][1]),
            "eps": number(group["eps"]),
            "weight_decay": number(group["weight_decay"]),
            "amsgrad": bool(group["amsgrad"]),
            "maximize": bool(group["maximize"]),
            "decoupled_weight_decay": bool(group["decoupled_weight_decay"]),
        }

    def options(self, arguments: dict[str, Any]) -> Options:
        rest = {name: v for name, v in arguments.items() if not name.startswith("beta")}
        return {**rest, "betas": (arguments["beta1"], arguments["beta2"])}


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


class RMSprop(Optimizer):
    """Divide steps by the root of the mean of squared gradients; centered: of their variance."""

    update = updates.rmsprop
    states = ("square_avg", "momentum_buffer", "grad_avg", "step")

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
        check("epsilon value", eps, eps >= 0.0)
        check("momentum value", momentum, momentum >= 0.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        check("alpha value", alpha, alpha >= 0.0)
        refuse_modes(differentiable, capturable)
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

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        names = [name for name in self.wanted(group) if name != "step"]
        return {"step": zero(), **{name: torch.zeros_like(param).detach() for name in names}}

    def arguments(self, group: Options) -> dict[str, float | bool]:
        return {
            "lr": number(group["lr"]),
            "momentum": number(group["momentum"]),
            "alpha": number(group["alpha"]),
            "eps": number(group["eps"]),
            "centered": bool(group["centered"]),
            "weight_decay": number(group["weight_decay"]),
            "maximize": bool(group["maximize"]),
        }


class Adagrad(Optimizer):
    """Divide steps by the root of the sum of all squared gradients."""

    update = updates.adagrad
    states = ("sum", "step")

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
        check("lr_decay value", lr_decay, lr_decay >= 0.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        check(
            "initial_accumulator_value value",
            initial_accumulator_value,
            initial_accumulator_value >= 0.0,
        )
        check("epsilon value", eps, eps >= 0.0)
        refuse_modes(differentiable)
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
        for group in self.param_groups:  # PyTorch creates this state at once
            for p in group["params"]:
                self.state[p] = self.new_state(p, group)

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        value = group["initial_accumulator_value"]
        start = complex(value, value) if param.is_complex() else value
        return {"step": zero(), "sum": torch.full_like(param, start).detach()}

    def arguments(self, group: Options) -> dict[str, float | bool]:
        return {
            "lr": number(group["lr"]),
            "lr_decay": number(group["lr_decay"]),
            "eps": number(group["eps"]),
            "weight_decay": number(group["weight_decay"]),
            "maximize": bool(group["maximize"]),
        }
