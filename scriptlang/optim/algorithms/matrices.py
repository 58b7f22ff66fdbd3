"""Muon, Adafactor and SparseAdam: algorithms for certain parameters or gradients."""

from __future__ import annotations

from typing import Any

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .. import updates
from ..optimizer import Optimizer, Options, Params, check
from .shared import check_betas, one_number, scalar


def least(name: str, value: Any, bound: float = 0.0) -> None:
    """Raise ValueError, in the words of these algorithms, for an option below a bound."""
    if not value >= bound:
        raise ValueError(f"{name} should be >= {bound:g} but is: {value}")


class Muon(Optimizer):
    """Momentum whose steps are made orthogonal; it takes matrices only.

    adjust_lr_fn: "original" or "match_rms_adamw", how the rate depends on the size of a matrix.
    """

    update = updates.muon
    states = ("momentum_buffer",)

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        one_number(lr)
        least("Learning rate", lr)
        least("momentum", momentum)
        least("weight decay", weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with "
                        f"size: {p.size()}"
                    )

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": torch.zeros_like(param).detach()}

    def arguments(self, group: Options) -> dict[str, Any]:
        if group["ns_steps"] >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        a, b, c = map(float, group["ns_coefficients"])
        return {
            "lr": float(group["lr"]),
            "weight_decay": float(group["weight_decay"]),
            "momentum": float(group["momentum"]),
            "nesterov": bool(group["nesterov"]),
            "a": a,
            "b": b,
            "c": c,
            "eps": float(group["eps"]),
            "ns_steps": int(group["ns_steps"]),
            "adjust_lr_fn": group["adjust_lr_fn"] or "",
        }

    def options(self, arguments: dict[str, Any]) -> Options:
        made = {name: v for name, v in arguments.items() if name not in ("a", "b", "c")}
        made["adjust_lr_fn"] = arguments["adjust_lr_fn"] or None
        return {**made, "ns_coefficients": tuple(arguments[name] for name in "abc")}


class Adafactor(Optimizer):
    """Adaptive steps with little state: of matrices, sums of rows and columns are kept."""

    update = updates.adafactor
    states = ("row_var", "col_var", "variance", "step")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        one_number(lr)
        least("Learning rate", lr)
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        least("epsilon1", 0.0 if eps[0] is None else eps[0])
        least("epsilon2", eps[1])
        least("Clipping threshold d", d, 1.0)
        least("weight_decay", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def names(self, param: Tensor, group: Options) -> tuple[str, ...]:
        return ("row_var", "col_var", "step") if param.dim() > 1 else ("variance", "step")

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        step = {"step": scalar(0.0)}
        if param.dim() < 2:
            return {**step, "variance": torch.zeros_like(param).detach()}
        *others, rows, columns = param.shape
        return {
            **step,
            "row_var": param.detach().new_zeros([*others, rows, 1]),
            "col_var": param.detach().new_zeros([*others, 1, columns]),
        }

    def arguments(self, group: Options) -> dict[str, float | bool]:
        first, second = group["eps"]
        return {
            "lr": float(group["lr"]),
            "beta2_decay": float(group["beta2_decay"]),
            "eps1": -1.0 if first is None else float(first),
            "eps2": float(second),
            "d": float(group["d"]),
            "weight_decay": float(group["weight_decay"]),
            "maximize": bool(group["maximize"]),
        }

    def options(self, arguments: dict[str, Any]) -> Options:
        first = arguments["eps1"]
        made = {name: v for name, v in arguments.items() if name not in ("eps1", "eps2")}
        return {**made, "eps": (None if first < 0.0 else first, arguments["eps2"])}


class SparseAdam(Optimizer):
    """Adam for sparse gradients. There are none here: a step with a gradient says so, as PyTorch
    does for one that is not sparse."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        one_number(lr)
        check("learning rate", lr, float(lr) > 0.0)
        check("epsilon value", eps, eps > 0.0)
        check_betas(betas)
        options = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, options)
        places = [
            [i, k]
            for i, group in enumerate(self.param_groups)
            for k, p in enumerate(group["params"])
            if p.is_complex()
        ]
        if places:
            raise ValueError(
                f"Complex params at indices {places}: SparseAdam does not support complex "
                "parameters"
            )

    def _update(self, params: list[Tensor], group: Options) -> None:
        if params:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )
