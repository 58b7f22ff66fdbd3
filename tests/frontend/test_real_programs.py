"""Constructs that were found in layers and models of published libraries."""

from __future__ import annotations

import enum
import io
from typing import List

import pytest
from scriptlang.interpreter import engine

import scriptlang
from scriptlang import Tensor, nn
from tests.frontend import real_overloads

ENGINES = [name for name in ("python", "native") if name in engine.available()]


def on_all_ways(made, *args):
    """Results on each engine, scripted and out of an archive; all are alike."""
    results = []
    for name in ENGINES:
        results.append(scriptlang.script(made, engine=name)(*args))
        stored = io.BytesIO()
        scriptlang.save(scriptlang.script(made), stored)
        stored.seek(0)
        results.append(scriptlang.load(stored, engine=name)(*args))
    assert all(repr(r) == repr(results[0]) for r in results)
    return results[0]


class Side(nn.Module):
    """Modules of several lists side by side, as MONAI and torch_geometric walk them."""

    def __init__(self):
        super().__init__()
        self.a = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.ReLU()])
        self.b = nn.ModuleList([nn.Tanh(), nn.ReLU(), nn.Sigmoid()])

    def forward(self, x: Tensor) -> List[Tensor]:
        found: List[Tensor] = []
        for i, (a, b) in enumerate(zip(self.a, self.b)):
            found.append(a(x) + i * b(x))
        for (i, a), (j, b) in zip(enumerate(self.a), enumerate(self.b, 2)):
            found.append(a(x) * i + b(x) * j)
        for i, (j, (a, n)) in enumerate(enumerate(zip(self.a, (1, 2, 3)), 4)):
            found.append(a(x) * i + n * j)
        return found


def test_nested_sequences_of_modules():
    x = scriptlang.tensor([1.0, -2.0])
    m = Side()
    expected = []
    for i, (a, b) in enumerate(zip(m.a, m.b)):
        expected.append(a(x) + i * b(x))
    for (i, a), (j, b) in zip(enumerate(m.a), enumerate(m.b, 2)):
        expected.append(a(x) * i + b(x) * j)
    for i, (j, (a, n)) in enumerate(enumerate(zip(m.a, (1, 2, 3)), 4)):
        expected.append(a(x) * i + n * j)
    assert repr(on_all_ways(m, x)) == repr(expected)


def test_a_default_of_the_implementation_that_an_overload_cannot_take():
    x = scriptlang.ones(1)
    plain, (left, right) = on_all_ways(real_overloads.calls, x)
    assert (plain.item(), left.item(), right.item()) == (2, 3, 6)


class Kind(str, enum.Enum):
    FIRST = "first"
    SECOND = "second"


class Number(enum.IntEnum):
    ONE = 1


class OfKind(nn.Module):
    """Members of StrEnum and IntEnum are str and int where an object holds them."""

    def __init__(self):
        super().__init__()
        self.kind = Kind.FIRST
        self.kinds = [Kind.FIRST, Kind.SECOND]
        self.number = Number.ONE

    def forward(self, x: Tensor):
        return self.kind == "first", self.kinds, x + self.number, self.kind + "!"


def test_members_of_mixed_enums_are_what_they_are_made_of():
    is_first, kinds, three, text = on_all_ways(OfKind(), scriptlang.full((1,), 2))
    assert (is_first, kinds, three.item(), text) == (True, ["first", "second"], 3, "first!")


def test_a_context_is_left_to_python():
    import scriptlang as torch

    seen = []

    def f(x: Tensor):
        a: int = 4
        b: int = 5
        c: int = 0
        d: List[int] = []
        with torch.jit._IgnoreContextManager(
            a="inp:int", b="inp:int", c="out:int", d="out:List[int]"
        ):
            d = [2 for i in range(a) if i > 2]
            seen.append(a)
            c = d[0] + a + b
        return x + c, d

    total, parts = scriptlang.script(f, engine="python")(scriptlang.zeros(1))
    assert (total.item(), parts, seen) == (11, [2], [4])
    with pytest.raises(Exception, match="Python"):
        scriptlang.save(scriptlang.script(f), io.BytesIO())


def one_more(x: Tensor) -> Tensor:
    return x + 1


def uses_one_that_may_lack(x: Tensor) -> Tensor:
    return one_more(x) if one_more is not None else x


def test_a_function_is_not_none():
    assert on_all_ways(uses_one_that_may_lack, scriptlang.ones(1)).item() == 2


def saves(x: Tensor, do: bool) -> Tensor:
    if do:
        scriptlang.ops.aten.save(x + 1, "there")
    return x


@pytest.mark.parametrize("name", ["python", "auto"])
def test_a_program_saves_only_where_the_host_lets_it(name):
    program = scriptlang.script(saves, engine=name)
    assert program(scriptlang.ones(1), False).item() == 1
    with pytest.raises(RuntimeError, match="torch.save in a program is refused"):
        program(scriptlang.ones(1), True)
    seen = []
    scriptlang.on_save(lambda value, path: seen.append((value.item(), path)))
    try:
        assert program(scriptlang.ones(1), True).item() == 1
    finally:
        scriptlang.on_save(None)
    assert seen == [(2, "there")]
    with pytest.raises(RuntimeError, match="refused"):
        program(scriptlang.ones(1), True)


class Unfit:
    """No class of the language: its methods are never used."""

    def __init__(self, k: int):
        self.k = k

    def read(self, path):
        with open(path) as file:
            return file.read()


class HoldsUnfit(nn.Module):
    def __init__(self):
        super().__init__()
        self.unfit = Unfit(3)

    def forward(self, x: Tensor) -> Tensor:
        return x + 1


def test_a_class_that_is_not_used_is_not_compiled():
    assert on_all_ways(HoldsUnfit(), scriptlang.ones(1)).item() == 2


@pytest.mark.parametrize("name", ENGINES)
def test_asserts_on_tensors_called_from_python(name):
    scriptlang.ops.aten._assert_async(scriptlang.ones(1))
    with pytest.raises(RuntimeError, match="zero"):
        scriptlang.ops.aten._assert_async(scriptlang.zeros(1))
    with pytest.raises(RuntimeError, match="mine"):
        scriptlang.ops.aten._assert_async(scriptlang.zeros(1), "mine")

    def kept(x: Tensor) -> Tensor:
        return scriptlang.ops.aten._functional_assert_async(x.sum() > 0, "positive", x)

    program = scriptlang.script(kept, engine=name)
    assert program(scriptlang.ones(1)).item() == 1
    with pytest.raises(RuntimeError, match="positive"):
        program(scriptlang.zeros(1))
