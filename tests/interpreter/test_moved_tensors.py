"""Tensors of modules that Python gives other memory or another shape: programs see it."""

from __future__ import annotations

import io

import pytest

import scriptlang
from scriptlang import Tensor, nn

ENGINES = ("python", "native")


class First(nn.Module):
    """The first element of a product with its weight, which it has under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(scriptlang.tensor([[5.0, 2.0], [3.0, 4.0]]))
        self.tied = self.w

    def forward(self, x: Tensor) -> float:
        return float((x @ self.w)[0, 0] + 100 * (x @ self.tied)[0, 0])


def ones(w):
    w.data = scriptlang.ones(2, 2)


def turned_data(w):
    w.data = w.data.t()


def turned(w):
    w.t_()


def put(w):
    w.set_(scriptlang.ones(2, 2))


def grown(w):
    w.resize_(3, 2).resize_(2, 2)


CASES = [(ones, 2), (turned_data, 7), (turned, 7), (put, 2), (grown, 8)]


@pytest.mark.parametrize("change, wanted", CASES)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_loaded", [False, True])
def test_parameters(change, wanted, engine, is_loaded):
    module = scriptlang.script(First(), engine=engine)
    if is_loaded:
        file = io.BytesIO()
        module.save(file)
        file.seek(0)
        module = scriptlang.load(file, engine=engine)
    x = scriptlang.tensor([[1.0, 1.0], [0.0, 0.0]])
    assert module(x) == 808
    with scriptlang.no_grad():
        for _ in range(2):
            change(module.w)
            assert module(x) == 101 * wanted
            if change in (turned, turned_data):
                change(module.w)
    assert module.w is module.w and module.w is module.tied


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_in_lists(engine):
    scriptlang.manual_seed(0)
    plain = nn.LSTM(2, 3)
    module = scriptlang.script(plain, engine=engine)
    x = scriptlang.ones(4, 1, 2)
    module(x)
    for parameter in module.parameters():
        parameter.data = scriptlang.full_like(parameter.data, 0.1)
    other = nn.LSTM(2, 3)
    with scriptlang.no_grad():
        for parameter in other.parameters():
            parameter.fill_(0.1)
    assert scriptlang.allclose(module(x)[0], other(x)[0])


class Kept(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", scriptlang.zeros(1))

    def forward(self) -> Tensor:
        return self.kept * 1


@pytest.mark.parametrize("engine", ENGINES)
def test_results_that_are_written_to_buffers(engine):
    module = scriptlang.script(Kept(), engine=engine)
    assert module().tolist() == [0]
    x = scriptlang.arange(6.0).reshape(2, 3).t()
    scriptlang.mul(x, 2.0, out=module.kept)
    assert module().tolist() == (x * 2).tolist() == module.kept.tolist()


def test_memory_of_old_parameters_is_given_back():
    module = scriptlang.script(First(), engine="native")
    x = scriptlang.ones(2, 2)
    for _ in range(200):
        module(x)
        module.w.data = scriptlang.ones(2, 2)
    kept = scriptlang.ones(2, 2)
    module.w.data = kept
    module(x)
    module.w.data = scriptlang.zeros(2, 2)
    assert module(x) == 0 and kept.sum() == 4
