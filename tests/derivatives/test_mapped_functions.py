"""Functions of users for all examples at once: what they give, and when they run once for each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import scriptlang
from scriptlang import Tensor, batching, nn
from scriptlang.func import (
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)
from scriptlang.ops.batching import calls
from scriptlang.ops.derivatives.tangents import NotMapped

F = nn.functional
RANDOM = np.random.RandomState(0)
DOUBLE = scriptlang.float64


def tensor(*size: int) -> Tensor:
    return scriptlang.tensor(RANDOM.standard_normal(size))


W1, W2 = tensor(5, 8), tensor(8, 3)
X = tensor(4, 5)


def number(x: Tensor) -> Tensor:
    return (scriptlang.tanh(x @ W1) @ W2).sum()


def vector(x: Tensor) -> Tensor:
    return scriptlang.tanh(x @ W1) @ W2


def with_writes(x: Tensor) -> Tensor:
    y = x.clone()
    y[1] = y[0] * 2
    y += 1
    y[2:].mul_(3)
    return y.sin()


def with_new_tensor(x: Tensor) -> Tensor:
    y = x.new_zeros(3)
    y[0] = x[1]
    y[1:] = x[:2] * x[3]
    return y


def repulsion(r: Tensor) -> Tensor:
    gaps = ((r[:, None] - r[None]) ** 2).sum(-1) + scriptlang.eye(len(r), dtype=DOUBLE)
    return (1 / gaps).sum()


PLACES = scriptlang.tensor([[0, 1], [2, 3], [4, 0], [1, 1]])

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "grad": (vmap(grad(number)), (X,)),
    "jacrev": (vmap(jacrev(vector)), (X,)),
    "jacfwd": (vmap(jacfwd(vector)), (X,)),
    "hessian": (vmap(hessian(number)), (X,)),
    "jvp": (vmap(lambda x, v: jvp(vector, (x,), (v,))), (X, tensor(4, 5))),
    "vjp": (vmap(lambda x, v: vjp(vector, x)[1](v)), (X, tensor(4, 3))),
    "twice": (vmap(vmap(number)), (tensor(3, 4, 5),)),
    "dims": (vmap(vmap(vector, in_dims=1, out_dims=1), in_dims=2), (tensor(5, 4, 3),)),
    "pairs": (vmap(vmap(scriptlang.dot, (None, 0)), (0, None)), (X, tensor(6, 5))),
    "grad of vmap": (grad(lambda w: vmap(lambda x: (x @ w).tanh().sum())(X).pow(2).sum()), (W1,)),
    "grad of vmap of grad": (
        grad(lambda w: vmap(grad(lambda x: (x @ w).tanh().sum()))(X).pow(2).sum()),
        (W1,),
    ),
    "jacrev of vmap": (jacrev(lambda x: vmap(vector)(x).sum(0)), (X,)),
    "jvp of vmap": (lambda x: jvp(vmap(vector), (x,), (x,)), (X,)),
    "writes": (vmap(with_writes), (X,)),
    "grad of writes": (vmap(grad(lambda x: with_writes(x).sum())), (X,)),
    "new tensors": (vmap(jacrev(with_new_tensor)), (X,)),
    "detach": (vmap(grad(lambda x: (x * x.detach()).sum())), (X,)),
    "data": (vmap(lambda x: x.data * 2), (X,)),
    "places": (vmap(lambda x, i: x[i] + x[[0, 2]]), (X, PLACES)),
    "aux": (vmap(grad(lambda x: (number(x), x * 2), has_aux=True)), (X,)),
    "chunks": (vmap(grad(number), chunk_size=3), (X,)),
    "containers": (vmap(lambda d: {"a": d["x"] * 2, "b": (d["x"].sum(),)}), ({"x": X},)),
    "forces": (vmap(grad(repulsion)), (tensor(3, 4, 3),)),
    "solve": (vmap(grad(lambda a: scriptlang.linalg.slogdet(a)[1])), (tensor(4, 3, 3),)),
    "one for all": (vmap(lambda x: x.sum(), out_dims=None), (X,)),
    "no dependence": (vmap(lambda x: W1[0] * 2), (X,)),
}


def parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [p for key in sorted(value) for p in parts(value[key])]
    return [p for v in value for p in parts(v)] if isinstance(value, (list, tuple)) else [value]


def check_equal(found: Any, wanted: Any) -> None:
    for a, b in zip(parts(found), parts(wanted), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-10)


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    """Makes a call in which nothing runs for all examples at once."""

    def refuse(*args: Any) -> Any:
        raise NotMapped

    def call(function: Callable[[], Any]) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(batching.Batch, "at_once", refuse)
            return function()

    return call


@pytest.mark.parametrize("name", FUNCTIONS)
def test_at_once_is_as_one_by_one(
    name: str, one_by_one: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, args = FUNCTIONS[name]
    wanted = one_by_one(lambda: function(*args))

    def fail(*args: Any) -> Any:
        raise AssertionError("it ran for each example")

    monkeypatch.setattr(batching.Batch, "one_by_one", fail)
    check_equal(function(*args), wanted)


class NotRuled(BaseException):
    """Not caught where rules are tried."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operators_have_rules(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a rule cannot do is done for each example, which is right, but slow."""

    def fail(made: Any) -> Any:
        raise NotRuled(f"{made.op.qualified_name} runs for each example")

    function, args = FUNCTIONS[name]
    monkeypatch.setattr(calls, "examples", fail)
    function(*args)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.GroupNorm(2, 4)
        self.second = nn.Conv2d(4, 6, 3, stride=2, groups=2)
        self.last = nn.Linear(6, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        return self.last(F.gelu(self.second(x)).mean((2, 3)))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.norm = nn.LayerNorm(8)
        self.all = nn.Linear(8, 24)
        self.last = nn.Linear(8, 11)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        b, n, _ = x.shape
        q, k, v = self.all(self.norm(x)).reshape(b, n, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.last(x + y.transpose(1, 2).reshape(b, n, 8))


class Recurrent(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.layer = getattr(nn, kind)(4, 5, batch_first=True)
        self.last = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.layer(x)[0][:, -1])


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm, self.drop = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.norm(self.layer(x)))


def of_classes(scores: Tensor, classes: Tensor) -> Tensor:
    return F.cross_entropy(scores.flatten(0, -2), classes.flatten())


IMAGES, CLASSES = tensor(5, 1, 12, 12), scriptlang.tensor([1, 2, 3, 9, 0])
TOKENS = scriptlang.tensor(RANDOM.randint(0, 11, (4, 6)))

MODELS: dict[str, tuple[Callable[[], nn.Module], Any, Tensor, Tensor]] = {
    "convolutions": (Convolutions, of_classes, IMAGES, CLASSES),
    "attention": (Attention, of_classes, TOKENS, TOKENS.roll(1, 1)),
    "LSTM": (lambda: Recurrent("LSTM"), F.mse_loss, tensor(4, 7, 4), tensor(4, 3)),
    "GRU": (lambda: Recurrent("GRU"), F.mse_loss, tensor(4, 7, 4), tensor(4, 3)),
    "RNN": (lambda: Recurrent("RNN"), F.mse_loss, tensor(4, 7, 4), tensor(4, 3)),
    "norms": (lambda: Normed().eval(), F.mse_loss, tensor(5, 4), tensor(5, 6)),
}


@pytest.mark.parametrize("name", MODELS)
def test_gradients_for_each_example(
    name: str, one_by_one: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, loss, inputs, targets = MODELS[name]
    scriptlang.manual_seed(0)
    model = make().double()
    state = {k: v.detach() for k, v in model.named_parameters()}, dict(model.named_buffers())

    def one(parameters: Any, x: Tensor, y: Tensor) -> Tensor:
        made = functional_call(model, (parameters, state[1]), (x.unsqueeze(0),))
        return loss(made, y.unsqueeze(0))

    both = vmap(grad(one), in_dims=(None, 0, 0))
    wanted = one_by_one(lambda: both(state[0], inputs, targets))
    monkeypatch.delattr(batching.Batch, "one_by_one")
    check_equal(both(state[0], inputs, targets), wanted)


def test_an_ensemble(one_by_one: Any) -> None:
    models = [Convolutions().double() for _ in range(3)]
    state = stack_module_state(models)

    def one(parameters: Any, buffers: Any, x: Tensor) -> Tensor:
        return functional_call(models[0], (parameters, buffers), (x,))

    check_equal(
        vmap(one, (0, 0, None))(*state, IMAGES), scriptlang.stack([m(IMAGES) for m in models])
    )


def test_what_elements_decide_runs_for_each_example() -> None:
    calls = []

    def branches(x: Tensor) -> Tensor:
        calls.append(1)
        return x.sin() if x.sum() > 0 else x.cos()

    wanted = [x.sin() if float(x.sum()) > 0 else x.cos() for x in X]
    check_equal(vmap(branches)(X), scriptlang.stack(wanted))
    assert len(calls) == 1 + len(X)  # it was tried for all at once


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x * float(x[0]),
        lambda x: x * x[0].item(),
        lambda x: x * x.tolist()[0],
        lambda x: x * x.numpy()[0],
        lambda x: x * np.asarray(x)[0],
        lambda x: x[int(x[0] > 0) :][:2],
        lambda x: x[x > -9],
        lambda x: scriptlang.zeros(5, dtype=DOUBLE).copy_(x),
        lambda x: scriptlang.zeros(5, dtype=DOUBLE).index_put_((PLACES[0],), x[:2]),
        lambda x: scriptlang.script(doubled)(x),
    ],
)
def test_what_cannot_be_done_at_once_is_right_all_the_same(read: Any) -> None:
    check_equal(vmap(read)(X), scriptlang.stack([read(x) for x in X]))


