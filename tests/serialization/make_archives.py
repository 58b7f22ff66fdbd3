"""Makes tests/data/serialization/: archives that PyTorch saved, for what a file can hold.

Run where torch is installed: `python tests/serialization/make_archives.py`.  The code is our own.
"""

import enum
import pathlib
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy
import torch
from torch import Tensor, nn
from torch.ao import quantization
from torch.ao.nn.quantized import FloatFunctional

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "serialization"


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    at: Tensor
    index: int


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class AddOne(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Attributes(nn.Module):
    """One attribute of every type; some share storage."""

    layer: Layer
    point: Point
    maybe: Optional[int]
    pairs: List[Tuple[int, str]]
    anything: Any

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(6.0).reshape(2, 3))
        self.register_buffer("counts", torch.arange(3))
        self.ints, self.floats, self.flags = [1, 2], [1.5], [True]
        self.tensors, self.words = [torch.ones(2)], ["a", "b"]
        self.table = {"a": 1}
        self.by_number = {1: torch.zeros(1)}
        self.mixed = (1, "x", 2.5)
        self.maybe = None
        self.colour = Colour.GREEN
        self.point = Point(torch.ones(1), 3)
        self.layer = AddOne()
        self.device = torch.device("cpu")
        self.nested: Dict[str, List[int]] = {"k": [1, 2]}
        self.pairs = []
        self.number = 1 + 2j
        self.view = self.weight.detach()[0:1, 1:]
        self.big, self.negative = 2**40, -5
        self.same = {"z": self.counts}
        self.half = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
        self.complex_tensor = torch.tensor([1 + 2j])
        self.empty = torch.zeros(0, 3)
        self.scalar = torch.tensor(7, dtype=torch.int32)

    def forward(self, x: Tensor, colour: Colour = Colour.RED) -> Tuple[Tensor, int]:
        y = self.layer(x)
        if colour == Colour.GREEN:
            return self.point[0] + self.weight, self.table["a"]
        return x + y + self.nested["k"][0] + len(self.words), self.point[1]

    @torch.jit.export
    def words_of(self, n: int, scale: float = float("inf"), text: str = 'a"\n\\x') -> List[str]:
        out: List[str] = []
        for i in range(n):
            if i == 3:
                break
            out.append(f"{i} {text}")
        while n > 0:
            n -= 1
        assert n == 0, "no"
        return out


@torch.jit.script
class Counter:
    def __init__(self):
        self.total = 1

    @property
    def twice(self) -> int:
        return self.total * 2

    def add(self, n: int) -> int:
        self.total += n
        return self.total


def before(self, inputs: Tuple[Tensor]) -> Tuple[Tensor]:
    return (inputs[0] + 1,)


def after(self, inputs: Tuple[Tensor], output: Tensor):
    return output * 2


class Inner(nn.Module):
    """Hooks, a property, submodules with numbers for names."""

    def __init__(self):
        super().__init__()
        self.list = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self._calls = 3

    @property
    def calls(self) -> int:
        return self._calls

    @calls.setter
    def calls(self, n: int):
        self._calls = n

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.list:
            x = layer(x)
        self.calls = self.calls + 1
        return torch.relu(x)


class Language(nn.Module):
    """What the code of archives looks like: classes, `with`, mutation, literals, constants."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.inner.register_forward_pre_hook(before)
        self.inner.register_forward_hook(after)
        self.seq = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def forward(
        self,
        x: Tensor,
        pair: Tuple[int, int] = (1, 2),
        z: complex = 1 + 2j,
        small: float = 1e-5,
        n: int = -3,
    ):
        counter = Counter()
        text = "ünï€\t\x01 'q' \"dq\""
        y = torch.zeros([2], device=torch.device("cpu"), dtype=torch.float64)
        names: Dict[int, str] = {1: text}
        parts = [i * 2 for i in range(3)]
        with torch.no_grad():
            x = x + 1
        xs = [x, x]
        first, second = xs
        names[2] = "c"
        x += small
        x[0] = 2.0
        w = 1.0 if n > 2 else float("nan")
        values = (first, counter.add(n), parts, w, z, names, pair[0], counter.twice)
        return self.seq(self.inner(x)) + y.to(x), values


class Quantized(nn.Module):
    """Convolutions, a linear layer and what joins them, to be quantized."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.conv, self.relu = nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU()
        self.each = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.add, self.join = FloatFunctional(), FloatFunctional()
        self.pool, self.linear = nn.AdaptiveAvgPool2d(2), nn.Linear(32, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.conv(self.quant(x)))
        x = self.add.add(x, self.each(x))
        x = self.join.cat([x, x], 1)
        return self.dequant(self.linear(self.pool(x).flatten(1)))


