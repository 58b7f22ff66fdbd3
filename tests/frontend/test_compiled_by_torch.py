"""What torch.jit has compiled already: `script` and `trace` take it as it is."""

from __future__ import annotations

import io

import pytest

import scriptlang
from scriptlang.interpreter import engine

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.oracle

ENGINES = [name for name in ("python", "native") if name in engine.available()]


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, 3)
        self.register_buffer("scale", torch.ones(1))
        self.k = 3

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x) * self.scale + self.k

    @torch.jit.export
    def more(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.k


class Around(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + 1


def chosen(x: torch.Tensor) -> torch.Tensor:
    if bool(x.sum() > 0):
        return x + 1
    return x - 1


X = torch.linspace(-1, 2, 25).reshape(1, 1, 5, 5)


def loaded(module):
    stored = io.BytesIO()
    torch.jit.save(module, stored)
    stored.seek(0)
    return torch.jit.load(stored)


WAYS = {
    "scripted": lambda: torch.jit.script(Layer().eval()),
    "traced": lambda: torch.jit.trace(Layer().eval(), X),
    "frozen": lambda: torch.jit.freeze(torch.jit.script(Layer().eval())),
    "traced and frozen": lambda: torch.jit.freeze(torch.jit.trace(Layer().eval(), X)),
    "loaded": lambda: loaded(torch.jit.script(Layer().eval())),
    "optimized": lambda: torch.jit.optimize_for_inference(torch.jit.script(
        torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.ReLU()).eval())),
    "scripted function": lambda: torch.jit.script(chosen),
    "traced function": lambda: torch.jit.trace(lambda x: x * 2 + x.size(0), X),
}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_scripted_and_traced(way, name):
    theirs = WAYS[way]()
    x = scriptlang.from_numpy(X.numpy())
    programs = [scriptlang.script(theirs, engine=name)]
    with pytest.warns(UserWarning, match="tracing it is a no-op"):
        programs.append(scriptlang.trace(theirs, (x,), engine=name))
    if isinstance(theirs, torch.nn.Module):
        around = scriptlang.script(Around(theirs), engine=name)
        assert torch.allclose(torch.from_numpy((around(x) - 1).numpy()), theirs(X), atol=1e-5)
    for program in programs:
        assert torch.allclose(torch.from_numpy(program(x).numpy()), theirs(X), atol=1e-5)
        assert torch.allclose(torch.from_numpy(program(-x).numpy()), theirs(-X), atol=1e-5)


def test_its_exported_methods_are_there():
    assert scriptlang.script(WAYS["scripted"]()).more(scriptlang.ones(1)).item() == 4


@pytest.mark.parametrize("name", ENGINES)
def test_a_trace_keeps_it_as_a_call(name):
    traced = scriptlang.trace(Around(torch.jit.script(chosen)), (torch.ones(2),), engine=name)
    assert traced(scriptlang.ones(2)).tolist() == [3, 3]
    assert traced(scriptlang.full((2,), -1.0)).tolist() == [-1, -1]