def doubled(x: Tensor) -> Tensor:
    return x * 2 if bool(x.sum() > 0) else x * 3


def test_writes_to_arguments_reach_them() -> None:
    x = X.clone()
    vmap(lambda a: a.add_(1))(x)
    check_equal(x, X + 1)
    y = X.t().contiguous()
    vmap(lambda a: a.add_(1), in_dims=1)(y)
    check_equal(y, X.t() + 1)


def test_the_same_random_numbers_for_all() -> None:
    found = vmap(lambda x: x + scriptlang.rand(5, dtype=DOUBLE), randomness="same")(X) - X
    check_equal(found, found[:1].expand(4, 5))
    other = vmap(lambda x: x + scriptlang.rand(5, dtype=DOUBLE), randomness="different")(X) - X
    assert not scriptlang.allclose(other[0], other[1])
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda x: x + scriptlang.rand(5, dtype=DOUBLE))(X)


@pytest.mark.parametrize("chunk", [None, 1, 2, 7])
def test_rows_of_a_jacobian_in_chunks(chunk: int | None) -> None:
    check_equal(jacrev(vector, chunk_size=chunk)(X[0]), jacfwd(vector)(X[0]))


def test_jacobians_of_compiled_functions() -> None:
    compiled = scriptlang.script(of_rows)
    check_equal(jacrev(compiled)(X), jacrev(of_rows)(X))
    check_equal(jacfwd(compiled)(X), jacrev(of_rows)(X))


def of_rows(x: Tensor) -> Tensor:
    return (x.sin() * x.cumsum(1)).sum(1)


def test_an_error_of_one_example_is_raised() -> None:
    with pytest.raises(IndexError):
        vmap(lambda x, i: x.index_select(0, i))(X, scriptlang.tensor([[0], [1], [9], [2]]))


def test_threads_have_levels_of_their_own() -> None:
    wanted = jacrev(vector)(X[0])

    def work(k: int) -> float:
        worst = 0.0
        for transform in (jacrev, jacfwd) * 10:
            worst = max(worst, float((transform(vector)(X[0]) - wanted).abs().max()))
            change = jvp(vector, (X[k % 4],), (X[0],))[1]
            other = vmap(lambda x, v: jvp(vector, (x,), (v,))[1])(X, X[:1].expand(4, 5))[k % 4]
            worst = max(worst, float((change - other).abs().max()))
        return worst

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(work, range(8))) < 1e-12
