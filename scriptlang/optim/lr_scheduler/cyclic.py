"""CyclicLR: the rate goes up and down between two bounds, and the momentum down and up."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, checked, for_groups, refuse_no_momentum, set_option

MODES = ("triangular", "triangular2", "exp_range")
"""How the height of cycles changes: not at all, by half each cycle, or by gamma each step."""


class CyclicLR(LRScheduler):
    """Raises the rate from base_lr to max_lr in `step_size_up` steps, and lowers it again.

    Call `step` after each batch. scale_fn: the height of a cycle as a factor, from its number
    (scale_mode "cycle") or from the number of steps ("iterations"), in place of `mode`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked(optimizer)
        base_lrs = for_groups("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                set_option(group, "lr", lr)
        self.max_lrs = for_groups("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in MODES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom: Any = scale_fn
        self.scale_mode = scale_mode
        self._choose_scale_mode()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _choose_scale_mode(self) -> None:
        """Each mode counts either cycles or steps; a function of the user counts what it says."""
        if self._scale_fn_custom is None:
            self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def _start_momentum(self, base: Any, most: Any, is_first: bool) -> None:
        refuse_no_momentum(self.optimizer)
        self.use_beta1 = "betas" in self.optimizer.defaults
        self.base_momentums = for_groups("base_momentum", self.optimizer, base)
        self.max_momentums = for_groups("max_momentum", self.optimizer, most)
        if is_first:
            for high, low, group in zip(
                self.max_momentums, self.base_momentums, self.optimizer.param_groups
            ):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group: Any, value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    @property
    def _scale_fn_ref(self) -> Callable[[float], float]:
        """The function of the mode. It is made when it is asked for, so that nothing that cannot
        be pickled is kept."""
        if self.mode == "exp_range":
            return lambda x: self.gamma**x
        return (lambda x: 1.0) if self.mode == "triangular" else lambda x: 1 / 2.0 ** (x - 1)

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, as a factor."""
        return float((self._scale_fn_custom or self._scale_fn_ref)(x))

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`; the momentum is set by the way, as in PyTorch."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        ratio = self.step_ratio
        share = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        counted = cycle if self.scale_mode == "cycle" else self.last_epoch
        rates = [
            low + (high - low) * share * self.scale_fn(counted)
            for low, high in zip(self.base_lrs, self.max_lrs)
        ]
        if self.cycle_momentum:
            momenta = [
                high - (high - low) * share * self.scale_fn(counted)
                for low, high in zip(self.base_momentums, self.max_momentums)
            ]
            for group, momentum in zip(self.optimizer.param_groups, momenta):
                self._set_momentum(group, momentum)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer. Of scale_fn, only the attributes of a callable
        object are kept, as in PyTorch; a plain function is stored as None."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        is_object = function is not None and not isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = function.__dict__.copy() if is_object else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self._choose_scale_mode()
