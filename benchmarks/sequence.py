"""Networks over sequences with their published shapes: transformers and recurrent ones."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Self-attention with one projection for queries, keys and values."""

    def __init__(self, width: int, heads: int, causal: bool = False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (
            self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, n, c))


class EncoderLayer(nn.Module):
    """Attention and a feed-forward network, normalised before (as in ViT) or after (as in BERT)."""

    def __init__(self, width: int, heads: int, before: bool):
        super().__init__()
        self.attention = Attention(width, heads)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
        self.before = before

    def feed(self, x):
        return self.outer(F.gelu(self.inner(x)))

    def forward(self, x):
        if self.before:
            x = x + self.attention(self.norm1(x))
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed(x))


class ViT(nn.Module):
    """Tiny: width 192, 12 layers, 3 heads, patches of 16x16."""

    def __init__(self, width: int = 192, depth: int = 12, heads: int = 3):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        self.first = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.places = nn.Parameter(torch.randn(1, 197, width) * 0.02)
        self.layers = nn.Sequential(*(EncoderLayer(width, heads, True) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.size(0), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.layers(x))[:, 0])


class Bert(nn.Module):
    """Base: width 768, 12 layers, 12 heads; the encoder without a task."""

    def __init__(self, width: int = 768, depth: int = 12, words: int = 30522):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(512, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.Sequential(*(EncoderLayer(width, 12, False) for _ in range(depth)))

    def forward(self, tokens):
        places = torch.arange(tokens.size(1), device=tokens.device)
        return self.layers(self.norm(self.words(tokens) + self.places(places)))


class DecoderLayer(nn.Module):
    """GPT-2's: causal attention over what came before, then a feed-forward network."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache):
        b, n, c = x.shape
        q, k, v = (
            self.qkv(self.norm1(x))
            .view(b, n, 3, self.heads, c // self.heads)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=n > 1)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, c))
        x = x + self.outer(F.gelu(self.inner(self.norm2(x)), approximate="tanh"))
        return x, torch.stack([k, v])


class Gpt2(nn.Module):
    """Small: width 768, 12 layers, 12 heads; logits of the last token and the new cache.

    `cache` is (12, 2, batch, 12, past, 64); `past` is 0 for a prompt.
    """

    def __init__(self, width: int = 768, depth: int = 12, words: int = 50257):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(1024, width)
        self.layers = nn.ModuleList(DecoderLayer(width, 12) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens, cache):
        past = cache.size(4)
        x = self.words(tokens) + self.places(torch.arange(past, past + tokens.size(1)))
        caches: list[torch.Tensor] = []
        for i, layer in enumerate(self.layers):
            x, new = layer(x, cache[i])
            caches.append(new)
        return F.linear(self.norm(x[:, -1]), self.words.weight), torch.stack(caches)


class Recurrent(nn.Module):
    """Two layers of LSTM or GRU over 100 steps of 128 features."""

    def __init__(self, kind: type[nn.RNNBase]):
        super().__init__()
        self.rnn = kind(128, 256, 2, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]


def lstm() -> nn.Module:
    return Recurrent(nn.LSTM)


def gru() -> nn.Module:
    return Recurrent(nn.GRU)
