"""Recorded programs as parts of Python's graph: histories from outside, writes, views, identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import scriptlang
from scriptlang import Tensor, nn

ENGINES = ["native", "python", "auto"]
CHANGED = "has been modified by an inplace operation"
VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation"


@pytest.fixture(params=ENGINES)
def script(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return lambda program: scriptlang.script(program, engine=request.param)


def leaf(*values: float) -> Tensor:
    return scriptlang.tensor(list(values), requires_grad=True)


# A program that asks for gradients of what was computed elsewhere


def optimized(program: Any) -> Any:
    """A program as a module that `optimize` takes."""

    class Wrapped(nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor | None:
            return program(a, b)

    return scriptlang.optimize(scriptlang.script(Wrapped().eval()))


def partial(y: Tensor, x: Tensor) -> Tensor:
    found = scriptlang.autograd.grad([(y * x).sum()], [x])[0]
    assert found is not None
    return found


def of_unused(y: Tensor, x: Tensor) -> Tensor | None:
    return scriptlang.autograd.grad([y.sum()], [x], allow_unused=True)[0]


def gradient(y: Tensor, x: Tensor) -> Tensor | None:
    given: list[Tensor | None] = [scriptlang.ones_like(y)]
    return scriptlang.autograd.grad([y], [x], grad_outputs=given, create_graph=True)[0]


def net(x: Tensor) -> Tensor:
    return x.sin() * x


@pytest.mark.parametrize("changed", [lambda f: f, optimized])
def test_a_program_differentiates_what_was_computed_outside(script: Any, changed: Any) -> None:
    x = leaf(1.0, 2.0)
    assert changed(script(partial))(x**2, x).tolist() == [3.0, 12.0]
    assert changed(script(of_unused))(x**2, x).tolist() == [2.0, 4.0]
    d = changed(script(gradient))(x**3, x)
    assert d.tolist() == [3.0, 12.0]
    assert changed(script(gradient))(d, x).tolist() == [6.0, 12.0]


def test_a_program_differentiates_what_another_program_computed(script: Any) -> None:
    x = leaf(1.0, 2.0)
    y = script(net)(x)
    d = script(gradient)(y, x)
    wanted = x.detach().cos() * x.detach() + x.detach().sin()
    assert scriptlang.allclose(d, wanted)
    d.sum().backward()
    assert x.grad is not None


# Writes from Python between forward and backward


def cube(x: Tensor) -> Tensor:
    return x**3


def product(x: Tensor, w: Tensor) -> Tensor:
    return x * w


def test_writes_to_what_a_call_saved_are_noticed(script: Any) -> None:
    def to_alias() -> Tensor:
        x = leaf(1.0, 2.0)
        y = script(cube)(x)
        x.detach().mul_(5)
        return y

    def without_grad() -> Tensor:
        x = leaf(1.0, 2.0)
        y = script(cube)(x)
        with scriptlang.no_grad():
            x.sub_(0.5)
        return y

    def to_an_argument() -> Tensor:
        x, w = leaf(1.0, 2.0), scriptlang.ones(2)
        y = script(product)(x, w)
        w.mul_(7)
        return y

    def to_the_result() -> Tensor:
        y = script(exponential)(leaf(1.0, 2.0))
        return y.mul_(2)

    for make in (to_alias, without_grad, to_an_argument, to_the_result):
        y = make()
        with pytest.raises(RuntimeError, match=CHANGED):
            y.sum().backward()


def exponential(x: Tensor) -> Tensor:
    return x.exp()


def test_writes_to_what_nothing_saved_do_no_harm(script: Any) -> None:
    def twice(x: Tensor) -> Tensor:
        return x * 2

    x = leaf(1.0, 2.0)
    y = script(twice)(x)
    with scriptlang.no_grad():
        x.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(scriptlang.tanh(self.first(x)))


def test_a_step_between_forward_and_backward_is_noticed(script: Any) -> None:
    model = script(Model())
    parameters = list(model.parameters())
    x = scriptlang.ones(1, 2)
    first, second = model(x).sum(), model(x).square().sum()
    first.backward()
    with scriptlang.no_grad():
        for p in parameters:
            p.sub_(p.grad)
    with pytest.raises(RuntimeError, match=CHANGED):
        second.backward()
    model(x).sum().backward()  # the next call saves what is there now


# Results that are views


def tail(x: Tensor) -> Tensor:
    return x[1:]


def both(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 3
    return y, y[1:]


def parts(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 3
    return y[:2], y[1:]


def test_a_result_is_a_view_of_an_argument(script: Any) -> None:
    x = leaf(1.0, 2.0, 3.0)
    z = x * 1
    y = script(tail)(z)
    assert y._is_view()
    y.mul_(2)
    z.sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0]
    x = leaf(1.0, 2.0, 3.0)
    z = x * 1
    y = script(tail)(z)
    z.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 2.0]


def test_a_view_of_a_leaf_must_not_be_written(script: Any) -> None:
    with pytest.raises(RuntimeError, match=VIEW):
        script(tail)(leaf(1.0, 2.0)).mul_(2)

    class Weight(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.p = nn.Parameter(scriptlang.ones(4))

        def forward(self) -> Tensor:
            return self.p[:2]

    module = script(Weight())
    [p] = module.parameters()
    view = module()
    with pytest.raises(RuntimeError, match=VIEW):
        view.mul_(3)
    assert p.tolist() == [1.0] * 4


@pytest.mark.parametrize("which", [0, 1])
def test_results_that_share_memory(script: Any, which: int) -> None:
    x = leaf(1.0, 2.0, 3.0)
    results = script(both)(x)
    results[which].mul_(2)
    results[1 - which].sum().backward()
    assert x.grad.tolist() == ([0.0, 6.0, 6.0] if which == 0 else [3.0, 6.0, 6.0])


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_of_one_result_are_right_or_refused(engine: str) -> None:
    x = leaf(1.0, 2.0, 3.0)
    first, second = scriptlang.script(parts, engine=engine)(x)
    try:
        first.mul_(2)
    except RuntimeError as error:
        assert engine != "python" and "is a view and is being modified inplace" in str(error)
        return
    second.sum().backward()
    assert x.grad.tolist() == [0.0, 6.0, 3.0]


def writes_row(x: Tensor) -> Tensor:
    x[0].mul_(2.0)
    return x[1]


def test_what_a_program_writes_reaches_views_of_it(script: Any) -> None:
    x = scriptlang.ones(2, 2, requires_grad=True)
    z = x * 1
    script(writes_row)(z).mul_(3)
    (z**2).sum().backward()
    assert x.grad.tolist() == [[8.0, 8.0], [18.0, 18.0]]
    x.grad = None
    z = x * 1
    row = z[0]
    script(writes_row)(z)
    (row**2).sum().backward()
    assert x.grad.tolist() == [[8.0, 8.0], [0.0, 0.0]]
    x.grad = None
    whole = x * 1
    script(writes_row)(whole[:])  # a view of Python's
    (whole**2).sum().backward()
    assert x.grad.tolist() == [[8.0, 8.0], [2.0, 2.0]]


# One tensor in two places


def turns_on(x: Tensor, y: Tensor) -> Tensor:
    x.requires_grad_(True)
    found = scriptlang.autograd.grad([(x * y).sum()], [x])[0]
    assert found is not None
    return found


class WithBuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", scriptlang.tensor([1.0, 2.0]))

    def forward(self, x: Tensor) -> Tensor:
        x.requires_grad_(True)
        found = scriptlang.autograd.grad([(x * self.b).sum()], [x])[0]
        assert found is not None
        return found


@pytest.mark.parametrize("changed", [lambda f: f, optimized])
def test_a_tensor_that_is_passed_twice_stays_one(script: Any, changed: Any) -> None:
    program = changed(script(turns_on))
    for _ in range(3):
        assert program(scriptlang.tensor([1.0, 2.0]), scriptlang.ones(2)).tolist() == [1.0, 1.0]
        x = scriptlang.tensor([1.0, 2.0])
        assert program(x, x).tolist() == [2.0, 4.0]
        assert program(x.detach(), x.detach()).tolist() == [1.0, 2.0]


def test_a_buffer_that_is_passed_stays_one(script: Any) -> None:
    module = script(WithBuffer())
    assert module(module.b).tolist() == [2.0, 4.0]


class Running(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(scriptlang.ones(2))
        self.register_buffer("b", scriptlang.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        self.b.mul_(0.5).add_(self.w * x)
        return self.b.exp()


def test_a_buffer_that_is_detached_in_place_forgets_its_history(script: Any) -> None:
    gradients = {}
    for way in ("method", "attribute"):
        module = script(Running())
        [w] = module.parameters()
        gradients[way] = []
        for _ in range(3):
            module(scriptlang.tensor([1.0, 2.0])).sum().backward()
            gradients[way] += w.grad.tolist()
            w.grad = None
            if way == "method":
                module.b.detach_()
            else:
                module.b = module.b.detach()
    assert gradients["method"] == gradients["attribute"]


# Gradients that a program keeps in `.grad`


class Learner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(scriptlang.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return (self.w * x).sum()

    @scriptlang.jit.export
    def accumulate(self, x: Tensor) -> None:
        self.forward(x).backward()

    @scriptlang.jit.export
    def total(self) -> Tensor:
        found = self.w.grad
        assert found is not None
        return found.clone()

    @scriptlang.jit.export
    def update(self) -> None:
        found = self.w.grad
        assert found is not None
        with scriptlang.no_grad():
            self.w.sub_(found)
        found.zero_()


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_stay_though_nobody_asked_for_parameters(engine: str, tmp_path: Any) -> None:
    path = tmp_path / "learner.pt"
    scriptlang.script(Learner()).save(path)
    module = scriptlang.load(path, engine=engine)
    x = scriptlang.tensor([1.0, 2.0])
    for k in range(1, 4):
        module.accumulate(x)
        assert module.total().tolist() == [k, 2.0 * k]
    module.update()
    assert module.total().tolist() == [0.0, 0.0]
    assert module.w.tolist() == [-2.0, -5.0]
