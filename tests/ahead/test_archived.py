"""Straight graphs in compiled archives: they run where they fit; other calls are recorded."""

from __future__ import annotations

import io
from typing import Dict, List, Optional, Tuple

import numpy as np
import pytest
from scriptlang.interpreter.engine import available
from scriptlang.interpreter.gradients import STRAIGHT

import scriptlang
from scriptlang import Tensor, nn, optim
from scriptlang.errors import ArchiveError
from scriptlang.programs.ahead import archived
from scriptlang.programs.shape_text import ShapeError

ENGINES = available()


def compiled(module, inputs, **options) -> bytes:
    plain, target = io.BytesIO(), io.BytesIO()
    module.save(plain)
    plain.seek(0)
    scriptlang.compile_archive(plain, target, inputs=inputs, **options)
    return target.getvalue()


def loaded(archive: bytes, engine: str):
    return scriptlang.load(io.BytesIO(archive), engine=engine)


def numbers(*size: int, seed: int = 0) -> Tensor:
    values = np.random.default_rng(seed).uniform(0.5, 3, size).astype(np.float32)
    return scriptlang.from_numpy(values)


def flat(value) -> list:
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in flat(part)]
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [value.detach().numpy() if isinstance(value, Tensor) else value]


def same(a, b) -> None:
    for x, y in zip(flat(a), flat(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)


def is_straight(module, *args) -> bool:
    """Whether a straight graph runs such a call."""
    straight = module._type.methods["forward"].attributes[STRAIGHT]
    return straight("python", [module._object_, *args], None) is not NotImplemented


class Forces(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.power = 2

    def forward(self, positions: Tensor, weights: Tensor) -> Tuple[Tensor, Tensor]:
        x = positions.detach().requires_grad_(True)
        energy = (self.net(x).squeeze(-1) * weights).pow(self.power).sum()
        found = scriptlang.autograd.grad([energy], [x])[0]
        assert found is not None
        return energy, -found


class Everything(nn.Module):
    """Arguments of all kinds, and a result of several."""

    def forward(
        self,
        data: Dict[str, Tensor],
        more: List[Tensor],
        pair: Tuple[Tensor, int],
        field: Optional[Tensor],
        scale: float,
        twice: bool = True,
        kind: str = "square",
    ) -> Dict[str, Tuple[Tensor, List[Tensor]]]:
        x = data["x"].detach().requires_grad_(True)
        y = x * data["shift"] + more[0] * float(len(more)) + pair[0] * pair[1]
        if field is not None:
            y = y + field * x
        energy = (y * y if kind == "square" else y.abs()).sum() * scale
        if twice:
            energy = energy * 2
        found = scriptlang.autograd.grad([energy], [x])[0]
        assert found is not None
        return {"all": (energy, [found, more[-1] + 1])}


def everything(n: int, **changes) -> dict:
    given = {
        "data": {"x": numbers(n, 3), "shift": numbers(n, 3, seed=1)},
        "more": [numbers(3, seed=2), numbers(2)],
        "pair": (numbers(n, 3, seed=3), 3),
        "field": numbers(3, seed=4),
        "scale": 0.5,
    }
    return given | changes


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("optimize", [True, False])
def test_forces_of_any_number_of_atoms(engine, optimize):
    module = scriptlang.script(Forces().eval())
    fast = loaded(compiled(module, {"forward": ["n,3", "n"]}, optimize=optimize), engine)
    for n in (2, 5, 9):
        args = numbers(n, 3), numbers(n, seed=1)
        assert is_straight(fast, *args)
        same(fast(*args), module(*args))
    one = numbers(1, 3), numbers(1)
    assert not is_straight(fast, *one)
    same(fast(*one), module(*one))
    differing = numbers(4, 3), numbers(1)  # broadcasts: symbols of one name are one size
    assert not is_straight(fast, *differing)
    same(fast(*differing), module(*differing))
    doubles = numbers(4, 3).double(), numbers(4)
    assert not is_straight(fast, *doubles)


@pytest.mark.parametrize("engine", ENGINES)
def test_several_kinds_of_inputs(engine):
    module = scriptlang.script(Forces().eval())
    kinds = [("4,3", "4"), {"weights": (1,), "positions": "n,3"}]
    fast = loaded(compiled(module, {"forward": kinds}), engine)
    for args in ((numbers(4, 3), numbers(4)), (numbers(7, 3), numbers(1))):
        assert is_straight(fast, *args)
        same(fast(*args), module(*args))
    assert not is_straight(fast, numbers(5, 3), numbers(5))


@pytest.mark.parametrize("engine", ENGINES)
def test_arguments_of_all_kinds(engine):
    module = scriptlang.script(Everything().eval())
    fast = loaded(compiled(module, {"forward": everything(4)}), engine)
    names = list(everything(4))
    cases = [
        ({}, True),
        ({"scale": 0.25}, True),
        ({"field": None}, False),
        ({"more": [numbers(3)]}, False),
        ({"pair": (numbers(4, 3), 2)}, False),
        ({"data": {"shift": numbers(4, 3), "x": numbers(4, 3)}}, False),  # in another order
        ({"twice": False}, False),
        ({"kind": "other"}, False),
    ]
    for changes, expected in cases:
        given = everything(4, **changes)
        args = [given[n] for n in names] + [given.get("twice", True), given.get("kind", "square")]
        assert is_straight(fast, *args) is expected, changes
        same(fast(*args), module(*args))
        assert list(fast(**given)) == ["all"]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_attribute_that_has_changed(engine):
    module = scriptlang.script(Forces().eval())
    fast = loaded(compiled(module, {"forward": ["n,3", "n"]}, optimize=False), engine)
    args = numbers(4, 3), numbers(4)
    before = fast(*args)[0].item()
    fast.power = 3
    assert not is_straight(fast, *args)
    assert fast(*args)[0].item() != pytest.approx(before)
    fast.power = 2
    assert is_straight(fast, *args)
    getattr(fast.net, "2").bias = nn.Parameter(numbers(1))
    module.load_state_dict(fast.state_dict())
    same(fast(*args), module(*args))


class Mixed(nn.Module):
    """Tensors beside numbers in attributes, and one module in two of them."""

    pair: Tuple[Tensor, int]
    maybe: List[Optional[Tensor]]

    def __init__(self):
        super().__init__()
        self.pair = (numbers(3), 2)
        self.maybe = [None, numbers(3, seed=1)]
        self.first = nn.Linear(3, 3)
        self.second = self.first
        self.spare = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_(True)
        y = self.second(self.first(x * self.pair[0] * self.pair[1]))
        for part in self.maybe:
            if part is not None:
                y = y * part
        found = scriptlang.autograd.grad([(y * y).sum()], [x])[0]
        assert found is not None
        return found


@pytest.mark.parametrize("engine", ENGINES)
def test_what_stands_beside_tensors_in_attributes(engine):
    module = scriptlang.script(Mixed().eval(), engine=engine)
    fast = loaded(compiled(module, {"forward": ["n,3"]}, optimize=False), engine)
    x = numbers(4, 3)
    changes = [
        ("pair", (numbers(3), 5), False),
        ("pair", (numbers(3, seed=5), 2), True),
        ("maybe", [numbers(3), numbers(3, seed=1)], False),
        ("maybe", [None, numbers(3, seed=2)], True),
        ("second", "spare", False),
        ("first", "spare", True),
    ]
    assert is_straight(fast, x)
    for name, value, expected in changes:
        for m in (fast, module):
            setattr(m, name, getattr(m, value) if isinstance(value, str) else value)
        assert is_straight(fast, x) is expected, name
        same(fast(x), module(x))


class Learns(nn.Module):
    """Asks for the gradient of a parameter, by a method that another one calls."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(numbers(3))
        self.other = nn.Parameter(numbers(3), requires_grad=False)

    def found(self, loss: Tensor) -> Tensor:
        made = scriptlang.autograd.grad([loss], [self.weight])[0]
        assert made is not None
        return made

    def forward(self, x: Tensor) -> Tuple[Tensor, bool, bool]:
        y = x * self.weight
        if self.other.requires_grad:
            y = y * self.other
        return self.found((y * y).sum()), self.weight.requires_grad, self.other.requires_grad


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_of_parameters(engine):
    module = scriptlang.script(Learns().train())
    fast = loaded(compiled(module, {"forward": ["n,3"]}), engine)
    x = numbers(4, 3)
    assert is_straight(fast, x)
    same(fast(x), module(x))
    assert fast(x)[1:] == (True, False)
    for m in (fast, module):
        m.other.requires_grad_(True)
    assert not is_straight(fast, x)
    same(fast(x), module(x))
    assert fast(x)[1:] == (True, True)


@pytest.mark.parametrize("engine", ENGINES)
def test_flags_of_one_module_are_not_those_of_another(engine):
    module = scriptlang.script(Learns().train())
    archive = compiled(module, {"forward": ["n,3"]})
    first, second, x = loaded(archive, engine), loaded(archive, engine), numbers(4, 3)
    for turned in (first, second):
        assert turned(x)[1:] == (True, False)
        turned.other.requires_grad_(True)
        assert turned(x)[1:] == (True, True)
        turned.other.requires_grad_(False)
        assert turned(x)[1:] == (True, False)


def test_graphs_are_for_the_usual_default_dtype():
    module = scriptlang.script(Forces().eval())
    fast = loaded(compiled(module, {"forward": ["n,3", "n"]}), "auto")
    args = numbers(4, 3), numbers(4)
    assert is_straight(fast, *args)
    scriptlang.set_default_dtype(scriptlang.float64)
    try:
        assert not is_straight(fast, *args)
        same(fast(*args), module(*args))
        with pytest.raises(scriptlang.CompileError, match="made for the default dtype float32"):
            compiled(module, {"forward": ["n,3", "n"]})
    finally:
        scriptlang.set_default_dtype(scriptlang.float32)


def step_of(model, make=optim.Adam):
    optimizer = make(model.parameters(), lr=0.1)
    return optim.training_step(model, nn.CrossEntropyLoss(), optimizer)


def network() -> nn.Module:
    scriptlang.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 4))


def batch(n: int) -> tuple[Tensor, Tensor]:
    return numbers(n, 6), scriptlang.arange(n) % 4


def losses(step, sizes=(5, 5, 7, 5), seed: int = 3) -> list[float]:
    scriptlang.manual_seed(seed)
    return [step.step(*batch(n)).item() for n in sizes]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.RMSprop])
def test_a_training_program(engine, make):
    step = step_of(network(), make)
    archive = compiled(step, {"step": ["n,6", "int64[n]"]})
    plain = io.BytesIO()
    step.save(plain)
    recorded = scriptlang.load(io.BytesIO(plain.getvalue()), engine=engine)
    kept = loaded(archive, engine)
    np.testing.assert_allclose(losses(kept), losses(recorded), rtol=1e-5)
    for group in (kept, recorded):
        group.set_lr([0.01])
    np.testing.assert_allclose(losses(kept), losses(recorded), rtol=1e-5)
    again = io.BytesIO()
    kept.save(again)
    again.seek(0)
    more = scriptlang.load(again, engine=engine)
    assert more._type.methods["step"].attributes[STRAIGHT] is not None
    np.testing.assert_allclose(losses(more), losses(recorded), rtol=1e-5)
    same(dict(more.state_dict()), dict(recorded.state_dict()))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_that_is_frozen_after_loading_stays(engine):
    step = loaded(compiled(step_of(network(), optim.SGD), {"step": ["n,6", "int64[n]"]}), engine)
    weight = getattr(step.module, "0").weight
    weight.requires_grad_(False)
    before = weight.detach().clone()
    with pytest.raises(RuntimeError):  # the program asks for its gradient
        step.step(*batch(5))
    assert bool((weight == before).all())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_that_is_memory_of_the_module(engine):
    step = step_of(network(), optim.SGD)
    recorded = loaded(compiled(step, None), engine)
    kept = loaded(compiled(step, {"step": ["n,6", "int64[n]"]}), engine)
    found = []
    for one in (recorded, kept):
        scriptlang.manual_seed(1)
        x = getattr(one.module, "0").weight.detach()
        found.append([one.step(x, batch(8)[1]).item(), x.clone()])
    same(found[0], found[1])


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_in_lists_and_in_two_places(engine):
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(6, 6, batch_first=True)
            self.last = nn.Linear(6, 6, bias=False)
            self.first = nn.Linear(6, 6, bias=False)
            self.first.weight = self.last.weight

        def forward(self, x):
            made, _ = self.lstm(self.first(x))
            return self.last(made[:, -1])

    scriptlang.manual_seed(0)
    step = step_of(Tagger(), optim.SGD)
    kept = loaded(compiled(step, {"step": ["n,3,6", "int64[n]"]}), engine)
    recorded = loaded(compiled(step, None), engine)
    for n in (4, 2):
        x, y = numbers(n, 3, 6), scriptlang.arange(n)
        same(kept.step(x, y), recorded.step(x, y))
    same(dict(kept.state_dict()), dict(recorded.state_dict()))


def test_what_was_recorded_of_a_parameter_cannot_go_backward_after_a_step():
    step = loaded(compiled(step_of(network(), optim.SGD), {"step": ["n,6", "int64[n]"]}), "native")
    x = batch(5)[0].requires_grad_(True)
    before = step(x).sum()
    step.step(*batch(5))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        before.backward()


def test_inputs_that_do_not_fit():
    module = scriptlang.script(Forces().eval())
    plain = scriptlang.script(nn.Linear(3, 3).eval())
    cases = [
        (module, {"backward": ["n,3"]}, "has no method 'backward'; it has forward"),
        (module, {"forward": ["n,3"]}, "the input weights of .* is missing: give its sizes"),
        (module, {"forward": ["n,3", "n", "n"]}, "there are 3 inputs given"),
        (module, {"forward": {"x": "n,3"}}, "has no input 'x'; it has positions, weights"),
        (module, {"forward": ["n;3", "n"]}, "'n;3' is no size"),
        (module, {"forward": [3.5, "n"]}, "the input positions is a float, not a Tensor"),
        (plain, {"forward": ["n,3"]}, "asks for no gradients"),
    ]
    for of, inputs, message in cases:
        with pytest.raises(ShapeError, match=message):
            compiled(of, inputs)
    with pytest.raises(scriptlang.CompileError, match="has no straight graph: .*") as raised:
        compiled(scriptlang.script(Turns().eval()), {"forward": ["n"]})
    assert "give no inputs for it" in str(raised.value)


class Turns(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_(True)
        y = x
        while bool(y.sum() < 10):
            y = y * 2
        found = scriptlang.autograd.grad([y.sum()], [x])[0]
        assert found is not None
        return found


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_with_another_graph_is_refused(engine, monkeypatch):
    def exchanged(*args):
        takes, run = functions_of(*args)
        return run, takes

    functions_of = archived.functions_of
    monkeypatch.setattr(archived, "functions_of", exchanged)
    archive = compiled(scriptlang.script(Forces().eval()), {"forward": ["n,3", "n"]})
    with pytest.raises(ArchiveError, match="take or give other values"):
        loaded(archive, engine)
