"""Schedules made of several others: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, rates_of, set_option
from .plateau import ReduceLROnPlateau


class CombinedScheduler(LRScheduler):
    """A schedule that contains other schedulers of the same optimizer."""

    _schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer, with the states of the inner schedulers."""
        state = super().state_dict()
        del state["_schedulers"]
        state["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        kept = state.pop("_schedulers")
        super().load_state_dict(state)
        for scheduler, own in zip(self._schedulers, kept):
            scheduler.load_state_dict(own)


class SequentialLR(CombinedScheduler):
    """Uses the first scheduler until the first milestone, then the next one, and so on."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[Any],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        refuse_unfit(type(self).__name__, schedulers, optimizer, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            take_back(scheduler)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]  # as in PyTorch
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(CombinedScheduler):
    """Applies all schedulers at each step, each to the result of the one before."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if optimizer is None and schedulers:
            optimizer = getattr(schedulers[0], "optimizer", None)
        refuse_unfit(type(self).__name__, schedulers, optimizer, " to be chained")
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = rates_of(self.optimizer)

    def step(self) -> None:  # type: ignore[override]  # as in PyTorch
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates_of(self.optimizer)


def take_back(scheduler: Any) -> None:
    """Undo the initial step of a scheduler, or of those in it."""
    if hasattr(scheduler, "_schedulers"):
        for inner in scheduler._schedulers:
            take_back(inner)
    elif hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


def refuse_unfit(name: str, schedulers: Sequence[Any], optimizer: Any, how: str) -> None:
    """Raise ValueError or TypeError for schedulers that cannot be combined."""
    if len(schedulers) < 1:
        raise ValueError(f"{name} expects at least one scheduler{how}, but got no scheduler.")
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional "
                f"kwargs to be specified when calling `step`, but got one at index {i} in the "
                "given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is "
                f"different from {type(optimizer).__name__}."
            )
