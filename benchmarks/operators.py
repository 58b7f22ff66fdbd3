"""Small modules: products, chains of pointwise operators, normalisations, many tiny operators."""

from __future__ import annotations

import torch
from torch import nn


class Chain(nn.Module):
    """tanh(1.5 x + 0.25) sigmoid(x) + exp(-x^2)"""

    def forward(self, x):
        return torch.tanh(1.5 * x + 0.25) * torch.sigmoid(x) + torch.exp(-(x * x))


class Softmax(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)


class LayerNorm(nn.Module):
    """Over rows of 1000, or as many as there are."""

    def forward(self, x):
        return torch.nn.functional.layer_norm(x, [x.size(-1)])


class Gelu(nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x)


class TinyOperators(nn.Module):
    """Ten operators on eight numbers."""

    def forward(self, x, y):
        a = x + y
        b = a * x
        c = torch.relu(b - y)
        d = torch.max(c, x).neg()
        e = torch.cat([d, a], 1)
        f = e[:, 4:12]
        g = f.sum(1, keepdim=True)
        return torch.sigmoid(f * g)


class TinyLoop(nn.Module):
    """The ten operators, a hundred times inside the program: the engine without its callers."""

    def __init__(self):
        super().__init__()
        self.step = TinyOperators()

    def forward(self, x, y):
        for _ in range(100):
            x = self.step(x, y)
        return x


def mlp() -> nn.Module:
    """Layers of 8 to 64 units."""
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                         nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 8))


def linear(inputs: int, outputs: int) -> nn.Module:
    return nn.Linear(inputs, outputs)
