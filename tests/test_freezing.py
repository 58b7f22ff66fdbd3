"""freeze as the public API has it: what it keeps, folds and refuses."""

from __future__ import annotations

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
