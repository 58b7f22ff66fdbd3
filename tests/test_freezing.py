"""freeze as the public API has it: what it keeps, folds and refuses."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import pytest
from scriptlang.interpreter import engine as engines

import scriptlang as torch
from scriptlang import nn

ENGINES = engines.available()


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.ones(2)
        self.b = torch.ones(2) * 2

    def forward(self, x):
        return x + self.a

    @torch.jit.export
    def twice(self, x):
        return x + self.b * 2


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.n = 3
        self.c = torch.ones(1)

    def forward(self, x):
        return self.inner(x) + self.n

    @torch.jit.export
    def other(self, x):
        return x + self.c


class Counting(Outer):
    def forward(self, x):
        self.inner.a += 1
        self.n = self.n + 1
        return self.inner(x) + self.n + self.c


class Forking(Outer):
    def plus(self, x):
        return x + self.c + self.n

    def forward(self, x):
        f, g = torch.jit.fork(self.plus, x), torch.jit.fork(self.inner, x)
        return torch.jit.wait(f) + torch.jit.wait(g)


class Itself(nn.Module):
    def forward(self, x):
        return self


def attributes(module) -> list[str]:
    return [a.name for a in module._type.attributes]


CASES = [
    (Outer, None, ["forward"], []),
    (Outer, ["other"], ["forward", "other"], []),
    (Outer, ["c", "n"], ["forward"], ["n", "c"]),
    (Outer, ["inner"], ["forward"], ["inner"]),
    (Outer, ["inner.b"], ["forward"], ["inner"]),
    (Outer, ["inner.twice"], ["forward"], ["inner"]),
    (Counting, None, ["forward"], ["n", "inner"]),
    (Forking, None, ["forward"], None),
]
"""Class, what is preserved, methods and attributes of the frozen module."""


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("cls, preserved, methods, kept", CASES)
def test_frozen_modules_do_the_same_with_less(cls, preserved, methods, kept, name):
    plain = torch.jit.script(cls().eval(), engine=name)
    frozen = torch.jit.freeze(torch.jit.script(cls().eval(), engine=name), preserved)
    x = torch.ones(2)
    for _ in range(2):
        assert frozen(x).tolist() == plain(x).tolist()
    assert list(frozen._type.methods) == methods
    if kept is not None:
        assert sorted(attributes(frozen)) == sorted(kept)


def test_parts_of_submodules_stay():
    module = torch.jit.script(Outer().eval())
    assert attributes(torch.freeze(module, ["inner.b"]).inner) == ["b"]
    inner = torch.freeze(module, ["inner.twice"]).inner
    assert inner.twice(torch.ones(2)).tolist() == [5.0, 5.0] and attributes(inner) == []
    assert attributes(torch.freeze(module, ["inner"]).inner) == attributes(module.inner)
    counting = torch.freeze(torch.jit.script(Counting().eval()))
    assert attributes(counting.inner) == ["a"]


def test_frozen_modules_are_stored():
    frozen = torch.freeze(torch.jit.script(Forking().eval()))
    import io

    file = io.BytesIO()
    frozen.save(file)
    x = torch.ones(2)
    assert torch.load(file.getvalue()).forward(x).tolist() == frozen(x).tolist()


@pytest.mark.parametrize("make", (torch.freeze, torch.optimize, torch.optimize_for_inference))
@pytest.mark.parametrize("name", ENGINES)
def test_layers_with_overloads_of_forward(make, name):
    layer = torch.jit.script(nn.LSTM(2, 3).eval(), engine=name)
    frozen = make(layer)
    x = torch.ones(4, 2)
    assert torch.allclose(frozen(x)[0], layer(x)[0])
    assert attributes(frozen) == []


def test_refused():
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        torch.freeze(Outer())
    with pytest.raises(RuntimeError, match="eval mode"):
        torch.freeze(torch.jit.script(Outer()))
    for name in ("nothing", "inner.nothing", "nothing.a"):
        with pytest.raises(RuntimeError, match=name):
            torch.freeze(torch.jit.script(Outer().eval()), [name])
    with pytest.raises(RuntimeError, match="return itself"):
        torch.freeze(torch.jit.script(Itself().eval()))


def test_optimize_for_inference_freezes_what_is_not():
    module = torch.jit.script(Outer())
    frozen = torch.optimize_for_inference(module, ["other"])
    assert list(frozen._type.methods) == ["forward", "other"] and attributes(frozen) == []
    assert torch.optimize_for_inference(frozen) is frozen


@torch.jit.script
class Kept:
    def __init__(self):
        self.items: List[int] = [1]


class Lists(nn.Module):
    items: List[int]
    nested: List[List[int]]
    pair: Tuple[List[int], int]
    maybe: Optional[List[int]]
    named: Dict[str, List[int]]
    kept: Kept
    many: List[Kept]

    def __init__(self):
        super().__init__()
        self.items = [1]
        self.nested = [[1], [2]]
        self.pair = ([1], 2)
        self.maybe = [1]
        self.named = {"a": [1]}
        self.kept = Kept()
        self.many = [Kept()]
        self.tensors = [torch.ones(1)]
        self.linked = [0]

    def forward(self, k: int) -> List[int]:
        self.items.append(k)
        self.nested[1].append(k)
        self.pair[0][0] += k
        maybe = self.maybe
        if maybe is not None:
            maybe.append(k)
        self.kept.items.append(k)
        self.tensors.append(torch.ones(1) * k)
        total = [int(t.item()) for t in self.tensors]
        size = 0 if maybe is None else len(maybe)
        return self.items + self.nested[1] + [self.pair[0][0], size] + self.kept.items + total


class Linked(Lists):
    """Lists that are reached in two ways, of which one is followed."""

    def forward(self, k: int) -> List[int]:
        self.named["a"].append(k)
        self.many[0].items.append(k)
        return [len(self.items), len(self.kept.items), len(self.linked)]

    @torch.jit.export
    def link(self) -> None:
        self.named["a"] = self.items
        self.many[0] = self.kept
        self.linked = self.items


@pytest.mark.parametrize("make", (torch.freeze, torch.optimize))
@pytest.mark.parametrize("name", ENGINES)
def test_lists_that_a_method_changes_stay(make, name):
    """The native engine makes new lists of those of an object at each read."""
    module, plain = (torch.jit.script(Lists().eval(), engine=name) for _ in range(2))
    assert module(5) == plain(5)  # from here on, the engine has the lists
    frozen = make(module)
    for k in (2, 3):
        assert frozen(k) == plain(k)


@pytest.mark.parametrize("make", (torch.freeze, torch.optimize))
@pytest.mark.parametrize("name", ENGINES)
def test_lists_that_are_reached_in_two_ways_stay(make, name):
    module = torch.jit.script(Linked().eval(), engine=name)
    module.link()
    assert module(1) == [2, 2, 2]
    frozen = make(module)
    assert [frozen(2), frozen(2)] == [[3, 3, 3], [4, 4, 4]]
