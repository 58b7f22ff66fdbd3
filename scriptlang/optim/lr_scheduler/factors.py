"""Schedules that multiply the rate by a factor at each epoch.

`next_rate` continues from any current rate, so that schedules can be chained; `rate_at` is the
closed form for an epoch.
"""

from __future__ import annotations

import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler


class FunctionScheduler(LRScheduler):
    """A schedule given by functions of the epoch, one for each group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != len(optimizer.param_groups):
                raise ValueError(
                    f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(lr_lambda)}"
                )
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * len(optimizer.param_groups)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer. Of the functions, only the attributes of callable
        objects are kept, as in PyTorch; plain functions are stored as None."""
        state = super().state_dict()
        del state["lr_lambdas"]
        state["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        kept = state.pop("lr_lambdas")
        super().load_state_dict(state)
        for function, attributes in zip(self.lr_lambdas, kept):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(FunctionScheduler):
    """The initial rate times a function of the epoch."""

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]


class MultiplicativeLR(FunctionScheduler):
    """Multiplies the rate by a function of the epoch, at each epoch."""

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        pairs = zip(self.optimizer.param_groups, self.lr_lambdas, strict=True)
        if self._is_initial:
            return [group["lr"] for group, _ in pairs]
        return [group["lr"] * function(self.last_epoch) for group, function in pairs]


class StepLR(LRScheduler):
    """Multiplies the rate by gamma every `step_size` epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def next_rate(self, rate: Any, base: Any) -> Any:
        stays = self.last_epoch == 0 or self.last_epoch % self.step_size != 0
        return rate if stays else rate * self.gamma

    def rate_at(self, base: Any) -> Any:
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Multiplies the rate by gamma at each epoch in `milestones`."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def next_rate(self, rate: Any, base: Any) -> Any:
        if self.last_epoch not in self.milestones:
            return rate
        return rate * self.gamma ** self.milestones[self.last_epoch]

    def rate_at(self, base: Any) -> Any:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return base * self.gamma**passed


class ConstantLR(LRScheduler):
    """Multiplies the initial rate by `factor` for the first `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def next_rate(self, rate: Any, base: Any) -> Any:
        if self.last_epoch == 0:
            return rate * self.factor
        return rate if self.last_epoch != self.total_iters else rate * (1.0 / self.factor)

    def rate_at(self, base: Any) -> Any:
        return base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor))


class LinearLR(LRScheduler):
    """Multiplies the initial rate by a factor that changes linearly over `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def next_rate(self, rate: Any, base: Any) -> Any:
        if self.last_epoch == 0:
            return rate * self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return rate
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return rate * (1.0 + rise / before)

    def rate_at(self, base: Any) -> Any:
        rise = self.end_factor - self.start_factor
        passed = min(self.total_iters, self.last_epoch)
        return base * (self.start_factor + rise * passed / self.total_iters)


class ExponentialLR(LRScheduler):
    """Multiplies the rate by gamma at each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def next_rate(self, rate: Any, base: Any) -> Any:
        return rate if self._is_initial else rate * self.gamma

    def rate_at(self, base: Any) -> Any:
        return base * self.gamma**self.last_epoch


class PolynomialLR(LRScheduler):
    """Multiplies the initial rate by (1 - epoch / total_iters) ** power."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def next_rate(self, rate: Any, base: Any) -> Any:
        if self._is_initial or self.last_epoch > self.total_iters:
            return rate
        left = 1.0 - self.last_epoch / self.total_iters
        left_before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return rate * (left / left_before) ** self.power

    def rate_at(self, base: Any) -> Any:
        passed = min(self.total_iters, self.last_epoch)
        return base * (1.0 - passed / self.total_iters) ** self.power
