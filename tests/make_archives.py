"""Makes tests/data/: small archives that PyTorch saved, with inputs and PyTorch's outputs.

Run where torch is installed: `python tests/make_archives.py`.  The model code is our own; weights
are random under a fixed seed.  Each NAME.pt goes with NAME.npz: i0, i1, ... are the inputs of
forward, o0, o1, ... its outputs (tuples flattened).
"""

import pathlib
import sys
from typing import Dict, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.append(str(ROOT.parent))
DATA = ROOT / "data"


class Mlp(nn.Module):
    """Linear layers, dropout, layer norm, softmax."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(6, 12),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.LayerNorm(12),
            nn.Linear(12, 4),
            nn.GELU(),
            nn.Softmax(dim=-1),
        )

    def forward(self, x):
        return self.layers(x)


class Recurrent(nn.Module):
    """An LSTM over the batch-first input, a GRU after it."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 6, num_layers=2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(12, 4, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        z, _ = self.gru(y)
        return z, h, c


class Attention(nn.Module):
    """One transformer block as people write it: heads split by view and transpose, a mask."""

    def __init__(self, size: int = 8, heads: int = 2):
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(20, size)
        self.qkv = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)
        self.norm1 = nn.LayerNorm(size)
        self.norm2 = nn.LayerNorm(size)
        self.up = nn.Linear(size, 2 * size)
        self.down = nn.Linear(2 * size, size)

    def forward(self, tokens: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        x = self.embed(tokens)
        b, n, d = x.shape
        q, k, v = (
            self.qkv(self.norm1(x))
            .view(b, n, 3, self.heads, d // self.heads)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )
        score = torch.matmul(q, k.transpose(-2, -1)) / float(d // self.heads) ** 0.5
        if mask is not None:
            score = score.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        y = torch.matmul(F.softmax(score, dim=-1), v).transpose(1, 2).reshape(b, n, d)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Counter(nn.Module):
    """State kept in attributes, containers, strings, early raises, a default tensor, a loop."""

    counts: Dict[str, int]
    seen: List[Tensor]

    def __init__(self):
        super().__init__()
        self.counts = {"calls": 0}
        self.seen = []
        self.last = torch.jit.Attribute(None, Optional[Tensor])
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor, times: int = 2) -> Tuple[Tensor, Dict[str, int], str]:
        if x.dim() != 1:
            raise ValueError(f"Counter takes a vector, not {x.dim()} dimensions")
        self.counts["calls"] += 1
        for i in range(times):
            if i == 5:
                break
            self.total = self.total + x * (i + 1)
        last = self.last
        if last is not None:
            self.seen.append(last)
        self.last = x
        return self.total, self.counts, "call {} of {}".format(self.counts["calls"], "many")

    @torch.jit.export
    def reset(self) -> None:
        self.total = torch.zeros(3)
        self.counts = {"calls": 0}
        self.last = None
        self.seen.clear()

    @torch.jit.export
    def history(self) -> List[Tensor]:
        return self.seen


def flat(value) -> list:
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in flat(v)]
    return [value]


def keep(name: str, program, inputs: tuple) -> None:
    """Save the program, run it once, and store inputs and outputs."""
    program.save(str(DATA / f"{name}.pt"))
    with torch.no_grad():
        outputs = flat(torch.jit.load(str(DATA / f"{name}.pt"))(*inputs))
    arrays = {f"i{i}": x.numpy() for i, x in enumerate(inputs)}
    arrays.update({f"o{i}": y.numpy() for i, y in enumerate(outputs) if isinstance(y, Tensor)})
    np.savez_compressed(DATA / f"{name}.npz", **arrays)


def main() -> None:
    from benchmarks.vision import ResNet18

    DATA.mkdir(exist_ok=True)
    torch.manual_seed(0)
    cases = {
        "mlp": (Mlp(), (torch.randn(3, 6),)),
        "recurrent": (Recurrent(), (torch.randn(2, 7, 5),)),
        "attention": (Attention(), (torch.randint(0, 20, (2, 5)),)),
        "resnet": (ResNet18(classes=5, width=2), (torch.randn(1, 3, 32, 32),)),
    }
    for name, (model, inputs) in cases.items():
        model.eval()
        keep(f"{name}.script", torch.jit.script(model), inputs)
        keep(f"{name}.trace", torch.jit.trace(model, inputs), inputs)
    keep("counter.script", torch.jit.script(Counter()), (torch.tensor([1.0, 2.0, 3.0]),))


if __name__ == "__main__":
    main()
