"""Parameters of pools: a single value stands for all dimensions, an empty list for the default."""

from __future__ import annotations

from ....tensors import Tensor


def doubled(values: list[int]) -> list[int]:
    return [values[0], values[0]] if len(values) == 1 else values


def trebled(values: list[int]) -> list[int]:
    return [values[0], values[0], values[0]] if len(values) == 1 else values


def at_maxima(x: Tensor, indices: Tensor, number: int) -> Tensor:
    """The elements at the maxima of pools over the last dimensions."""
    return x.flatten(-number).gather(-1, indices.flatten(-number)).reshape(indices.size())
