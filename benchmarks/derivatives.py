"""Potentials whose forces are asked for inside, and losses of which the gradients are taken."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Radial(nn.Module):
    """A network of the distances of all pairs."""

    def __init__(self, centers: int = 16, width: int = 32):
        super().__init__()
        self.register_buffer("centers", torch.linspace(0.5, 3.0, centers))
        self.net = nn.Sequential(nn.Linear(centers, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        positions = positions.detach().requires_grad_(True)
        pairs = torch.triu_indices(positions.size(0), positions.size(0), 1)
        d = (positions[pairs[0]] - positions[pairs[1]]).norm(2.0, 1)
        shape = torch.exp(-((d.unsqueeze(1) - self.centers) ** 2))
        switch = 0.5 * (torch.cos(0.8 * d.clamp(max=3.9)) + 1)
        energy = (self.net(shape).squeeze(1) * switch).sum()
        g = torch.autograd.grad([energy], [positions])[0]
        assert g is not None
        return energy.detach(), -g


class Messages(nn.Module):
    """Rounds of messages along edges."""

    def __init__(self, width: int = 32, rounds: int = 3):
        super().__init__()
        self.embed = nn.Embedding(10, width)
        self.rounds = nn.ModuleList([nn.Linear(2 * width + 1, width) for _ in range(rounds)])
        self.read = nn.Linear(width, 1)

    def forward(self, positions: Tensor, kinds: Tensor, source: Tensor, target: Tensor):
        positions = positions.detach().requires_grad_(True)
        h = self.embed(kinds)
        d = (positions[source] - positions[target]).pow(2).sum(1, keepdim=True).add(0.01).sqrt()
        for layer in self.rounds:
            m = F.silu(layer(torch.cat([h[source], h[target], d], 1)))
            h = h + torch.zeros_like(h).index_add(0, target, m * torch.exp(-d))
        energy = self.read(h).sum()
        g = torch.autograd.grad([energy], [positions])[0]
        assert g is not None
        return energy.detach(), -g


class Ensemble(nn.Module):
    """The mean of networks, as ANI has it."""

    def __init__(self, members: int = 4, centers: int = 16):
        super().__init__()
        self.register_buffer("centers", torch.linspace(0.5, 4.0, centers))
        self.nets = nn.ModuleList(
            [
                nn.Sequential(
                    nn.Linear(centers, 32), nn.CELU(0.1), nn.Linear(32, 16), nn.CELU(0.1),
                    nn.Linear(16, 1),
                )
                for _ in range(members)
            ]
        )  # fmt: skip

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        positions = positions.detach().requires_grad_(True)
        apart = positions.unsqueeze(0) - positions.unsqueeze(1)
        d = (apart.square().sum(-1) + torch.eye(positions.size(0))).sqrt()
        features = torch.exp(-4.0 * (d.unsqueeze(-1) - self.centers).square()).sum(1)
        energies = []
        for net in self.nets:
            energies.append(net(features).sum())
        energy = torch.stack(energies).mean()
        g = torch.autograd.grad([energy], [positions])[0]
        assert g is not None
        return energy.detach(), -g


class Tensorial(nn.Module):
    """Products of vectors, contracted by einsum."""

    def forward(self, r: Tensor) -> tuple[Tensor, Tensor]:
        r = r.detach().requires_grad_(True)
        d = r.unsqueeze(0) - r.unsqueeze(1)
        n = (d * d).sum(-1) + torch.eye(r.size(0), dtype=r.dtype)
        unit = d / n.sqrt().unsqueeze(-1)
        second = torch.einsum("ijk,ijl->ikl", unit, unit)
        trace = torch.diagonal(second, 0, 1, 2).sum(-1)
        energy = (second * second).sum() + trace.sin().sum()
        g = torch.autograd.grad([energy], [r])[0]
        assert g is not None
        return energy.detach(), -g


class Classifier(nn.Module):
    """The loss of a network of layers with relu or gelu between them."""

    def __init__(self, sizes: tuple[int, ...] = (784, 512, 256, 10), smooth: bool = False):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
        self.smooth = smooth

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            if i > 0:
                x = F.gelu(x) if self.smooth else F.relu(x)
            x = layer(x)
        return F.cross_entropy(x, labels)
