"""Functions of the scripted language that rules of any family call."""

from __future__ import annotations

from numbers import Number

from ...tensors import Tensor
from ..calling import functions as torch


def sum_to(x: Tensor, size: list[int]) -> Tensor:
    """Reduce a gradient in the shape of a result to the size of an input that was broadcast."""
    if x.size() == size:
        return x
    first = x.dim() - len(size)
    dims = [d for d in range(x.dim()) if d < first or (size[d - first] == 1 and x.size(d) != 1)]
    if len(dims) > 0:
        x = x.sum(dims, True)
    return x.view(size) if first > 0 else x


def fitted(grad: Tensor, size: list[int], dtype: int, is_complex: bool) -> Tensor:
    """Convert the value of an expression to the size and type of the input whose gradient it is."""
    grad = sum_to(grad, size)
    if grad.is_complex() and not is_complex:
        grad = torch.real(grad)
    return grad if grad.dtype == dtype else grad.to(dtype=dtype)


def scaled(grad: Tensor, factor: Number) -> Tensor:
    """A gradient times the conjugate of a number."""
    if grad.is_complex():
        return torch.mul(grad.conj(), factor).conj()
    return torch.mul(grad, factor)


def count(size: list[int]) -> int:
    """The number of elements of a tensor of that size."""
    number = 1
    for n in size:
        number *= n
    return number


def listed(size: list[int], dim: list[int] | None) -> list[int]:
    """The reduced dimensions, as nonnegative numbers; all if `dim` is None or empty."""
    if dim is None or len(dim) == 0:
        return list(range(len(size)))
    return [d + len(size) if d < 0 else d for d in dim if len(size) > 0]


def count_of(size: list[int], dim: list[int] | None) -> int:
    """The number of elements that are reduced to one."""
    number = 1
    for d in listed(size, dim):
        number *= size[d]
    return number


def restored(x: Tensor, size: list[int], dim: list[int] | None, keepdim: bool) -> Tensor:
    """A reduction's result with the reduced dimensions kept with size 1."""
    if keepdim or len(size) == 0:
        return x
    kept = list(size)
    for d in listed(size, dim):
        kept[d] = 1
    return x.reshape(kept)


def scattered(grad: Tensor, size: list[int], dim: int, index: Tensor) -> Tensor:
    """The gradient of a gather: each element is added at the index that it was read from."""
    return torch.zeros(size, dtype=grad.dtype).scatter_add(dim, index, grad)


def zeros(like: Tensor, size: list[int]) -> Tensor:
    """Zeros of that size with the type of `like`."""
    return torch.zeros(size, dtype=like.dtype)


def optional(x: Tensor) -> Tensor | None:
    """The tensor typed as Optional, for lists that hold None as well."""
    return x


def selected(
    grad: Tensor | None, size: list[int], indices: Tensor, dim: int, keepdim: bool
) -> Tensor | None:
    """The gradient of elements picked along a dimension by index, scattered to their positions."""
    if grad is None:
        return None
    if keepdim or len(size) == 0:
        return scattered(grad, size, dim, indices)
    return scattered(grad.unsqueeze(dim), size, dim, indices.unsqueeze(dim))


def separable(grad: Tensor, matrices: list[Tensor]) -> Tensor:
    """The gradient of an operator that multiplies each of the last dimensions by a matrix.

    matrices: one per dimension, of shape (size before, size after).
    """
    for i, matrix in enumerate(matrices):
        dim = i - len(matrices)
        grad = grad.transpose(dim, -1).matmul(matrix.t()).transpose(dim, -1)
    return grad


def elements_at(x: Tensor, size: list[int], indices: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The elements that `selected` puts at their places: those picked along a dimension."""
    if len(size) == 0:
        return x
    if keepdim:
        return x.gather(dim, indices)
    return x.gather(dim, indices.unsqueeze(dim)).squeeze(dim)


def by_channel(x: Tensor, like: Tensor) -> Tensor:
    """A vector of channels with dimensions of size 1 for all others behind these."""
    return x.reshape([-1] + [1 for _ in range(like.dim() - 2)])