class QuantizedTensors(nn.Module):
    """Tensors of every scheme, two of which share memory."""

    def __init__(self):
        super().__init__()
        self.register_buffer(
            "whole", torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 2, torch.quint8)
        )
        self.register_buffer("rows", self.whole[1:])
        self.register_buffer(
            "channels",
            torch.quantize_per_channel(
                torch.randn(3, 4), torch.rand(3) + 0.1, torch.tensor([0, 1, -2]), 0, torch.qint8
            ),
        )
        self.register_buffer(
            "wide", torch.quantize_per_tensor(torch.randn(3), 1e-3, 0, torch.qint32)
        )

    def forward(self, x: Tensor):
        made = torch.quantize_per_tensor(x, 0.05, 10, torch.quint8)
        return (
            self.whole.dequantize(),
            self.rows.int_repr(),
            self.channels.dequantize(),
            self.wide.int_repr(),
            made.int_repr(),
            made.transpose(0, 1).dequantize(),
            torch.sigmoid(made).int_repr(),
            made.q_scale(),
            made.q_zero_point(),
            self.channels.q_per_channel_scales(),
            made.mean([1]).dequantize(),
        )


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.linear = nn.LSTM(5, 6, 2, bidirectional=True), nn.Linear(12, 3)

    def forward(self, x: Tensor):
        y, state = self.lstm(x)
        return self.linear(y), state[0], state[1]


def quantized(x: Tensor) -> nn.Module:
    """The network, quantized for what it computes of x."""
    net = Quantized().eval()
    quantization.fuse_modules(net, [["conv", "relu"]], inplace=True)
    net.qconfig = quantization.get_default_qconfig("fbgemm")
    quantization.prepare(net, inplace=True)
    net(x)
    return quantization.convert(net, inplace=True)


def save_quantized() -> None:
    """Quantized archives with an input and what PyTorch computes of it."""
    torch.backends.quantized.engine = "fbgemm"
    image = torch.randn(2, 3, 12, 12)
    dynamic = quantization.quantize_dynamic(Recurrent(), {nn.LSTM, nn.Linear}, torch.qint8)
    for name, module, x in (
        ("quantized_net", quantized(image), image),
        ("quantized_tensors", QuantizedTensors(), torch.randn(3, 5)),
        ("quantized_lstm", dynamic, torch.randn(4, 2, 5)),
    ):
        save(module, name)
        with torch.no_grad():
            made = torch.jit.load(DATA / f"{name}.pt")(x)
        made = made if isinstance(made, tuple) else (made,)
        numpy.savez(
            DATA / f"{name}.npz",
            i0=x.numpy(),
            **{f"o{i}": numpy.asarray(v) for i, v in enumerate(made)},
        )


def save(module: nn.Module, name: str, **extra_files: str) -> None:
    torch.jit.save(torch.jit.script(module), DATA / f"{name}.pt", _extra_files=extra_files)


def main() -> None:
    torch.manual_seed(0)
    DATA.mkdir(exist_ok=True)
    save(Attributes(), "attributes", note="kept beside")
    save(Language(), "language")
    save_quantized()
    module = nn.Linear(2, 2)
    torch.save(module.state_dict(), DATA / "checkpoint.pth")
    torch.save(module.state_dict(), DATA / "legacy.pth", _use_new_zipfile_serialization=False)
    save_training()


def save_training() -> None:
    """A checkpoint of a training run: weights of every kind, and what lies beside them."""
    base = torch.arange(12.0).reshape(3, 4)
    contents = {
        "epoch": 3,
        "optimizer": {"lr": 0.1, "betas": (0.9, 0.999)},
        "name": "run",
        "done": False,
        "model": {"weight": nn.Parameter(base), "row": base[1], "transposed": base.t()},
        "half": torch.tensor([1.5]).half(),
        "bfloat16": torch.tensor([2.5]).bfloat16(),
        "complex": torch.tensor([1 + 2j]),
        "flags": torch.tensor([True, False]),
        "dtype": torch.float16,
        "size": torch.Size([3, 4]),
        "seen": {1, 2},
        "device": torch.device("cpu"),
        "empty": torch.zeros(0, 2),
        "none": None,
    }
    torch.save(contents, DATA / "training.pth")
    torch.save(contents, DATA / "training_legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(nn.Linear(2, 2), DATA / "pickled_module.pth")


if __name__ == "__main__":
    main()
