"""Derivatives of cumulative products, and differences composed of other operators."""

from __future__ import annotations

from numbers import Number

from ....tensors import Tensor
from ...calling import functions as torch


def back_sum(x: Tensor, dim: int) -> Tensor:
    """The reverse cumulative sum: at each position, the sum of its element and all that follow."""
    return x.flip([dim]).cumsum(dim).flip([dim])


def cumprod_gradient(grad: Tensor, x: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of cumprod: by division if no element is 0, else element by element."""
    if x.dim() == 0 or x.numel() == 0:
        return grad
    if bool((x != 0).all()):
        return back_sum(result.conj() * grad, dim) / x.conj()
    number = x.size(dim)
    parts: list[Tensor] = []
    for k in range(number):
        ones = torch.ones_like(x.narrow(dim, 0, 1))
        behind = torch.cat([ones, x.narrow(dim, k + 1, number - k - 1)], dim).cumprod(dim)
        before = x.narrow(dim, 0, k).prod(dim, True) if k > 0 else ones
        part = (before * behind).conj() * grad.narrow(dim, k, number - k)
        parts.append(part.sum([dim], True))
    return torch.cat(parts, dim)


def logcumsumexp_gradient(grad: Tensor, x: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of logcumsumexp: the reverse sum of grad * exp(-result).

    It is computed in logarithms, so that nothing overflows.
    """
    if grad.dim() == 0 or grad.numel() == 0:
        return grad
    if grad.is_complex():
        logs = grad.conj().log() - result
        return (turned(logs, dim) + x).exp().conj()
    low = torch.full_like(grad, -1e30)  # finite, as the difference of infinities is nan
    above = torch.where(grad > 0, grad.masked_fill(grad <= 0, 1).log(), low)
    below = torch.where(grad < 0, (-grad).masked_fill(grad >= 0, 1).log(), low)
    return (turned(above - result, dim) + x).exp() - (turned(below - result, dim) + x).exp()


def turned(x: Tensor, dim: int) -> Tensor:
    return x.flip([dim]).logcumsumexp(dim).flip([dim])


def pairs(y: Tensor, dim: int) -> Tensor:
    """Sums of neighboring elements."""
    return torch.slice(y, dim, 1) + torch.slice(y, dim, 0, max(y.size(dim) - 1, 0))


def trapezoids(y: Tensor, step: float, dim: int) -> Tensor:
    """The areas of trapezoids of one width: the sum of all elements, less half of the ends."""
    if y.size(dim) == 0:
        return y.sum([dim])
    return (y.sum([dim]) - (y.select(dim, 0) + y.select(dim, -1)) / 2) * step


def areas(y: Tensor, x: Tensor, dim: int) -> Tensor:
    """Twice the areas of the trapezoids between neighboring points."""
    if x.dim() == 1 and y.dim() > 0:
        shape = [1 for _ in range(y.dim())]
        shape[dim] = x.numel()
        x = x.reshape(shape)
    elif x.dim() < y.dim():
        x = x.reshape([1 for _ in range(y.dim() - x.dim())] + list(x.size()))
    elif y.dim() < x.dim():
        y = y.reshape([1 for _ in range(x.dim() - y.dim())] + list(y.size()))
    width = torch.slice(x, dim, 1) - torch.slice(x, dim, 0, max(x.size(dim) - 1, 0))
    return width * pairs(y, dim)


def differences(
    x: Tensor, n: int, dim: int, prepend: Tensor | None, append: Tensor | None
) -> Tensor:
    if x.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n == 0:
        return x.clone()
    parts: list[Tensor] = []
    if prepend is not None:
        parts.append(prepend)
    parts.append(x)
    if append is not None:
        parts.append(append)
    if len(parts) > 1:
        x = torch.cat(parts, dim)
    for _ in range(min(n, x.size(dim))):
        x = torch.slice(x, dim, 1) - torch.slice(x, dim, 0, max(x.size(dim) - 1, 0))
    return x


def dims_of(x: Tensor, dim: int | None, dims: list[int] | None) -> list[int]:
    if dims is not None:
        return dims
    return list(range(x.dim())) if dim is None else [dim]


def one(value: Number | None) -> list[Number | None]:
    """A list for one distance along every dimension; None stands for 1."""
    return [value]


def given(values: list[Number]) -> list[Number | None]:
    found: list[Number | None] = []
    for v in values:
        found.append(v)
    return found


def slopes(
    x: Tensor,
    spacing: list[Number | None],
    places: list[Tensor] | None,
    dims: list[int],
    edge_order: int,
) -> list[Tensor]:
    """`gradient`: central differences along each dimension; at edges, of the order `edge_order`."""
    if edge_order != 1 and edge_order != 2:
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    found: list[Tensor] = []
    for i, dim in enumerate(dims):
        if places is not None:
            shape = [1 for _ in range(x.dim())]
            shape[dim] = x.size(dim)
            at = places[i].reshape(shape)
            width = torch.slice(at, dim, 1) - torch.slice(at, dim, 0, x.size(dim) - 1)
        else:
            step = spacing[i if len(spacing) > 1 else 0]
            shape = [1 for _ in range(x.dim())]
            shape[dim] = x.size(dim) - 1
            width = torch.full(shape, 1.0 if step is None else step, dtype=x.dtype)
        found.append(slope(x, width, dim, edge_order))
    return found


def slope(x: Tensor, width: Tensor, dim: int, edge_order: int) -> Tensor:
    """Central differences along one dimension; width: the distances between neighbors."""
    n = x.size(dim)
    left, right = width.narrow(dim, 0, n - 2), width.narrow(dim, 1, n - 2)
    before, here, after = x.narrow(dim, 0, n - 2), x.narrow(dim, 1, n - 2), x.narrow(dim, 2, n - 2)
    both = left + right
    middle = (
        after * (left / (right * both))
        + here * ((right - left) / (left * right))
        - before * (right / (left * both))
    )
    rise = x.narrow(dim, 1, n - 1) - x.narrow(dim, 0, n - 1)
    steep = rise / width
    first, last = steep.narrow(dim, 0, 1), steep.narrow(dim, n - 2, 1)
    if edge_order == 2:
        a, b = width.narrow(dim, 0, 1), width.narrow(dim, 1, 1)
        first = first * ((2 * a + b) / (a + b)) - steep.narrow(dim, 1, 1) * (a / (a + b))
        c, d = width.narrow(dim, n - 3, 1), width.narrow(dim, n - 2, 1)
        last = last * ((2 * d + c) / (c + d)) - steep.narrow(dim, n - 3, 1) * (d / (c + d))
    return torch.cat([first, middle, last], dim)


def logcumsumexp_tangent(tangent: Tensor, x: Tensor, result: Tensor, dim: int) -> Tensor:
    """The derivative of logcumsumexp, in logarithms as its gradient."""
    if x.dim() == 0 or x.numel() == 0:
        return tangent
    if x.is_complex():
        return ((x + tangent.log()).logcumsumexp(dim) - result).exp()
    low = torch.full_like(x, -1e30)
    above = torch.where(tangent > 0, tangent.masked_fill(tangent <= 0, 1).log(), low)
    below = torch.where(tangent < 0, (-tangent).masked_fill(tangent >= 0, 1).log(), low)
    up, down = (above + x).logcumsumexp(dim), (below + x).logcumsumexp(dim)
    return (up - result).exp() - (down - result).exp()
