#!/usr/bin/env python3
"""Writes client.pt, client_plain.pt, custom.pt and custom.npz beside itself, for ../consumer.

  python cpp_loader/tests/data/make_client.py

The first two hold the same module; the plain one has no bytecode. The methods give back what they
get, kind by kind, make what a host cannot, and fail in every way.
"""

from __future__ import annotations

import enum
import os
import pathlib
import zipfile
from typing import Any, NamedTuple

import numpy as np

import scriptlang
from scriptlang import nn

Tensor = scriptlang.Tensor


Deep = int
for _ in range(40):
    Deep = list[Deep]


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: int
    label: str


@scriptlang.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start
        self.name = "counter"

    def add(self, n: int) -> int:
        self.count += n
        return self.count


class Keeper(nn.Module):
    """Restores itself: its numbers are doubled when it is saved and halved when it is loaded."""

    def __init__(self):
        super().__init__()
        self.register_buffer("numbers", scriptlang.tensor([1.0, 2.0, 3.0]))
        self.training = True

    def forward(self, x: Tensor) -> Tensor:
        return x + self.numbers

    @scriptlang.jit.export
    def __getstate__(self):
        return (self.numbers * 2, self.training)

    @scriptlang.jit.export
    def __setstate__(self, state: tuple[Tensor, bool]):
        self.numbers = state[0] / 2
        self.training = state[1]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        self.keeper = Keeper()

    def forward(self, x: Tensor) -> Tensor:
        return self.keeper(self.inner(x))

    @scriptlang.jit.export
    def half(self, x: Tensor, by: float = 0.5) -> Tensor:
        return x * by


class Client(nn.Module):
    table: dict[str, int]
    steps: list[int]
    limit: float | None

    def __init__(self):
        super().__init__()
        self.block = Block()
        self.tied = self.block.inner[0].weight
        self.table = {"a": 1, "b": 2}
        self.steps = [1, 2, 3]
        self.limit = None
        self.favourite = Color.RED
        self.owned = Counter(10)
        self.register_buffer("weights", scriptlang.tensor([[1.0, 2.0], [3.0, 4.0]]))
        self.layer = nn.Linear(2, 1)
        self.name = "client"
        self.calls = 3

    def forward(self, x: Tensor, scale: float = 2.0):
        return x * scale + self.weights

    @scriptlang.jit.export
    def linear(self, x: Tensor) -> Tensor:
        return self.layer(x)

    @scriptlang.jit.export
    def blocks(self, x: Tensor) -> Tensor:
        return self.block(x) + self.tied.sum()

    @scriptlang.jit.export
    def state(self) -> tuple[bool, str, int, dict[str, int], list[int], float | None, Color, int]:
        return (
            self.training,
            self.name,
            self.calls,
            self.table,
            self.steps,
            self.limit,
            self.favourite,
            self.owned.count,
        )

    @scriptlang.jit.export
    def say(self, x: str) -> None:
        print("says", x)

    @scriptlang.jit.export
    def echo(self, x: Any):
        return x

    @scriptlang.jit.export
    def tensor(self, x: Tensor):
        return x

    @scriptlang.jit.export
    def integer(self, x: int) -> int:
        return x

    @scriptlang.jit.export
    def number(self, x: float) -> float:
        return x

    @scriptlang.jit.export
    def truth(self, x: bool) -> bool:
        return x

    @scriptlang.jit.export
    def imaginary(self, x: complex) -> complex:
        return x * 1j

    @scriptlang.jit.export
    def string(self, x: str) -> str:
        return x

    @scriptlang.jit.export
    def length(self, x: str) -> int:
        return len(x)

    @scriptlang.jit.export
    def place(self, x: scriptlang.device) -> tuple[scriptlang.device, bool]:
        return x, x == scriptlang.device("cpu")

    @scriptlang.jit.export
    def draw(self, n: int, g: scriptlang.Generator) -> tuple[Tensor, scriptlang.Generator]:
        return scriptlang.rand([n], generator=g), g

    @scriptlang.jit.export
    def ints(self, x: list[int]) -> list[int]:
        x.append(7)
        return x

    @scriptlang.jit.export
    def floats(self, x: list[float]) -> list[float]:
        return x

    @scriptlang.jit.export
    def bools(self, x: list[bool]) -> list[bool]:
        return x

    @scriptlang.jit.export
    def texts(self, x: list[str]) -> list[str]:
        return x

    @scriptlang.jit.export
    def tensors(self, x: list[Tensor]) -> list[Tensor]:
        return x

    @scriptlang.jit.export
    def by_text(self, x: dict[str, int]) -> dict[str, int]:
        x["new"] = 1
        return x

    @scriptlang.jit.export
    def by_int(self, x: dict[int, float]) -> dict[int, float]:
        return x

    @scriptlang.jit.export
    def by_float(self, x: dict[float, str]) -> dict[float, str]:
        return x

    @scriptlang.jit.export
    def by_tensor(self, x: dict[Tensor, int]) -> dict[Tensor, int]:
        return x

    @scriptlang.jit.export
    def pair(self, x: tuple[int, str | None]) -> tuple[str | None, int]:
        return x[1], x[0]

    @scriptlang.jit.export
    def point(self, x: Point) -> Point:
        return Point(x.x + 1, x.label + "!")

    @scriptlang.jit.export
    def counter(self, start: int) -> Counter:
        return Counter(start)

    @scriptlang.jit.export
    def count(self, c: Counter, n: int = 1) -> int:
        return c.add(n)

    @scriptlang.jit.export
    def color(self, blue: bool) -> Color:
        if blue:
            return Color.BLUE
        return Color.RED

    @scriptlang.jit.export
    def deep(self, x: Deep) -> int:
        return len(x)

    @scriptlang.jit.export
    def either(self, x: Deep | str) -> bool:
        return isinstance(x, str)

    @scriptlang.jit.export
    def is_blue(self, c: Color) -> bool:
        return c == Color.BLUE

    @scriptlang.jit.export
    def named(self, c: Color) -> tuple[str, str]:
        return c.name, f"{c}"

    @scriptlang.jit.export
    def anything(self, a: Any = None, b: Any = 3) -> tuple[Any, Any]:
        return a, b

    @scriptlang.jit.export
    def wanted(self, a: int | None) -> bool:
        return a is None

    @scriptlang.jit.export
    def maybe(self, x: int | None = None) -> int:
        return -1 if x is None else x

    @scriptlang.jit.export
    def defaults(
        self,
        a: int,
        b: int = 2,
        c: float = 0.5,
        d: str = "d",
        e: bool = True,
        f: Tensor | None = None,
        g: list[int] | None = None,
    ) -> str:
        return f"{a} {b} {c} {d} {e} {f is None} {g is None}"

    @scriptlang.jit.export
    def dtype(self, x: Tensor, t: int) -> tuple[int, Tensor]:
        return x.dtype, x.to(t)

    @scriptlang.jit.export
    def span(self, n: int) -> list[int]:
        return list(range(n))

    @scriptlang.jit.export
    def transposed(self, x: Tensor) -> Tensor:
        return x.t()

    @scriptlang.jit.export
    def fill(self, x: Tensor, v: float) -> Tensor:
        return x.fill_(v)

    @scriptlang.jit.export
    def later(self, x: Tensor):
        return scriptlang.jit.fork(self.transposed, x)

    @scriptlang.jit.export
    def fail(self, how: str) -> int:
        if how == "value":
            raise ValueError("a value")
        if how == "runtime":
            raise RuntimeError("a run")
        if how == "index":
            return [1, 2][5]
        if how == "key":
            return {"a": 1}["b"]
        if how == "zero":
            return 1 // len(how[4:])
        if how == "shape":
            return int((scriptlang.ones([2, 3]) @ scriptlang.ones([2, 3])).numel())
        if how == "dim":
            return scriptlang.ones([2]).size(5)
        if how == "deep":
            return self.nested(1000000000)
        if how == "long":
            n = 0
            while n >= 0:
                n = (n + 1) % 1000
            return n
        if how == "wide":
            return scriptlang.ones([1000000000]).numel()
        assert how == "", "an assertion"
        return 0

    @scriptlang.jit.export
    def nested(self, n: int) -> int:
        if n == 0:
            return 0
        return self.nested(n - 1) + 1


