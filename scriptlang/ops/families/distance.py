"""Distances between vectors, composed of norms."""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite, describe


@composite(
    "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool "
    "keepdim=False) -> Tensor"
)
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False
) -> Tensor:
    return torch.linalg_vector_norm(x1 - x2 + eps, p, [-1], keepdim)


@composite(
    "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
    fusible=True,
    autocast="full",
)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    if not eps >= 0.0:
        raise RuntimeError("eps must be non-negative, got: {}".format(eps))
    common = torch.promote_types(x1.dtype, x2.dtype)
    x1, x2 = x1.to(dtype=common), x2.to(dtype=common)
    if not x1.is_floating_point():
        raise RuntimeError(
            "expected common dtype to be floating point, yet the common dtype is another"
        )
    pair = torch.broadcast_tensors([x1, x2])
    a = torch.linalg_vector_norm(pair[0], 2, [dim], True).clamp_min(eps)
    b = torch.linalg_vector_norm(pair[1], 2, [dim], True).clamp_min(eps)
    return ((pair[0] / a) * (pair[1] / b)).sum([dim])


def _power_norm(difference: Tensor, p: float) -> Tensor:
    """The p-norm of rows by plain powers and roots, which may overflow or underflow."""
    if difference.dtype == torch.float32:  # p is read as float32, too
        p = float("inf") if p > 3.4028234663852886e38 else 0.0 if p < 7.1e-46 else p
    if difference.size(-1) == 0:
        return difference.sum([-1])
    if p == 0.0:  # the number of differing elements
        return difference.abs().ceil().clamp_max(1.0).sum([-1])
    if p == 1.0 or p == 2.0 or p == float("inf"):
        return torch.linalg_vector_norm(difference, p, [-1])
    return difference.abs().pow(p).sum([-1]).pow(1.0 / p)


@composite(
    "aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
    "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    if not x1.is_floating_point() or not x2.is_floating_point():
        raise RuntimeError("cdist only supports floating-point dtypes")
    if x1.dim() < 2 or x2.dim() < 2:
        raise RuntimeError(
            "cdist only supports at least 2D tensors, got {}D and {}D".format(x1.dim(), x2.dim())
        )
    if x1.size(-1) != x2.size(-1):
        raise RuntimeError(
            "X1 and X2 must have the same number of columns. X1: {} X2: {}".format(
                x1.size(-1), x2.size(-1)
            )
        )
    if p < 0.0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode is not None and (compute_mode < 0 or compute_mode > 2):
        raise RuntimeError("possible modes: 0, 1, 2, but was: {}".format(compute_mode))
    if p == 2.0 and compute_mode is not None and compute_mode == 1:
        return torch._euclidean_dist(x1, x2)
    return _power_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


@composite("aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor")
def euclidean_distance(x1: Tensor, x2: Tensor) -> Tensor:
    """The distances of all pairs by one matrix product: |x - y|^2 = |x|^2 - 2 x y + |y|^2."""
    a, b = (x1 * x1).sum([-1], True), (x2 * x2).sum([-1], True)
    left = torch.cat([x1 * -2, a, torch.ones_like(a)], -1)
    right = torch.cat([x2, torch.ones_like(b), b], -1)
    return torch.matmul(left, right.transpose(-2, -1)).clamp_min(0).sqrt()


@composite("aten::pdist(Tensor self, float p=2.) -> Tensor", autocast="full")
def pdist(self: Tensor, p: float = 2.0) -> Tensor:
    if self.dim() != 2:
        raise RuntimeError("pdist only supports 2D tensors, got: {}D".format(self.dim()))
    if not self.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0.0:
        raise RuntimeError("pdist only supports non-negative p values")
    pairs = torch.triu_indices(self.size(0), self.size(0), 1)
    return _power_norm(self.index_select(0, pairs[0]) - self.index_select(0, pairs[1]), p)


describe("cdist", autocast="full")
