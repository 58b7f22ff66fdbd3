"""What potentials have in common: atoms, their kinds and neighbours, functions of distances."""

import math
from typing import Final

import torch
from torch import Tensor, nn

ARCHIVES = {}
"""Name -> a function that makes a module and what it is called with."""


def archive(make):
    ARCHIVES[make.__name__] = make
    return make


def points(n=9, seed=0, dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(n, 3, generator=g, dtype=torch.float64).mul(1.7).to(dtype)


def kinds(n=9, k=3, seed=1):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(0, k, (n,), generator=g)


def edges(pos, cutoff=4.0):
    d = torch.cdist(pos.double(), pos.double())
    i, j = torch.nonzero((d < cutoff) & (d > 0), as_tuple=True)
    return torch.stack([i, j])


class ShiftedSoftplus(nn.Module):
    """Softplus that is zero at zero."""

    def forward(self, x):
        return nn.functional.softplus(x) - math.log(2.0)


class Gaussians(nn.Module):
    """Distances, smeared over Gaussians."""

    def __init__(self, n=16, cut=4.0):
        super().__init__()
        self.register_buffer("mu", torch.linspace(0, cut, n))
        self.gamma: float = 4.0

    def forward(self, d: Tensor) -> Tensor:
        return torch.exp(-self.gamma * (d.unsqueeze(-1) - self.mu) ** 2)


class Bessel(nn.Module):
    """Spherical Bessel functions of distances."""

    def __init__(self, n=8, cut=4.0):
        super().__init__()
        self.freq = nn.Parameter(torch.arange(1, n + 1) * math.pi)
        self.cut = cut

    def forward(self, d: Tensor) -> Tensor:
        x = d.unsqueeze(-1) / self.cut
        return math.sqrt(2.0 / self.cut) * torch.sin(self.freq * x) / (x * self.cut)


class PolynomialCutoff(nn.Module):
    """A polynomial that falls to zero at the cutoff."""

    p: Final[int]

    def __init__(self, cut=4.0, p=6):
        super().__init__()
        self.cut = cut
        self.p = p

    def forward(self, d: Tensor) -> Tensor:
        x = d / self.cut
        p = self.p
        out = (
            1.0
            - (p + 1.0) * (p + 2.0) / 2.0 * torch.pow(x, p)
            + p * (p + 2.0) * torch.pow(x, p + 1)
            - p * (p + 1.0) / 2 * torch.pow(x, p + 2)
        )
        return out * (x < 1.0)
