"""Averages of weights over training: stochastic weight averaging, and exponential averages.

averaged = AveragedModel(model)
for epoch in range(30):
    train(); averaged.update_parameters(model); scheduler.step()
update_bn(batches, averaged)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

from ..grad_mode import no_grad
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from ..ops.calling import functions as torch
from ..tensors import Tensor
from .lr_scheduler.base import LRScheduler, for_groups
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
"""Gives a new average from the old one, a value, and the number of values so far."""

MultiAverage = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]
"""Writes new averages over the old ones; all tensors of a call have one dtype."""


def checked_decay(decay: float) -> float:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )
    return decay


def has_fractions(x: Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The function of an exponential average of one tensor."""
    checked_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """The function of an exponential average of many tensors, in place."""
    checked_decay(decay)

    @no_grad()
    def ema_update(ema: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any) -> None:
        for average, value in zip(ema, current, strict=True):
            if has_fractions(average):
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_avg_fn() -> Average:
    """The function of an equal average of one tensor."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """The function of an equal average of many tensors, in place."""

    @no_grad()
    def swa_update(averaged: Sequence[Tensor], current: Sequence[Tensor], number: Any) -> None:
        for average, value in zip(averaged, current, strict=True):
            if has_fractions(average):
                average.lerp_(value, float(1 / (number + 1)))
            elif isinstance(number, Tensor):
                average.addcdiv_(value - average, number + 1)
            else:
                average.add_(value - average, alpha=1.0 / (number + 1))

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are an average of those that the model had.

    avg_fn or multi_avg_fn: how to average, one tensor at a time or many in place; by default all
    values count equally. use_buffers: average the buffers, too; else they are copied.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn, self.multi_avg_fn = avg_fn, multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of a model into the average; the first ones are copied."""
        ours, theirs = self._averaged(self.module), self._averaged(model)
        if self.n_averaged == 0:
            for average, value in zip(ours, theirs):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(ours, theirs):
                average.copy_(self.avg_fn(average, value, self.n_averaged))
        else:
            self._average(ours, theirs)
        if not self.use_buffers:
            for buffer, now in zip(self.module.buffers(), model.buffers(), strict=True):
                buffer.detach().copy_(now.detach())
        self.n_averaged += 1

    def _averaged(self, model: Module) -> list[Tensor]:
        tensors = chain(model.parameters(), model.buffers() if self.use_buffers else ())
        return [t.detach() for t in tensors]

    def _average(self, ours: list[Tensor], theirs: list[Tensor]) -> None:
        """One call for the tensors of each dtype."""
        groups: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
        for average, value in zip(ours, theirs):
            averages, values = groups.setdefault(average.dtype, ([], []))
            averages.append(average)
            values.append(value)
        function = self.multi_avg_fn or get_swa_multi_avg_fn()
        for averages, values in groups.values():
            function(averages, values, self.n_averaged)


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the statistics of batch norms anew, as means over all batches of a loader.

    A batch is a tensor, or a list or tuple whose first element is what the model takes.
    """
    momenta = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None
    for batch in loader:
        given = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(given if device is None else given.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Moves the rate to swa_lr in `anneal_epochs` epochs, and leaves it there.

    It starts from any rate, so that it can follow another schedule.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(for_groups("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """How much of the way is behind us, from the share of the epochs."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        """The rates for `last_epoch`, computed from the current ones."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        epochs = max(1, self.anneal_epochs)
        before = self.anneal_func(max(0, min(1, (step - 1) / epochs)))
        now = self.anneal_func(max(0, min(1, step / epochs)))
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
