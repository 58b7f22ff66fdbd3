"""LRScheduler: the base class of schedules that change the learning rates of an optimizer."""

from __future__ import annotations

import functools
import warnings
import weakref
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

OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. "
    "See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)

NOT_LAST = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."

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

    next_rate: Any = None
    rate_at: Any = None

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(NOT_INITIAL.format(i))
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        notice_steps(self.optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or of `epoch` (by the closed form if there is one)."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(OVERRIDDEN, UserWarning, stacklevel=2)
            elif not self.optimizer._opt_called:
                warnings.warn(EARLY, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            is_closed = epoch is not None and self._has_closed_form()
            rates = self._get_closed_form_lr() if is_closed else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _has_closed_form(self) -> bool:
        """Whether this class says its rates by `rate_at`, or a class of the user by the method."""
        of_user = type(self)._get_closed_form_lr is not LRScheduler._get_closed_form_lr
        return of_user or self.rate_at is not None

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(NOT_LAST, UserWarning, stacklevel=3)

    def _set(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = rates_of(self.optimizer)

    def get_last_lr(self) -> list[Any]:
        """The current rates of the groups."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`, computed from the current ones."""
        if self.next_rate is None:
            raise NotImplementedError
        self._warn_outside_step()
        pairs = zip(self.optimizer.param_groups, self.base_lrs, strict=True)
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


def notice_steps(optimizer: Any) -> None:
    """Let an optimizer note that a step was made, so that a schedule before it can warn.

    The function is an attribute of the optimizer, as in PyTorch: one that replaces it is noticed.
    It refers to the optimizer weakly, so that this one is freed as soon as nobody has it.
    """
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    owner, function = weakref.ref(optimizer), step.__func__

    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        found: Any = owner()
        found._opt_called = True
        return function.__get__(found, type(found))(*args, **kwargs)

    noted._wrapped_by_lr_sched = True  # type: ignore[attr-defined]  # as PyTorch calls it
    optimizer.step = noted


def refuse_no_momentum(optimizer: Optimizer) -> None:
    """Raise ValueError for an optimizer without an option that a schedule of momentum changes."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )


def set_option(group: Options, name: str, value: Any) -> None:
    """Set an option of a group; if it is a tensor, it is filled in place."""
    if isinstance(group[name], Tensor):
        group[name].fill_(float(value))
    else:
        group[name] = value


def own(value: Any) -> Any:
    """A copy of a tensor, which writes to the option do not reach; other values unchanged."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, name: str) -> list[Any]:
    """An option of all groups."""
    return [own(group[name]) for group in optimizer.param_groups]


def rates_of(optimizer: Optimizer) -> list[Any]:
    return values_of(optimizer, "lr")


def for_groups(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each group; a list must have as many. Raises ValueError otherwise."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [own(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {count}."
        )
    return [own(v) for v in value]
