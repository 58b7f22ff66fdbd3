"""Derivatives of sums, extremes, norms, products and variances."""

from __future__ import annotations

from numbers import Number

from ....tensors import Tensor
from ...calling import functions as torch
from ..helpers import count_of, listed, restored


def both(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """The sum of the gradients that are not None."""
    if a is None:
        return b
    return a if b is None else a + b


def extreme(x: Tensor, result: Tensor) -> Tensor:
    """A mask of the elements equal to the extreme value; if that is nan, of those that are nan."""
    return torch.where(torch.isnan(result), torch.isnan(x), x == result)


def shared_among(grad: Tensor, mask: Tensor, dim: list[int]) -> Tensor:
    """Divide the gradient evenly among the elements in the mask."""
    share = mask.sum(dim, True) if len(dim) > 0 else mask.to(dtype=torch.int64)
    return mask * (grad / share)


def aminmax_gradient(
    grad_min: Tensor | None,
    grad_max: Tensor | None,
    x: Tensor,
    low: Tensor,
    high: Tensor,
    dim: int | None,
    keepdim: bool,
) -> Tensor | None:
    dims = listed(x.size(), None if dim is None else [dim])
    size = x.size()
    at = None if dim is None else [dim]
    first: Tensor | None = None
    second: Tensor | None = None
    if grad_min is not None:
        mask = restored(low, size, at, keepdim) == x
        first = shared_among(restored(grad_min, size, at, keepdim), mask, dims)
    if grad_max is not None:
        mask = restored(high, size, at, keepdim) == x
        second = shared_among(restored(grad_max, size, at, keepdim), mask, dims)
    return both(first, second)


def nanmean_of_sums(x: Tensor, dim: list[int] | None, keepdim: bool, dtype: int | None) -> Tensor:
    dims = listed(x.size(), dim) if dim is None or len(dim) == 0 else dim
    number = x.isnan().logical_not().sum(dims, keepdim)
    return torch.nansum(x, dims, keepdim, dtype=dtype) / number


def mean_gradient(
    grad: Tensor | None, size: list[int], dim: list[int] | None, keepdim: bool
) -> Tensor | None:
    if grad is None:
        return None
    return restored(grad, size, dim, keepdim).expand(size) / count_of(size, dim)


def norm_gradient(
    grad: Tensor, x: Tensor, p: Number | None, norm: Tensor, dim: list[int] | None, keepdim: bool
) -> Tensor:
    """The gradient of (sum |x|^p)^(1/p).

    It is 0 where the norm is 0; for the norms inf and -inf it is divided evenly among the elements
    that attain them.
    """
    size = x.size()
    grad = restored(grad, size, dim, keepdim)
    norm = restored(norm, size, dim, keepdim)
    q = 2.0 if p is None else float(p)
    if q == 0.0:
        return torch.zeros_like(x)
    if q == 1.0:
        return x.sgn() * grad
    if q == 2.0:
        return grad * (x / norm).masked_fill(norm == 0, 0)
    if q == torch.inf or q == -torch.inf:
        width = x.abs()
        mask = torch.where(torch.isnan(norm), torch.isnan(width), width == norm)
        return x.sgn() * shared_among(grad, mask, listed(size, dim))
    if q < 1.0:
        slope = x.sgn() * x.abs().pow(q - 1.0).masked_fill(x == 0, 0)
        return slope * grad * norm.pow(1.0 - q)
    if q < 2.0:
        slope = x.sgn() * x.abs().pow(q - 1.0)
        return slope * (grad / norm.pow(q - 1.0)).masked_fill(norm == 0, 0)
    slope = x * x.abs().pow(q - 2.0)
    return slope * (grad / norm.pow(q - 1.0)).masked_fill(norm == 0, 0)


def norm_except_gradient(grad: Tensor, v: Tensor, p: int, dim: int, norm: Tensor) -> Tensor:
    if dim == -1:
        return norm_gradient(grad, v, p, norm, None, False)
    dims = [d for d in range(v.dim()) if d != dim]
    return norm_gradient(grad, v, p, norm, dims, True)


def prod_gradient(grad: Tensor, x: Tensor, result: Tensor) -> Tensor:
    """The gradient of prod: for each element the product of the others, also if there are zeros."""
    if x.dim() == 0:
        return grad.clone()
    flat = x.reshape([-1])
    return prod_dim_gradient(grad, flat, result, 0, False).reshape(x.size())


def prod_dim_gradient(grad: Tensor, x: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
    if x.dim() == 0:
        return grad.clone()
    if not keepdim:
        grad, result = grad.unsqueeze(dim), result.unsqueeze(dim)
    if bool((x != 0).all()):
        return grad * (result / x).conj()
    return grad * others(x, dim).conj()


def others(x: Tensor, dim: int) -> Tensor:
    """For each element, the product of all others along a dimension.

    It is the product of the elements before it times that of those after it.
    """
    first = torch.ones_like(x.narrow(dim, 0, 1))
    number = x.size(dim)
    before = torch.cat([first, x.narrow(dim, 0, number - 1)], dim).cumprod(dim)
    turned = torch.cat([first, x.flip([dim]).narrow(dim, 0, number - 1)], dim)
    return before * turned.cumprod(dim).flip([dim])


def renorm_gradient(grad: Tensor, x: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """Slices with a norm above maxnorm were scaled by maxnorm / (norm + 1e-7)."""
    at = dim + x.dim() if dim < 0 else dim
    dims = [d for d in range(x.dim()) if d != at]
    norm = torch.linalg_vector_norm(x, p, dims, True)
    along = (x.conj() * grad).sum(dims, True)
    if along.is_complex():
        along = torch.real(along)
    slope = norm_gradient(along, x, p, norm, dims, True)
    inverse = (norm + 1e-7).reciprocal()
    scaled = inverse * (grad - inverse * slope)
    return torch.where(norm > maxnorm, torch.mul(scaled, maxnorm), grad)


def var_gradient(
    grad: Tensor, x: Tensor, dim: list[int] | None, correction: Number | None, keepdim: bool
) -> Tensor:
    number = count_of(x.size(), dim)
    by = float(number) - (1.0 if correction is None else float(correction))
    grad = restored(grad, x.size(), dim, keepdim)
    dims = listed(x.size(), dim)
    if by <= 0.0:
        flat = x - x.mean(dims, True)
        return torch.where(flat == 0, torch.nan, torch.inf * flat) * grad
    return (2.0 / by) * grad * (x - x.mean(dims, True))


def std_gradient(
    grad: Tensor,
    x: Tensor,
    result: Tensor,
    dim: list[int] | None,
    correction: Number | None,
    keepdim: bool,
) -> Tensor:
    inner = (grad / (result * 2)).masked_fill(result == 0, 0)
    return var_gradient(inner, x, dim, correction, keepdim)


def moments_tangent(
    tangent: Tensor,
    x: Tensor,
    dim: list[int] | None,
    correction: Number | None,
    keepdim: bool,
    deviation: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The derivatives of variance, or standard deviation if that is given, and mean."""
    dims = listed(x.size(), dim)
    free = float(count_of(x.size(), dim)) - (1.0 if correction is None else float(correction))
    apart = x - (x.mean(dims, True) if len(dims) > 0 else x)
    mean = tangent.mean(dims, keepdim) if len(dims) > 0 else tangent
    along = torch.real(apart.conj() * tangent) if x.is_complex() else apart * tangent
    made = (along.sum(dims, keepdim) if len(dims) > 0 else along) * (2 / free)
    if deviation is not None:
        made = (made / (2 * deviation)).masked_fill(deviation == 0, 0)
    return made, mean
