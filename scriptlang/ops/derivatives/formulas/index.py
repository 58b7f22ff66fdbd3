"""Derivatives of indexing and of scatter reductions."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch
from ..helpers import count, zeros


def broadcast(a: list[int], b: list[int]) -> list[int]:
    """The size that two sizes broadcast to."""
    number = max(len(a), len(b))
    long = [1 for _ in range(number - len(a))] + a
    other = [1 for _ in range(number - len(b))] + b
    return [m if n == 1 else n for m, n in zip(other, long)]


def picked(grad: Tensor, dim: int, index: Tensor, size: list[int]) -> Tensor:
    """The gradient of a source: the rows that it was written to, in its size."""
    if len(size) > 0:
        return grad.index_select(dim, index).expand(size)
    return grad.index_select(dim, index.reshape([1])).reshape(size)


def gathered(grad: Tensor, dim: int, index: Tensor, size: list[int]) -> Tensor:
    """The gradient of the source of a scatter; zero for elements beyond the size of the index."""
    found = grad.gather(dim, index)
    return found if found.size() == size else widened(found, size)


def masked_scatter_gradient(grad: Tensor, mask: Tensor, size: list[int]) -> Tensor:
    """The gradient of the source: its first elements were used in order; the rest gets zero."""
    used = grad.masked_select(mask)
    return torch.constant_pad_nd(used, [0, count(size) - used.numel()]).view(size)


def gather_along(x: Tensor, indices: Tensor, dim: int | None) -> Tensor:
    """take_along_dim: x and indices broadcast in all dimensions but `dim`."""
    if dim is None:
        return x.reshape([-1]).gather(0, indices.reshape([-1]))
    at = dim + x.dim() if dim < 0 else dim
    indices = torch.where(indices < 0, indices + x.size(at), indices)
    own, other = list(x.size()), list(indices.size())
    own[at], other[at] = 1, 1
    both = broadcast(own, other)
    own, other = list(both), list(both)
    own[at], other[at] = x.size(at), indices.size(at)
    return x.expand(own).gather(at, indices.expand(other))


def index_reduce_gradient(
    grad: Tensor,
    x: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> tuple[Tensor, Tensor]:
    """The gradients of index_reduce: those of scatter_reduce with the expanded index."""
    if x.dim() == 0 or source.dim() == 0:
        rows = index.reshape([-1])
        flat = source.reshape([-1])
        own, other = scatter_reduce_gradient(
            grad.reshape([-1]),
            x.reshape([-1]),
            0,
            rows,
            flat,
            reduce,
            include_self,
            result.reshape([-1]),
        )
        return own.reshape(x.size()), other.reshape(source.size())
    at = dim + x.dim() if dim < 0 else dim
    shape = [1 for _ in range(source.dim())]
    shape[at] = index.numel()
    every = index.reshape(shape).expand(source.size())
    return scatter_reduce_gradient(grad, x, at, every, source, reduce, include_self, result)


def scatter_reduce_gradient(
    grad: Tensor,
    x: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> tuple[Tensor, Tensor]:
    """The gradients of scatter_reduce.

    Tensors without dimensions are treated as one row; the source may be larger than the index.
    """
    flat = x.dim() == 0 or src.dim() == 0 or index.dim() == 0
    if flat:
        own, read = reduced_parts(
            grad.reshape([-1]),
            x.reshape([-1]),
            0,
            index.reshape([-1]),
            src.reshape([-1]).narrow(0, 0, index.numel()),
            reduce,
            include_self,
            result.reshape([-1]),
        )
        read = widened(read, [src.numel()])
    else:
        part = narrowed(src, index.size())
        own, read = reduced_parts(grad, x, dim, index, part, reduce, include_self, result)
        read = widened(read, src.size())
    return own.reshape(x.size()), read.reshape(src.size())


def reduced_parts(
    grad: Tensor,
    x: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> tuple[Tensor, Tensor]:
    """The gradients of scatter_reduce if the index and the source have the same size."""
    if reduce == "sum":
        own, other = grad, grad.gather(dim, index)
    elif reduce == "prod":
        own, other = scatter_prod_gradient(grad, x, dim, index, src, include_self, result)
    elif reduce == "mean":
        first = torch.ones_like(grad) if include_self else zeros(grad, grad.size())
        number = first.scatter_add(dim, index, torch.ones_like(src)).clamp_min(1)
        own, other = grad / number, (grad / number).gather(dim, index)
    else:
        at_own = x == result
        at_src = src == result.gather(dim, index)
        first = at_own.to(dtype=grad.dtype) if include_self else zeros(grad, grad.size())
        number = first.scatter_add(dim, index, at_src.to(dtype=grad.dtype))
        share = grad / number.clamp_min(1)
        own, other = share * at_own, share.gather(dim, index) * at_src
    if not include_self:
        kept = grad
        if reduce == "prod":  # as in PyTorch: a factor of 1, or nan if x is not finite
            kept = grad * torch.where(x == 0, 1, result / x.masked_fill(x == 0, 1))
        own = kept.scatter(dim, index, 0)
    return own, other


def narrowed(x: Tensor, size: list[int]) -> Tensor:
    for d, n in enumerate(size):
        x = x.narrow(d, 0, n)
    return x


def widened(x: Tensor, size: list[int]) -> Tensor:
    pads: list[int] = []
    for d in range(len(size) - 1, -1, -1):
        pads.append(0)
        pads.append(size[d] - x.size(d))
    return torch.constant_pad_nd(x, pads)


def scatter_prod_gradient(
    grad: Tensor,
    x: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    include_self: bool,
    result: Tensor,
) -> tuple[Tensor, Tensor]:
    """The gradients of products: for each factor the product of the others.

    Nonzero sources are divided out of the product; a zero only has a gradient if it is the only
    one. Of two zeros each has the other as a factor, which second derivatives need.
    """
    src_zero = src == 0
    start = x if include_self else torch.ones_like(x)
    product = start.scatter_reduce(dim, index, src.masked_fill(src_zero, 1), "prod")
    zeros_in = torch.zeros_like(x).scatter_add(dim, index, src_zero.to(dtype=x.dtype))
    own = torch.ones_like(x).scatter_reduce(dim, index, src, "prod")
    number = zeros_in.gather(dim, index)
    at_zero = src * src_zero
    partner = torch.zeros_like(x).scatter_add(dim, index, at_zero).gather(dim, index) - at_zero
    factor = torch.where(number == 1, torch.ones_like(src), partner * (number == 2))
    whole = result.gather(dim, index) / src.masked_fill(src_zero, 1)
    other = torch.where(src_zero, product.gather(dim, index) * factor, whole)
    return grad * own, grad.gather(dim, index) * other
