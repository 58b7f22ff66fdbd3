"""Programs with derivatives made ahead of time, and what there is besides arguments: their memory
may be shared, or be elsewhere at the next call; gradients have memory of their own."""

from __future__ import annotations

from typing import Tuple

import pytest

import scriptlang
from scriptlang import Tensor, aot_backward, nn, value_and_grad
from scriptlang.ir import OPTIMIZED

ENGINES = ("python", "native")


def product(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sum()


def written(x: Tensor, y: Tensor) -> Tensor:
    x.add_(1)
    return (x * y).sum()


class Held(nn.Module):
    """Returns what it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(scriptlang.tensor([[1.0, 2.0], [3.0, 4.0]]))
        self.register_buffer("b", scriptlang.zeros(3))

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        return (x @ self.w)[0, 0] * 1.0, self.b


X = [[1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("engine", ENGINES)
def test_callers_may_change_what_objects_hold_and_a_call_returns(engine):
    x = scriptlang.tensor(X)
    for made in (value_and_grad, aot_backward):
        model = scriptlang.script(Held())
        call = made(model, engine=engine)

        def held(call=call, made=made):
            return call(x)[0][1] if made is value_and_grad else call(x)[1]

        assert not call.why(x)
        held().unsqueeze_(0).requires_grad_()
        assert held().shape == (3,) and not held().requires_grad


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_that_become_other_views_of_their_memory_are_seen(engine):
    model = scriptlang.script(Held())
    call = value_and_grad(model, engine=engine)
    assert call(scriptlang.tensor(X))[0][0] == 4
    with scriptlang.no_grad():
        model.w.t_()
    assert call(scriptlang.tensor(X))[0][0] == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_arguments_that_share_what_is_written(engine):
    call = value_and_grad(scriptlang.script(written), wrt="y", engine=engine)
    x, y = scriptlang.ones(3), scriptlang.ones(3)
    assert not call.why(x, y) and call(x, y)[0] == 6
    assert call(y, y)[0] == 12
    both = scriptlang.ones(4)
    assert call(both[:3], both[1:])[0] == 10


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_are_no_memory_of_arguments(engine):
    x, y = scriptlang.tensor([1.0, 2.0]), scriptlang.tensor([3.0, 4.0])
    call = value_and_grad(product, wrt=("x", "y"), engine=engine)
    for grad in call(x, y)[1]:
        grad.zero_()
    assert not call.why(x, y) and (x.tolist(), y.tolist()) == ([1, 2], [3, 4])
    x.requires_grad_()
    aot_backward(product, engine=engine)(x, y).backward()
    x.grad.zero_()
    assert y.tolist() == [3, 4]


def partly_written(x: Tensor, y: Tensor) -> Tensor:
    x[0] = 3.0
    return (x * y).sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_elements_that_share_memory(engine):
    call = value_and_grad(partly_written, wrt="y", engine=engine)
    y = scriptlang.tensor([2.0, 3.0, 4.0])
    assert not call.why(scriptlang.ones(3), y) and call(scriptlang.ones(3), y)[0] == 13
    assert call(scriptlang.ones(1).expand(3), y)[0] == 27


class Slope(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x.requires_grad_(True)
        found = scriptlang.autograd.grad([(x * y).sum()], [x])[0]
        assert found is not None
        return found


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_that_programs_return_are_no_memory_of_arguments(engine):
    program = scriptlang.optimize(scriptlang.script(Slope(), engine=engine).eval())
    x, y = scriptlang.tensor([1.0, 2.0]), scriptlang.tensor([3.0, 4.0])
    for _ in range(2):
        program(x.clone(), y).zero_()
        assert y.tolist() == [3, 4]


def made(x: Tensor) -> Tensor:
    return (x * scriptlang.ones([3])).sum()


def test_the_default_dtype_of_a_call_counts():
    call = value_and_grad(made, engine="python")
    x = scriptlang.ones(3)
    for default in (scriptlang.float64, scriptlang.float32, scriptlang.float64):
        assert call(x)[0].dtype == scriptlang.float32
        scriptlang.set_default_dtype(default)
        try:
            assert call(x)[0].dtype == default
        finally:
            scriptlang.set_default_dtype(scriptlang.float32)


class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 512), nn.GELU(), nn.Linear(512, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).sum()


def count_of_gelu(call, x: Tensor) -> int:
    call(x)
    graph = call.last.function._function.attributes[OPTIMIZED]
    groups = [n.attributes["Subgraph"] for n in graph.walk() if "Subgraph" in n.attributes]
    return sum(n.kind == "aten::gelu" for g in (graph, *groups) for n in g.walk())


def test_activations_are_computed_again_for_batches_of_any_size():
    """A graph for any size is made by the sizes that there have been."""
    large, small = scriptlang.ones(4096, 8), scriptlang.ones(5, 8)
    assert count_of_gelu(value_and_grad(Wide()), large) == 2
    assert count_of_gelu(value_and_grad(Wide()), small) == 1
    call = value_and_grad(Wide())
    call(small)
    assert count_of_gelu(call, large) == 2
    call = value_and_grad(Wide())
    call(large)
    assert count_of_gelu(call, small) == 2
    call = value_and_grad(Wide())
    call(small)
    assert count_of_gelu(call, small[1:]) == 1


class Seen(nn.Module):
    """Adds a product to a buffer, after what may raise an error for elements of its arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(scriptlang.ones(4, 3))
        self.register_buffer("seen", scriptlang.zeros(3, 3))

    def forward(self, x: Tensor, i: Tensor) -> Tensor:
        product = scriptlang.mm(x.t(), x)
        rows = nn.functional.embedding(i, self.table)
        if bool(x.sum() > 30.0):
            raise ValueError("too much")
        self.seen.add_(product, alpha=0.5)
        return (x * rows).sum()


class SeenAtOnce(Seen):
    def forward(self, x: Tensor, i: Tensor) -> Tensor:
        product = scriptlang.mm(x.t(), x)
        rows = nn.functional.embedding(i, self.table)
        self.seen.add_(product, alpha=0.5)
        return (x * rows).sum()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("module", [Seen, SeenAtOnce])
def test_an_error_comes_before_the_write(engine, module):
    model = scriptlang.script(module())
    call = value_and_grad(model, engine=engine)
    x, i = scriptlang.ones(2, 3), scriptlang.tensor([0, 1])
    assert not call.why(x, i)
    with pytest.raises(IndexError):
        call(x, i + 3)
    if module is Seen:
        with pytest.raises(ValueError, match="too much"):
            call(x * 10, i)
    assert model.seen.tolist() == [[0.0] * 3] * 3
    call(x, i)
    assert model.seen.tolist() == [[1.0] * 3] * 3
