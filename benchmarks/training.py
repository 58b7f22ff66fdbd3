"""Five nets that are trained, as users write them: the same text for PyTorch and scriptlang.

`NETS` has two sizes of each: small ones for tests, and those that `python -m benchmarks training`
measures.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scriptlang import Tensor


def mlp(torch, numbers, hidden):
    nn = torch.nn
    first = nn.Sequential(nn.Linear(numbers, hidden), nn.ReLU(), nn.Dropout(0.1))
    return nn.Sequential(first, nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 4))


def resnet(torch, channels, side):
    nn = torch.nn

    class Block(nn.Module):
        """Two convolutions, and what they get added to what they give."""

        def __init__(self, before, after, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(after)
            self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(after)
            self.short = nn.Sequential()
            if stride != 1 or before != after:
                self.short = nn.Sequential(
                    nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
                )

        def forward(self, x):
            y = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(y)) + self.short(x))

    class ResNet(nn.Module):
        """Eight blocks, as ResNet-18 has them."""

        def __init__(self):
            super().__init__()
            before = channels[0]
            self.stem = nn.Sequential(
                nn.Conv2d(3, before, 3, 1, 1, bias=False), nn.BatchNorm2d(before), nn.ReLU()
            )
            blocks = []
            for after, stride in zip(channels, (1, 2, 2, 2)):
                blocks += [Block(before, after, stride), Block(after, after, 1)]
                before = after
            self.blocks = nn.Sequential(*blocks)
            self.fc = nn.Linear(before, 4)

        def forward(self, x):
            return self.fc(self.blocks(self.stem(x)).mean([2, 3]))

    return ResNet()


def lstm(torch, width, hidden, steps):
    nn = torch.nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(20, width)
            self.lstm = nn.LSTM(width, hidden, 2, batch_first=True, dropout=0.1)
            self.fc = nn.Linear(hidden, 4)

        def forward(self, x):
            y, _ = self.lstm(self.embed(x))
            return self.fc(y[:, -1])

    return Tagger()


def gpt(torch, width, heads, layers, steps):
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        heads: int

        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)

        def forward(self, x: Tensor):
            b, t, c = x.size()
            q, k, v = self.qkv(x).split(c, dim=2)
            q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).contiguous().view(b, t, c))

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention(width, heads)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
            )

        def forward(self, x):
            x = x + self.attention(self.ln1(x))
            return x + self.mlp(self.ln2(x))

    class GPT(nn.Module):
        """Its last matrix is that of the embeddings."""

        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(20, width), nn.Embedding(steps, width)
            self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
            self.ln = nn.LayerNorm(width)
            self.head = nn.Linear(width, 20, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, x):
            y = self.tokens(x) + self.places(torch.arange(x.size(1)))
            return self.head(self.ln(self.blocks(y))).flatten(0, 1)

    return GPT()


def vae(torch, numbers, hidden):
    nn = torch.nn

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(numbers, hidden)
            self.mean, self.log_variance = nn.Linear(hidden, 4), nn.Linear(hidden, 4)
            self.decoder = nn.Sequential(
                nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, numbers)
            )

        def forward(self, x):
            y = torch.tanh(self.encoder(x))
            mean, log_variance = self.mean(y), self.log_variance(y)
            code = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
            return self.decoder(code), mean, log_variance

    return VAE()


def cross_entropy(torch):
    return torch.nn.CrossEntropyLoss()


def token_loss(torch):
    F = torch.nn.functional

    def loss(made: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(made, target.flatten())

    return loss


def coding_loss(torch):
    F = torch.nn.functional

    def loss(made: tuple[Tensor, Tensor, Tensor], target: Tensor) -> Tensor:
        output, mean, log_variance = made
        divergence = -0.5 * (1.0 + log_variance - mean.pow(2) - log_variance.exp()).mean()
        return F.mse_loss(output, target) + 0.1 * divergence

    return loss


class Net(NamedTuple):
    """A net, its loss, and the sizes of both kinds: for tests, and for measurements."""

    title: str
    make: Any
    loss: Any
    small: dict[str, Any]
    large: dict[str, Any]
    batch: int

    def of(self, torch: Any, is_large: bool = False) -> tuple[Any, Any]:
        """The net and its loss, of a package."""
        return self.make(torch, **(self.large if is_large else self.small)), self.loss(torch)


NETS = {
    "mlp": Net(
        "an MLP of three layers, batch 64",
        mlp,
        cross_entropy,
        {"numbers": 16, "hidden": 64},
        {"numbers": 784, "hidden": 256},
        64,
    ),
    "resnet": Net(
        "a ResNet-18 of 16 to 128 channels, 32x32, batch 8",
        resnet,
        cross_entropy,
        {"channels": (8, 12, 16, 24), "side": 16},
        {"channels": (16, 32, 64, 128), "side": 32},
        8,
    ),
    "lstm": Net(
        "an LSTM of two layers of 128, 32 steps, batch 16",
        lstm,
        cross_entropy,
        {"width": 12, "hidden": 16, "steps": 9},
        {"width": 64, "hidden": 128, "steps": 32},
        16,
    ),
    "gpt": Net(
        "a GPT of four layers of 128, 64 tokens, batch 8",
        gpt,
        token_loss,
        {"width": 24, "heads": 2, "layers": 2, "steps": 10},
        {"width": 128, "heads": 4, "layers": 4, "steps": 64},
        8,
    ),
    "vae": Net(
        "a VAE of 784 numbers, batch 64",
        vae,
        coding_loss,
        {"numbers": 16, "hidden": 32},
        {"numbers": 784, "hidden": 256},
        64,
    ),
}


def batches(name: str, count: int, is_large: bool = False) -> list[tuple[np.ndarray, np.ndarray]]:
    """Inputs and targets of steps, of which something can be learned."""
    net = NETS[name]
    sizes, n = (net.large, net.batch) if is_large else (net.small, 8)
    rng = np.random.default_rng(7)
    made = []
    for _ in range(count):
        if name == "resnet":
            y = rng.integers(0, 4, n)
            x = rng.standard_normal((n, 3, sizes["side"], sizes["side"])) * 0.5
            x += np.sin(y)[:, None, None, None]
        elif name == "lstm":
            x = rng.integers(0, 20, (n, sizes["steps"]))
            y = x[:, -1] % 4
        elif name == "gpt":
            x = (rng.integers(0, 20, (n, 1)) + 3 * np.arange(sizes["steps"] + 1)) % 20
            x, y = x[:, :-1], x[:, 1:]
        else:
            y, width = rng.integers(0, 4, n), sizes["numbers"]
            x = rng.standard_normal((n, width)) * 0.3 + np.cos(np.arange(width) * (y[:, None] + 1))
            y = x if name == "vae" else y
        x, y = (np.asarray(v, "float32" if v.dtype.kind == "f" else "int64") for v in (x, y))
        made.append((np.ascontiguousarray(x), np.ascontiguousarray(y)))
    return made
