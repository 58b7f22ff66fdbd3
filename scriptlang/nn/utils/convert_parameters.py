"""Conversion between the parameters of a model and one vector."""

from __future__ import annotations

from collections.abc import Iterable

from ...ops.calling import functions as torch
from ...tensors import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, concatenated to one dimension."""
    return torch.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make parameters slices of a vector, in order. Raises TypeError if it is no Tensor."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        p.data = vec[start : start + p.numel()].view(p.shape)
        start += p.numel()
