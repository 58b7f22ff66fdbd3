"""LRScheduler: the base class of schedules that change the learning rates of an optimizer."""

from __future__ import annotations

import warnings
from typing import Any

from ...tensors import Tensor
from ..optimizer import Optimizer, Options

EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
    "you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  "
    "Failure to do this will result in PyTorch skipping the first value of the learning rate "
    "schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)

EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)

NOT_INITIAL = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with "
    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
    "for a fresh training run (not recommended)"
)


class LRScheduler:
    """The schedule of one optimizer.

    Subclasses define `next_rate`, which computes a group's next rate from the current one, and, if
    there is a closed form, `rate_at`, which computes it from the epoch alone.
    """

    next_rate: Any
    rate_at: Any = None

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(NOT_INITIAL.format(i))
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._begin()

    def _begin(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        self._get_lr_called_within_step = False
        self.step()
        self._is_initial = False

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or of `epoch` (by the closed form if there is one)."""
        if epoch is not None:
            warnings.warn(EPOCH, UserWarning, stacklevel=2)
        elif self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(EARLY, UserWarning, stacklevel=2)
        self._step_count += 1
        self._go_to(epoch)

    def _go_to(self, epoch: int | None) -> None:
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            rates = self.get_lr() if self.rate_at is None else self._get_closed_form_lr()
        self._set(rates)

    def _set(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates):
            set_option(group, "lr", rate)
        self._last_lr = rates_of(self.optimizer)

    def get_last_lr(self) -> list[Any]:
        """The current rates of the groups."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`, computed from the current ones."""
        pairs = zip(self.optimizer.param_groups, self.base_lrs)
        return [self.next_rate(group["lr"], base) for group, base in pairs]

    def _get_closed_form_lr(self) -> list[Any]:
        return [self.rate_at(base) for base in self.base_lrs]

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer."""
        return {name: v for name, v in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state from `state_dict`, of this package or PyTorch."""
        self.__dict__.update(state_dict)


def checked(optimizer: Any) -> Any:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def set_option(group: Options, name: str, value: Any) -> None:
    """Set an option of a group; if it is a tensor, it is filled in place."""
    if isinstance(group[name], Tensor):
        group[name].fill_(float(value))
    else:
        group[name] = value


def rates_of(optimizer: Optimizer) -> list[Any]:
    rates = [group["lr"] for group in optimizer.param_groups]
    return [r.clone() if isinstance(r, Tensor) else r for r in rates]


def for_groups(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each group; a list must have as many. Raises ValueError otherwise."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {count}."
        )
    return list(value)