def write_plain(archive: pathlib.Path, out: pathlib.Path) -> None:
    """The archive without what only bytecode needs, as torch.jit.save writes one."""
    with zipfile.ZipFile(archive) as whole, zipfile.ZipFile(out, "w") as plain:
        for record in whole.infolist():
            name = record.filename.partition("/")[2]
            if name != "bytecode.pkl" and not name.startswith("scriptlang/"):
                plain.writestr(record, whole.read(record))


class Custom(nn.Module):
    """Calls operators that nobody has before a host registers them."""

    def forward(self, x: Tensor) -> Tensor:
        return scriptlang.mul(x, 3)

    @scriptlang.jit.export
    def both(self, x: Tensor, k: int) -> tuple[Tensor, Tensor]:
        return scriptlang.max(x, k)

    @scriptlang.jit.export
    def fails(self, x: Tensor) -> Tensor:
        return scriptlang.neg(x)


def write_custom(archive: pathlib.Path, out: pathlib.Path) -> None:
    """The archive with calls of operators of ours in place of some of PyTorch's."""
    calls = {
        "torch.mul(x, 3)": "ops.my.scale(x, 3)",
        "torch.max(x, k)": "ops.my.split(x, k)",
        "torch.neg(x)": "ops.my.fails(x)",
    }
    with zipfile.ZipFile(archive) as plain, zipfile.ZipFile(out, "w") as custom:
        for record in plain.infolist():
            text = plain.read(record)
            if record.filename.endswith(".py"):
                for ours, theirs in calls.items():
                    text = text.replace(ours.encode(), theirs.encode())
            if not record.filename.endswith(".debug_pkl"):
                custom.writestr(record.filename, text)


def main() -> None:
    out = pathlib.Path(__file__).with_name("client.pt")
    extra = {"labels.txt": "cat\0dog", "empty": ""}
    scriptlang.manual_seed(0)
    scriptlang.script(Client()).save(os.fspath(out), _extra_files=extra)
    plain = out.with_name("client_plain.pt")
    write_plain(out, plain)
    custom = out.with_name("custom.pt")
    scriptlang.script(Custom()).save(os.fspath(custom))
    write_plain(custom, custom.with_suffix(".plain"))
    write_custom(custom.with_suffix(".plain"), custom)
    custom.with_suffix(".plain").unlink()
    np.savez(custom.with_suffix(".npz"), x=np.array([1, 2], "float32"))
    for path in (out, plain, custom):
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
