"""Functions of the scripted language that rules of any family call."""

from __future__ import annotations

from numbers import Number

from ...tensors import Tensor
from ..calling import functions as torch


def sum_to(x: Tensor, size: list[int]) -> Tensor:
    """A gradient in the shape of a result, as that of an input that was broadcast to it."""
    if x.size() == size:
        return x
    first = x.dim() - len(size)
    dims = [d for d in range(x.dim()) if d < first or (size[d - first] == 1 and x.size(d) != 1)]
    if len(dims) > 0:
        x = x.sum(dims, True)
    return x.view(size) if first > 0 else x


def fitted(grad: Tensor, size: list[int], dtype: int, is_complex: bool) -> Tensor:
    """What an expression gave, as the gradient of an input of that size and type."""
    grad = sum_to(grad, size)
    if grad.is_complex() and not is_complex:
        grad = torch.real(grad)
    return grad if grad.dtype == dtype else grad.to(dtype=dtype)


def scaled(grad: Tensor, factor: Number) -> Tensor:
    """A gradient times the conjugate of a number."""
    if grad.is_complex():
        return torch.mul(grad.conj(), factor).conj()
    return torch.mul(grad, factor)
