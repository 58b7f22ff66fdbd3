"""Modules of PyTorch whose attributes are of every kind that archives keep."""

import enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: int
    y: Optional[float]


def kinds(torch):
    """(a module, its input): numbers, texts, containers of all sorts, shared memory."""
    Tensor = torch.Tensor

    class Kinds(torch.nn.Module):
        ints: List[int]
        floats: List[float]
        flags: List[bool]
        tensors: List[Tensor]
        texts: List[str]
        nested: List[List[int]]
        empty: List[str]
        table: Dict[str, Dict[int, Tuple[int, str]]]
        maybe: Optional[int]
        other: Optional[List[float]]
        pair: Tuple[int, Tensor]
        point: Point
        no: Tuple[()]
        many: Tuple[int, int, int, int, int]

        def __init__(self):
            super().__init__()
            memory = torch.arange(12.0)
            self.whole = torch.nn.Parameter(memory.view(3, 4))
            self.part = torch.nn.Parameter(self.whole.data[1:, ::2])
            self.register_buffer("halves", torch.ones(2, dtype=torch.float16))
            self.register_buffer("brain", torch.ones(2, dtype=torch.bfloat16))
            self.register_buffer("complexes", torch.ones(2, dtype=torch.complex64) * 1j)
            self.register_buffer("wide", torch.tensor([2**63], dtype=torch.uint64))
            self.register_buffer("none", None)
            self.a, self.b, self.c, self.d = 1, -300, 70000, 2**40
            self.e, self.f, self.g = 0.1, float("inf"), 1 - 2j
            self.text, self.zeros, self.long = "é", "a\0b", "x" * 300
            self.ints, self.floats, self.flags = [1, 2], [1.5], [True]
            self.tensors, self.texts, self.nested = [torch.ones(1)], ["a", "b"], [[1], []]
            self.empty, self.table = [], {"k": {1: (2, "v")}}
            self.maybe, self.other = None, [0.5]
            self.pair, self.many = (1, torch.zeros(1)), (1, 2, 3, 4, 5)
            self.device = torch.device("cpu")
            self.color = Color.BLUE
            self.point, self.no = Point(1, 0.5), ()

        def forward(self, x: Tensor) -> Tensor:
            return x + self.whole.sum() + self.part.sum()

        @torch.jit.export
        def views(self) -> Tuple[Tensor, Tensor]:
            return self.whole, self.part

        @torch.jit.export
        def everything(self) -> List[Any]:
            made: List[Any] = [
                self.a,
                self.b,
                self.c,
                self.d,
                self.e,
                self.f,
                self.g,
                self.text,
                self.zeros,
                self.long,
                self.ints,
                self.floats,
                self.flags,
                self.tensors,
                self.texts,
                self.nested,
                self.empty,
                self.table,
                self.maybe,
                self.other,
                self.pair,
                self.many,
                self.device,
                self.point.x,
                self.point.y,
                self.halves,
                self.brain,
                self.complexes,
                self.wide,
                self.none,
            ]
            if self.color == Color.BLUE:
                made.append("blue")
            return made

    return torch.jit.script(Kinds()), torch.ones(2)


def quantized(torch):
    """(a module, its input): packed weights, and a class with __getstate__."""
    Tensor = torch.Tensor

    class Keeper(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.numbers = torch.tensor([1.0, 2.0])
            self.training = False

        @torch.jit.export
        def __getstate__(self):
            return self.numbers * 2, self.training

        @torch.jit.export
        def __setstate__(self, state: Tuple[Tensor, bool]):
            self.numbers = state[0] / 2
            self.training = state[1]

        def forward(self, x: Tensor) -> Tensor:
            return x + self.numbers

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            linear = torch.nn.Sequential(torch.nn.Linear(4, 2))
            self.linear = torch.ao.quantization.quantize_dynamic(linear, {torch.nn.Linear})
            self.keeper = Keeper()
            self.register_buffer(
                "codes",
                torch.quantize_per_channel(
                    torch.ones(2, 2),
                    torch.tensor([0.5, 0.25]),
                    torch.tensor([0, 1]),
                    0,
                    torch.qint8,
                ),
            )

        def forward(self, x: Tensor) -> Tensor:
            return self.keeper(self.linear(x)) + self.codes.dequantize().sum()

    torch.manual_seed(0)
    return torch.jit.script(Model().eval()), torch.ones(3, 4)
