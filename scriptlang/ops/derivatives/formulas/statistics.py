"""Covariances and quantiles composed of other operators."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def shared_evenly(grad: Tensor, x: Tensor, result: Tensor) -> Tensor:
    """The gradient of the median, divided evenly among the elements that equal it."""
    mask = torch.where(torch.isnan(result), torch.isnan(x), x == result)
    return mask * (grad / mask.sum())


def covariance(
    x: Tensor, correction: int, fweights: Tensor | None, aweights: Tensor | None
) -> Tensor:
    x = x.reshape([1, -1]) if x.dim() < 2 else x
    if fweights is not None:
        if fweights.is_floating_point() or fweights.is_complex():
            raise RuntimeError(
                "cov(): expected fweights to have integral dtype but got fweights with Float dtype"
            )
        torch._assert_async((fweights >= 0).all(), "cov(): fweights cannot be negative")
    if aweights is not None:
        if not aweights.is_floating_point():
            raise RuntimeError("cov(): expected aweights to have floating point dtype")
        torch._assert_async((aweights >= 0).all(), "cov(): aweights cannot be negative")
    weights = fweights
    if aweights is not None:
        weights = aweights if fweights is None else fweights * aweights
    if weights is None:
        total = torch.scalar_tensor(x.size(1), dtype=torch.int64)
        mean = x.sum([1], True) / total
    else:
        total = weights.sum()
        mean = (x * weights).sum([1], True) / total
    norm = total
    if weights is not None and aweights is not None and correction != 0:
        norm = total - correction * (weights * aweights).sum() / total
    else:
        norm = total - correction
    norm = torch.where(norm < 0, 0, norm)
    x = x - mean
    right = (x if weights is None else x * weights).t().conj()
    return (x.mm(right) / norm).squeeze()


def correlation(x: Tensor) -> Tensor:
    c = covariance(x, 1, None, None)
    if c.dim() == 0:
        return c / c
    d = c.diagonal()
    width = torch.sqrt(torch.real(d) if d.is_complex() else d)
    c = c / width.unsqueeze(1) / width.unsqueeze(0)
    if c.is_complex():
        parts = torch.real(c).clamp(-1, 1), torch.imag(c).clamp(-1, 1)
        return torch.complex(parts[0], parts[1])
    return c.clamp(-1, 1)


def quantiles(
    x: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Tensor:
    """Quantiles, interpolated between neighbors in sorted order.

    If q has a dimension, it becomes the first one of the result.
    """
    if interpolation not in ["linear", "lower", "higher", "midpoint", "nearest"]:
        name = "nanquantile" if ignore_nan else "quantile"
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    shape = [1 for _ in range(x.dim())]
    if dim is None:
        flat = x.reshape([-1])
    elif x.dim() == 0:
        flat = x.reshape([1])
    else:
        flat = x.movedim(dim, -1)
        shape = list(x.size())
        shape[dim] = 1
    ordered = flat.sort(-1)[0]
    number = ordered.size(-1)
    invalid = ordered.isnan()
    if ignore_nan:
        last = (number - 1 - invalid.sum([-1], True)).to(dtype=x.dtype).clamp_min(0)
        rank = q.reshape([-1]) * last
    else:
        rank = q.reshape([-1]) * float(number - 1)
        rank = rank.expand(list(ordered.size())[:-1] + [q.numel()])
        rank = torch.where(invalid.any(-1, True), float(number - 1), rank)
    low = rank.floor()
    high = rank.ceil()
    if interpolation == "nearest":
        low = rank.round()
    if interpolation == "higher":
        low = high
    found = ordered.gather(-1, low.to(dtype=torch.int64))
    if interpolation in ("linear", "midpoint"):
        upper = ordered.gather(-1, high.to(dtype=torch.int64))
        weight = torch.full_like(rank, 0.5) if interpolation == "midpoint" else rank - low
        found = torch.lerp(found, upper, weight)
    found = found.movedim(-1, 0)
    if q.dim() == 0:
        found = found.squeeze(0)
        return found.reshape(shape) if keepdim else found
    return found.reshape([q.numel()] + shape) if keepdim else found
