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


class RmsNorm(nn.Module):
    """Over rows, in the operators that language models write it with."""

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)


class SquaredError(nn.Module):
    """A loss: one number, of a difference that nobody sees."""

    def forward(self, x):
        return ((x - 0.5) ** 2).mean()


class ScaledSoftmax(nn.Module):
    """The scores of attention: scaled, masked, softmax."""

    def forward(self, x):
        return torch.softmax(x * 0.125 + x[:1], -1)


class Maximum(nn.Module):
    def forward(self, x):
        return torch.amax(x, -1)


class Exp(nn.Module):
    def forward(self, x):
        return torch.exp(x)


class Tanh(nn.Module):
    def forward(self, x):
        return torch.tanh(x)


class Columns(nn.Module):
    """Sums and extremes over the first dimension."""

    def forward(self, x):
        return x.sum(0) + torch.amax(x, 0)


class Places(nn.Module):
    """Where the greatest of each row is."""

    def forward(self, x):
        return torch.argmax(x, -1)


class Codes(nn.Module):
    """Numbers to codes of eight bits, as integers."""

    def forward(self, x):
        return torch.clamp(torch.round(x * 32.0), -128.0, 127.0).to(torch.int64)


class Between(nn.Module):
    """Comparisons, a conjunction, a choice."""

    def forward(self, x):
        return torch.where((x > -1.0) & (x < 1.0), x, x * 0.5)


class Power(nn.Module):
    def forward(self, x):
        return torch.pow(torch.abs(x), 2.2)


def group_norm() -> nn.Module:
    return nn.GroupNorm(8, 64)


def batch_norm() -> nn.Module:
    """With the statistics of training."""
    return nn.BatchNorm2d(64)


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
    return nn.Sequential(
        nn.Linear(8, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 32),
        nn.Tanh(),
        nn.Linear(32, 8),
    )


def linear(inputs: int, outputs: int) -> nn.Module:
    return nn.Linear(inputs, outputs)
