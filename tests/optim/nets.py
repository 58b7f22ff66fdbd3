"""Five nets as users write them, in PyTorch and here: the same text for either package."""

from __future__ import annotations

import math

import numpy as np

from scriptlang import Tensor


def mlp(torch):
    nn = torch.nn

    first = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.1))
    return nn.Sequential(first, nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 4))


def resnet(torch):
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
        """Eight blocks, as ResNet-18, with few channels."""

        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU()
            )
            blocks = []
            before = 8
            for after, stride in ((8, 1), (12, 2), (16, 2), (24, 2)):
                blocks += [Block(before, after, stride), Block(after, after, 1)]
                before = after
            self.blocks = nn.Sequential(*blocks)
            self.fc = nn.Linear(before, 4)

        def forward(self, x):
            return self.fc(self.blocks(self.stem(x)).mean([2, 3]))

    return ResNet()


def lstm(torch):
    nn = torch.nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(20, 12)
            self.lstm = nn.LSTM(12, 16, 2, batch_first=True, dropout=0.1)
            self.fc = nn.Linear(16, 4)

        def forward(self, x):
            y, _ = self.lstm(self.embed(x))
            return self.fc(y[:, -1])

    return Tagger()


def gpt(torch):
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
            self.tokens, self.places = nn.Embedding(20, 24), nn.Embedding(10, 24)
            self.blocks = nn.Sequential(Block(24, 2), Block(24, 2))
            self.ln = nn.LayerNorm(24)
            self.head = nn.Linear(24, 20, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, x):
            y = self.tokens(x) + self.places(torch.arange(x.size(1)))
            return self.head(self.ln(self.blocks(y))).flatten(0, 1)

    return GPT()


def vae(torch):
    nn = torch.nn

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(16, 32)
            self.mean, self.log_variance = nn.Linear(32, 4), nn.Linear(32, 4)
            self.decoder = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 16))

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


NETS = {
    "mlp": (mlp, cross_entropy),
    "resnet": (resnet, cross_entropy),
    "lstm": (lstm, cross_entropy),
    "gpt": (gpt, token_loss),
    "vae": (vae, coding_loss),
}
"""Name -> the net and its loss, by package."""


def batches(name: str, count: int, size: int = 8) -> list[tuple[np.ndarray, np.ndarray]]:
    """Inputs and targets of steps, of which something can be learned."""
    rng = np.random.default_rng(7)
    made = []
    for _ in range(count):
        if name == "resnet":
            y = rng.integers(0, 4, size)
            x = rng.standard_normal((size, 3, 16, 16)) * 0.5 + np.sin(y)[:, None, None, None]
        elif name == "lstm":
            x = rng.integers(0, 20, (size, 9))
            y = x[:, -1] % 4
        elif name == "gpt":
            x = (rng.integers(0, 20, (size, 1)) + 3 * np.arange(11)) % 20
            x, y = x[:, :-1], x[:, 1:]
        else:
            y = rng.integers(0, 4, size)
            x = rng.standard_normal((size, 16)) * 0.3 + np.cos(np.arange(16) * (y[:, None] + 1))
            y = x if name == "vae" else y
        x, y = (np.asarray(v, "float32" if v.dtype.kind == "f" else "int64") for v in (x, y))
        made.append((np.ascontiguousarray(x), np.ascontiguousarray(y)))
    return made


def is_close(ours: list[float], theirs: list[float]) -> bool:
    """Whether one loss curve is the other: to 1e-4 early, and with the same end."""
    early = np.allclose(ours[:10], theirs[:10], 1e-4, 1e-6)
    ends = np.mean(ours[-20:]), np.mean(theirs[-20:])
    return early and math.isclose(*ends, rel_tol=0.05, abs_tol=0.01)
