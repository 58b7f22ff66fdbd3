"""Parameters of pools: a single value stands for all dimensions, an empty list for the default."""

from __future__ import annotations


def doubled(values: list[int]) -> list[int]:
    return [values[0], values[0]] if len(values) == 1 else values


def trebled(values: list[int]) -> list[int]:
    return [values[0], values[0], values[0]] if len(values) == 1 else values
