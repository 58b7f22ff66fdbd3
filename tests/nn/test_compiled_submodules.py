"""ScriptModules as submodules of modules, and tensors that two modules share."""

from __future__ import annotations

import io

import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang import nn

ENGINES = engines.available()
X = scriptlang.ones(2, 3)


class Around(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) * 2


def compiled(engine):
    return scriptlang.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_it_is_listed_as_other_submodules_are(engine):
    inner = compiled(engine)
    outer = Around(inner)
    assert [n for n, _ in outer.named_parameters()] == ["inner.0.weight", "inner.0.bias"]
    assert list(outer.state_dict()) == ["inner.0.weight", "inner.0.bias"]
    assert [n for n, _ in outer.named_modules()] == ["", "inner", "inner.0", "inner.1"]
    assert not outer.eval().inner.training
    assert (outer(X) == inner(X) * 2).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_containers_take_it(engine):
    inner = compiled(engine)
    assert (nn.Sequential(inner, inner)(X) == inner(inner(X))).all()
    assert nn.ModuleList([inner])[0] is inner and nn.ModuleDict({"a": inner})["a"] is inner


@pytest.mark.parametrize("engine", ENGINES)
def test_its_state_is_loaded(engine):
    outer, other = Around(compiled(engine)), Around(compiled(engine))
    found = outer.load_state_dict(other.state_dict())
    assert found == ([], []) and (outer(X) == other(X)).all()
    found = outer.load_state_dict({"inner.0.weight": scriptlang.ones(3, 3)}, strict=False)
    assert found.missing_keys == ["inner.0.bias"]
    with pytest.raises(RuntimeError, match="Missing key"):
        outer.load_state_dict({})


@pytest.mark.parametrize("engine", ENGINES)
def test_it_gets_gradients(engine):
    outer = Around(compiled(engine))
    parameters = list(outer.parameters())
    outer(X).sum().backward()
    assert all(p.grad is not None for p in parameters)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_module_around_it_is_compiled_and_traced(engine):
    outer = Around(compiled(engine))
    for made in (scriptlang.script(outer, engine=engine), scriptlang.trace(outer, X)):
        stored = io.BytesIO()
        made.save(stored)
        stored.seek(0)
        assert (scriptlang.load(stored, engine=engine)(X) == outer(X)).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_shared_parameter_is_listed_once(engine):
    layer = nn.Linear(3, 3)
    module = scriptlang.script(nn.Sequential(layer, layer), engine=engine)
    assert [n for n, _ in module.named_parameters()] == ["0.weight", "0.bias"]
    assert list(module.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
