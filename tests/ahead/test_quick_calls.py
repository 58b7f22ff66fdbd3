"""The fast path of calls like the last one: it runs where all is as it was, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import Tensor, nn, optim
from scriptlang.programs.ahead import quick
from scriptlang.programs.calling import run_module_again


class Layers(nn.Module):
    def __init__(self, count: int):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(count)))
        self.power = 2

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).pow(self.power).sum()


def numbers(*size: int) -> Tensor:
    values = np.random.default_rng(0).uniform(0.5, 1, size).astype(np.float32)
    return scriptlang.from_numpy(values)


def made(count: int, engine: str = "native") -> Any:
    """value_and_grad of a module after a call, an argument for it, and what says whether the fast
    path runs a call."""
    scriptlang.manual_seed(0)
    module = scriptlang.script(Layers(count), engine=engine)
    both, x = scriptlang.value_and_grad(module), numbers(3, 4)
    both(x)
    return module, both, x, lambda *args: both.quick.call(*args) is not NotImplemented


COUNTS = (2, quick.MOST_WRITTEN_OUT // 2 + 1)
"""Layers whose checks are written out, and too many for that."""


@pytest.mark.parametrize("engine", available())
@pytest.mark.parametrize("count", COUNTS)
def test_it_gives_what_the_first_call_gave(count, engine):
    _, both, x, is_quick = made(count, engine)
    value, grads = both(x)
    assert is_quick(x) and both.last.reason == ""
    again, more = both.quick.call(x)
    assert again.item() == value.item() and list(more) == list(grads)
    assert all(np.array_equal(more[k].numpy(), g.numpy()) for k, g in grads.items())


@pytest.mark.parametrize("count", COUNTS)
def test_other_arguments_take_the_long_way(count):
    _, both, x, is_quick = made(count)
    for other in (numbers(2, 4), x.double(), nn.Parameter(x), 3):
        assert not is_quick(other)
    for same in (x.t().contiguous().t(), x.clone().requires_grad_(), x[:]):
        assert is_quick(same) and not both(same)[0].requires_grad
    assert both(numbers(2, 4))[0].item() != both(x)[0].item()


@pytest.mark.parametrize("count", COUNTS)
def test_objects_that_have_changed(count):
    module, both, x, is_quick = made(count)
    first = getattr(module.layers, "0")
    before = both(x)[0].item()
    module.power = 3
    assert not is_quick(x)
    assert both(x)[0].item() != before
    module.power = 2
    assert both(x)[0].item() == before and is_quick(x)
    weight = first.weight
    first.weight = nn.Parameter(weight.detach() * 2)
    assert not is_quick(x)
    first.weight = weight
    assert is_quick(x)
    weight.data = weight.detach().double()
    assert not is_quick(x)
    weight.data = weight.detach().float()
    other = scriptlang.script(nn.Linear(4, 4))
    setattr(module.layers, "0", other)
    assert not is_quick(x)
    assert both(x)[0].item() == pytest.approx(module(x).item()) and is_quick(x)
    setattr(module.layers, "0", first)
    assert not is_quick(x)
    default = scriptlang.get_default_dtype()
    both(x)
    assert is_quick(x)
    scriptlang.set_default_dtype(scriptlang.float64)
    try:
        assert not is_quick(x)
    finally:
        scriptlang.set_default_dtype(default)


def test_a_step_reads_its_rate_and_looks_at_its_batch():
    scriptlang.manual_seed(0)
    model = nn.Linear(4, 3)
    step = optim.training_step(model, nn.CrossEntropyLoss(), optim.SGD(model.parameters(), lr=0.0))
    x, y = numbers(3, 4), scriptlang.arange(3)
    losses = [step.step(x, y).item() for _ in range(3)]
    assert len(set(losses)) == 1
    step.set_lr([0.5])
    assert step.step(x, y).item() == losses[0]
    assert step.step(x, y).item() < losses[0]
    (inside,) = step._type.methods["step"].attributes["straight"].by_engine.values()
    args = [step._object_, x, y]
    assert inside.quick.call(*args) is not NotImplemented
    assert inside.quick.call(step._object_, model.weight.detach(), y) is NotImplemented
    model.weight.requires_grad_(False)
    assert inside.quick.call(*args) is NotImplemented


class Forces(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(scriptlang.ones(1))

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = x.detach().requires_grad_(True)
        energy = (x.pow(3) * self.scale).sum()
        found = scriptlang.autograd.grad([energy], [x])[0]
        assert found is not None
        return energy, [found]


@pytest.mark.parametrize("engine", available())
def test_modules_take_it_where_nothing_else_has_to_run(engine):
    module = scriptlang.optimize(scriptlang.script(Forces().eval(), engine=engine))
    x = numbers(4)
    want = 3 * x.numpy() ** 2

    def is_right(result) -> bool:
        return np.allclose(result[1][0].numpy(), want, rtol=1e-5)

    def again(*args):
        return run_module_again(module, args)

    assert again(x) is NotImplemented  # nothing was called yet
    assert is_right(module(x)) and is_right(again(x)) and is_right(module.forward(x))
    assert module(x)[1] is not module(x)[1]
    assert again(x, x) is NotImplemented and again([x]) is NotImplemented
    with pytest.raises((RuntimeError, TypeError)):
        module(x, x)
    with scriptlang.no_grad():
        assert again(x) is NotImplemented
    wants = x.clone().requires_grad_()
    assert again(wants) is NotImplemented
    seen = []
    handle = module.register_forward_hook(lambda m, args, out: seen.append(out))
    assert again(x) is NotImplemented and is_right(module(x)) and len(seen) == 1
    handle.remove()
    assert is_right(again(x))
    with scriptlang.profile():
        assert again(x) is NotImplemented and is_right(module(x))


def test_a_step_counts_as_a_write():
    model = nn.Linear(4, 3)
    step = optim.training_step(model, nn.CrossEntropyLoss(), optim.SGD(model.parameters(), lr=0.1))
    x, y = numbers(3, 4), scriptlang.arange(3)
    for _ in range(3):
        loss = model(x.clone().requires_grad_()).sum()
        step.step(x, y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 3), nn.Linear(3, 1)

    def forward(self, x: scriptlang.Tensor, chosen: bool):
        y = self.b(self.a(x)).sum()
        if chosen and y.item() > 1e9:
            return y * 2
        return y


@pytest.mark.parametrize("chosen", [False, True], ids=["straight", "tape"])
def test_parameters_that_are_frozen_later_get_no_gradients(chosen):
    module = scriptlang.script(Pair())
    f, x = scriptlang.value_and_grad(module), scriptlang.ones(4, 2)
    everything = {"a.weight", "a.bias", "b.weight", "b.bias"}
    for frozen in (set(), {"a.weight"}, {"a.weight", "b.bias"}, everything, set()):
        for name, p in module.named_parameters():
            p.requires_grad_(name not in frozen)
        for _ in range(3):
            value, grads = f(x, chosen)
            assert grads.keys() == everything - frozen and not value.requires_grad
            assert "b.bias" in frozen or grads["b.bias"].item() == 4.0
    assert (f.why(x, chosen) != "") is chosen
