"""What the algorithms share: checks of options, and state that all of them have."""

from __future__ import annotations

from typing import Any

from ...ops.calling import functions as torch
from ...tensors import Tensor
from ..optimizer import Optimizer, Options, check, scalar


def one_number(lr: Any) -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def checked_lr(lr: Any) -> None:
    one_number(lr)
    check("learning rate", lr, not lr < 0.0)


def check_options(**options: Any) -> None:
    """Raise ValueError for an option that is less than zero."""
    for name, value in options.items():
        check(f"{NAMES.get(name, name)} value", value, value >= 0.0)


NAMES = {"eps": "epsilon"}
"""Options that messages call otherwise."""


def check_betas(betas: Any) -> None:
    for i in range(2):
        check(f"beta parameter at index {i}", betas[i], 0.0 <= float(betas[i]) < 1.0)


def refuse_capturable(capturable: bool) -> None:
    """Raise NotImplementedError: PyTorch takes it for no CPU, either, but says so at a step."""
    if capturable:
        raise NotImplementedError("capturable=True is for CUDA graphs; leave it out")


def refuse_fused(fused: bool | None, differentiable: bool, foreach: bool | None) -> None:
    """Raise RuntimeError for modes that PyTorch does not take together.

    By themselves `fused` and `foreach` change nothing here: a step is always one call.
    """
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


class Counting(Optimizer):
    """An algorithm that counts its steps; what else it keeps starts at zero."""

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        names = [name for name in self.wanted(group) if name != "step"]
        zeros = {name: torch.zeros_like(param).detach() for name in names}
        return {"step": scalar(0.0, group.get("fused")), **zeros}
