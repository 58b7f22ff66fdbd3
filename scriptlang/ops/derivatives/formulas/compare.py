"""Masks for the gradient of clamp.  A value that equals a bound counts as inside."""

from __future__ import annotations

from numbers import Number

from ....tensors import Tensor
from ...calling import functions as torch


def inside(x: Tensor, low: Number | None, high: Number | None) -> Tensor:
    if low is not None:
        within = x >= low
        return within & (x <= high) if high is not None else within
    if high is not None:
        return x <= high
    return torch.ones_like(x, dtype=torch.bool)


def inside_tensors(x: Tensor, low: Tensor | None, high: Tensor | None) -> Tensor:
    if low is not None:
        within = x >= low
        return within & (x <= high) if high is not None else within
    if high is not None:
        return x <= high
    return torch.ones_like(x, dtype=torch.bool)


def below(x: Tensor, low: Tensor | None, high: Tensor | None) -> Tensor:
    """A mask of the elements that `clamp` sets to its lower bound.

    If the lower bound is above the upper one, `clamp` returns the upper one.
    """
    assert low is not None
    return (x < low) & (low < high) if high is not None else x < low


def above(x: Tensor, low: Tensor | None, high: Tensor | None) -> Tensor:
    assert high is not None
    return (x > high) | (high < low) if low is not None else x > high
