"""Layers of networks one by one, at the sizes that known networks have."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor, nn


def convolution(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Module:
    """A convolution that keeps the size of the picture (or divides it by the stride), and relu."""
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups)
    return nn.Sequential(conv, nn.ReLU())


def normalized_convolution(inputs: int, outputs: int, kernel: int) -> nn.Module:
    conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU())


def sequence_convolution(inputs: int, outputs: int, kernel: int) -> nn.Module:
    return nn.Conv1d(inputs, outputs, kernel, padding=kernel // 2)


def transposed_convolution(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Module:
    return nn.ConvTranspose2d(inputs, outputs, kernel, stride, padding=1)


def maximum_pool() -> nn.Module:
    return nn.MaxPool2d(3, 2, 1)


def average_pool() -> nn.Module:
    return nn.AdaptiveAvgPool2d(1)


class Upsample(nn.Module):
    """Twice the size, bilinear."""

    def forward(self, x):
        return nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear")


def linear_gelu(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, outputs), nn.GELU())


class Product(nn.Module):
    """Of two matrices, or two stacks of matrices, neither of which is known ahead."""

    def forward(self, x, y):
        return torch.matmul(x, y)


class Attention(nn.Module):
    """Scaled dot product attention, the second half of the keys hidden if causal."""

    def __init__(self, causal: bool = False):
        super().__init__()
        self.causal = causal

    def forward(self, q, k, v):
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)


class WrittenAttention(nn.Module):
    """Attention as older models write it."""

    def forward(self, q, k, v):
        scores = torch.matmul(q, k.transpose(-2, -1)) * 0.125
        return torch.matmul(torch.softmax(scores, -1), v)


class Recurrent(nn.Module):
    """An LSTM or a GRU from a state of zeros; what it gave at each step."""

    def __init__(self, cell: str, inputs: int, units: int):
        super().__init__()
        self.cell = (nn.LSTM if cell == "lstm" else nn.GRU)(inputs, units, batch_first=True)

    def forward(self, x):
        return self.cell(x)[0]


class Encoder(nn.Module):
    """One layer of BERT-base."""

    def __init__(self, width: int = 768, heads: int = 12):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = self.first(x + self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return self.second(x + self.narrow(nn.functional.gelu(self.wide(x))))


class Sigmoid(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x)


class Silu(nn.Module):
    def forward(self, x):
        return nn.functional.silu(x)


class Erf(nn.Module):
    def forward(self, x):
        return torch.erf(x)


class Relu(nn.Module):
    def forward(self, x):
        return torch.relu(x)


class Swiglu(nn.Module):
    """The gate of language models."""

    def forward(self, x, y):
        return nn.functional.silu(x) * y


class LogSoftmax(nn.Module):
    def forward(self, x):
        return torch.log_softmax(x, -1)


class Concatenate(nn.Module):
    """Four pieces of channels, as DenseNets join them."""

    def forward(self, x):
        return torch.cat([x, x * 0.5, x + 1.0, x], 1)


class Heads(nn.Module):
    """Rows of all heads to heads of rows, as a copy."""

    def forward(self, x):
        return x.permute(0, 2, 1, 3).contiguous()


class Rows(nn.Module):
    """Rows of a table, chosen by numbers."""

    def __init__(self, rows: int, width: int):
        super().__init__()
        self.table = nn.Embedding(rows, width)

    def forward(self, i):
        return self.table(i)


class Gather(nn.Module):
    def forward(self, x, i):
        return torch.gather(x, 1, i)


class Best(nn.Module):
    """The ten greatest numbers of each row and their places."""

    def forward(self, x):
        values, places = torch.topk(x, 10)
        return values, places


class Running(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, -1)


class Mean(nn.Module):
    """Over one dimension, or of everything."""

    def __init__(self, dim: Optional[int] = None):
        super().__init__()
        self.dim = dim

    def forward(self, x) -> Tensor:
        return x.mean() if self.dim is None else x.mean(self.dim)
