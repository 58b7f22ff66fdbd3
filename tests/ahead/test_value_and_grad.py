"""value_and_grad: PyTorch's values and gradients, on both engines, by one straight graph."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import pytest

import scriptlang
from scriptlang import aot_backward, value_and_grad

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

ENGINES = ("python", "native")


def ours(value):
    """Values of torch as those of scriptlang."""
    if torch.is_tensor(value):
        return scriptlang.from_numpy(value.detach().numpy().copy())
    if isinstance(value, (list, tuple)):
        return type(value)(map(ours, value))
    return {k: ours(v) for k, v in value.items()} if isinstance(value, dict) else value


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [part for v in value for part in flat(v)]
    return [value]


def equal(mine, theirs, tolerance=1e-5):
    mine, theirs = flat(mine), flat(theirs)
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs):
        if a is None or b is None or not torch.is_tensor(b):
            assert a is None and b is None or a == b, (a, b)
            continue
        a, b = np.asarray(a.numpy()), b.detach().resolve_conj().numpy()
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, tolerance, tolerance)


def wanted(function, args, wrt):
    """(value, gradients) by torch."""

    def leaf(t):
        return t.detach().requires_grad_() if torch.is_tensor(t) else [leaf(x) for x in t]

    args = [leaf(a) if i in wrt else a for i, a in enumerate(args)]
    result = function(*args)
    value = result[0] if isinstance(result, tuple) else result
    leaves = [t for i in wrt for t in flat(args[i])]
    return result, torch.autograd.grad(value, leaves, allow_unused=True)


def check(function, args, wrt=(0,), straight=True, tolerance=1e-5, engines=ENGINES):
    result, grads = wanted(function, args, wrt)
    for engine in engines:
        both = value_and_grad(function, wrt=wrt, engine=engine)
        mine = [ours(a) for a in args]
        reason = both.why(*mine)
        assert (reason == "") == straight, reason
        for _ in range(2):
            got, found = both(*mine)
            equal(got, result, tolerance)
            equal(found, list(grads), tolerance)


def tensor(*size, seed=0, dtype=np.float64):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=size).astype(dtype))


# Functions


def broadcast(x, y):
    return (x * y + y / (1 + x * x)).sum()


def views(x, y):
    z = x.t().reshape(-1)[1:5].view(2, 2).unsqueeze(0).expand(3, 2, 2)
    return (z * y[0, 0]).sum() + x[:, 1:].permute(1, 0).select(0, 0).sum()


def joined(x, y):
    parts = torch.cat([x, y.expand(2, 3), x * 2], 0).split(2)
    first, second = torch.stack([parts[0], parts[1]]).unbind(0)
    return (first * second).sum() + parts[2].exp().mean()


def written(x, y):
    out = torch.zeros_like(x)
    for i in range(x.size(0)):
        out[i] = x[i] * y[0] * i
    out[0] += x[1]
    out[:, 1].mul_(2.0)
    return (out * out).sum()


def settled(x, y):
    total = x.sum()
    if x.dim() == 2 and x.size(0) > 1:
        total = total * 2
    for i in range(x.size(1)):
        if i % 2 == 0:
            total = total + (x[:, i] ** (i + 1)).sum()
    while total.dim() < 1:
        total = total.unsqueeze(0)
    return total.sum()


def indexed(x, y):
    index = torch.tensor([1, 0, 1])
    spread = torch.zeros(2, 3, dtype=x.dtype).index_add(0, index, x[index] * 2)
    picked = spread.gather(1, torch.tensor([[0, 2], [1, 1]])) + x[x > 10].sum()
    return (picked * picked).sum() + x.index_select(0, index).prod()


def reductions(x, y):
    a = x.max(1)[0].sum() + x.min() + x.std() + x.norm() + x.logsumexp(1).sum()
    return a + torch.softmax(x, 1).log().mean() + x.cumsum(0).var(0).sum() + x.amax([0, 1])


def products(x, y):
    a = x @ x.t() + torch.einsum("ij,kj->ik", x, x * 2)
    b = torch.bmm(x.unsqueeze(0), x.t().unsqueeze(0)).squeeze(0)
    return (a * b).trace() + torch.linalg.det(a + 5 * torch.eye(2, dtype=x.dtype))


def detached(x, y):
    with torch.no_grad():
        scale = (x * x).sum()
    return (x.detach() * x * scale).sum() + y.sum() * 0.5


def unused(x, y):
    return (x * 2).sum()


def several(x, y):
    loss = (x * y).sum()
    return loss, {"x": x + 1, "y": (y, [loss * 2, y])}, 3


def casts(x, y):
    return (x.to(torch.float32) * 2).double().sum() + y.to(torch.float32).sum()


def attention(x, y):
    heads = x.reshape(1, 1, 2, 3)
    made = torch.nn.functional.scaled_dot_product_attention(
        heads, heads * y, heads, None, 0.0, True
    )
    return (made * made).sum()


def updated(x, y):
    """A number that elements decide does not hide the type of what it scales."""
    kept = torch.zeros(2, 3, dtype=x.dtype)
    scale = float((y * y).sum().detach())
    kept.add_((x * x).div_(scale).add_(0.5))
    return (kept * x).sum()


FUNCTIONS = (
    broadcast, views, joined, written, settled, indexed, reductions, products, detached, unused,
    several, attention, updated,
)  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions(function):
    check(function, (tensor(2, 3), tensor(1, 3, seed=1)), wrt=(0, 1))


def test_types_are_those_of_the_arguments():
    check(casts, (tensor(2, 3), tensor(1, 3, dtype=np.float32)), wrt=(0, 1), tolerance=1e-4)


def complex_numbers(x, y):
    z = torch.view_as_complex(x) * y
    w = z.conj() * z + torch.exp(z)
    return (w * w.conj()).real.sum() + z.abs().sum() + z.angle().sum()


def test_complex_numbers():
    y = torch.complex(tensor(3, seed=2), tensor(3, seed=3))
    check(complex_numbers, (tensor(3, 2), y), wrt=(0, 1))


# Arguments


def of_list(xs: List[torch.Tensor], scale: float, k: int, flag: bool, more: Optional[torch.Tensor]):
    total = xs[0].sum() * scale
    for x in xs:
        total = total + (x**k).sum()
    if flag:
        total = total * 2
    if more is not None:
        total = total + more.sum()
    return total


@pytest.mark.parametrize("more", [None, (2,)])
@pytest.mark.parametrize("flag", [True, False])
def test_lists_numbers_and_options(flag, more):
    xs = [tensor(2), tensor(3, 2), tensor(2, seed=4)]
    check(of_list, (xs, 1.5, 3, flag, None if more is None else tensor(*more)))


def of_pair(pair: Tuple[torch.Tensor, float], named: Dict[str, torch.Tensor]):
    return (pair[0] * pair[1]).sum() * named["a"].sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_tuples_and_dicts(engine):
    both = value_and_grad(of_pair, wrt=("pair", "named"), engine=engine)
    x, a = tensor(3), tensor(2, seed=1)
    value, (of_x, of_named) = both((ours(x), 2.0), {"a": ours(a)})
    equal(value, (x * 2).sum() * a.sum())
    equal([of_x[0], of_named["a"]], [2 * a.sum().expand(3), (x * 2).sum().expand(2)])
    assert both.why((ours(x), 2.0), {"a": ours(a)}) == ""


class Both(NamedTuple):
    loss: torch.Tensor
    aux: torch.Tensor


def named(x):
    return Both((x * x).sum(), x + 1)


def test_named_tuples():
    value, grad = value_and_grad(named)(ours(tensor(3)))
    assert type(value).__name__ == "Both"
    equal([*value, grad], [*named(tensor(3)), 2 * tensor(3)])


def test_floats_are_given_to_the_graph():
    both = value_and_grad(of_list)
    for scale in (1.0, 2.0, 3.5):
        value, _ = both([ours(tensor(2))], scale, 2, False, None)
        equal(value, of_list([tensor(2)], scale, 2, False, None))
    assert len(both.kinds.exact) == 1


def test_wrt_by_place_and_name():
    x, y = ours(tensor(2, 3)), ours(tensor(1, 3))
    one = value_and_grad(broadcast, wrt=1)(x, y)[1]
    assert isinstance(one, scriptlang.Tensor)
    by_name = value_and_grad(broadcast, wrt=["y"])(x, y=y)[1]
    assert isinstance(by_name, tuple)
    equal(by_name[0], torch.from_numpy(one.numpy()))
    with pytest.raises(ValueError, match="no argument or parameter 'z'"):
        value_and_grad(broadcast, wrt="z")
    with pytest.raises(ValueError, match="has 2 arguments"):
        value_and_grad(broadcast, wrt=2)


def test_sizes_become_symbols():
    both = value_and_grad(broadcast, wrt=(0, 1))
    for n in (2, 3, 5, 8, 13, 4):
        args = tensor(n, 3, seed=n), tensor(1, 3)
        result, grads = wanted(broadcast, args, (0, 1))
        got, found = both(*map(ours, args))
        equal([got, found], [result, *grads])
    assert (len(both.kinds.exact), len(both.kinds.patterns)) == (1, 1)


def test_results_keep_no_history():
    x = ours(tensor(3)).requires_grad_()
    value, grad = value_and_grad(unused)(x, x)
    assert not value.requires_grad
    assert not grad.requires_grad
    assert x.grad is None


# Modules


class Net(torch.nn.Module):
    def __init__(self, rate: float = 0.0):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.last = torch.nn.Linear(8, 3)
        self.rate = rate
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x, y):
        h = torch.nn.functional.gelu(self.norm(self.first(x)))
        h = torch.nn.functional.dropout(h, self.rate, self.training)
        return torch.nn.functional.cross_entropy(self.last(h) * self.scale, y)


def batch(n=6):
    return torch.randn(n, 4, generator=torch.manual_seed(n)), torch.arange(n) % 3


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_of_a_module(engine):
    torch.manual_seed(0)
    model, args = Net(), batch()
    value = model(*args)
    grads = torch.autograd.grad(value, list(model.parameters()))
    both = value_and_grad(scriptlang.script(model, engine=engine), engine=engine)
    got, found = both(*map(ours, args))
    assert both.why(*map(ours, args)) == ""
    assert list(found) == [n for n, _ in model.named_parameters()]
    equal([got, found], [value, *grads])
    by = value_and_grad(scriptlang.script(model), wrt=["last.bias", "x", "scale"], engine=engine)
    x = args[0].clone().requires_grad_()
    model.scale.requires_grad_()
    value = model(x, args[1])
    grads = torch.autograd.grad(value, [model.last.bias, x, model.scale])
    equal(by(*map(ours, args))[1], list(grads))


class Recurrent(torch.nn.Module):
    """Layers and lists that keep their weights in containers."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 3, 2)
        self.gru = torch.nn.GRU(3, 3)
        self.scales = torch.nn.ParameterList([torch.ones(3), torch.full((3,), 0.5)])

    def forward(self, x):
        y, _ = self.gru(self.lstm(x)[0])
        for scale in self.scales:
            y = (y * scale).tanh()
        return y.sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_in_containers(engine):
    torch.manual_seed(0)
    model, x = Recurrent(), torch.randn(5, 2, 4)
    program = scriptlang.script(Recurrent(), engine=engine)
    with scriptlang.no_grad():
        for p, q in zip(model.parameters(), program.parameters()):
            q.copy_(ours(p.detach()))
    both, step = value_and_grad(program, engine=engine), aot_backward(program, engine=engine)
    for factor in (1.0, 0.5):
        value = model(x)
        grads = torch.autograd.grad(value, list(model.parameters()))
        got, found = both(ours(x))
        assert both.why(ours(x)) == step.why(ours(x)) == ""
        assert list(found) == [n for n, _ in model.named_parameters()]
        equal([got, found], [value, *grads])
        program.zero_grad()
        step(ours(x)).backward()
        equal([p.grad for p in program.parameters()], list(grads))
        with torch.no_grad(), scriptlang.no_grad():
            for p, q in zip(model.parameters(), program.parameters()):
                p.mul_(factor * 0.5)
                q.mul_(factor * 0.5)


def test_a_container_that_changes_is_another_kind():
    program, x = scriptlang.script(Recurrent()), ours(torch.randn(2, 1, 4))
    both = value_and_grad(program)
    before = both(x)[0].item()
    weights = program.lstm._object_.get("_flat_weights")
    weights[0] = scriptlang.zeros_like(weights[0])
    assert both(x)[0].item() != before
    assert both(x)[0].item() == pytest.approx(program(x).item(), 1e-5)


def test_buffers_are_written_in_place():
    class Mean(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))
            self.register_buffer("seen", torch.zeros(3))
            self.register_buffer("kept", torch.zeros(3))

        def forward(self, x):
            y = x - self.seen
            self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
            self.seen.add_(1.0)
            view = self.kept[1:]
            self.kept.add_(2.0)
            return (y * self.mean * view.sum()).sum()

    model, x = Mean(), torch.randn(4, 3)
    both = value_and_grad(scriptlang.script(Mean()), wrt="x")
    text = str(both.found(both.bound((ours(x),), {}))[0].function.graph)
    assert "aten::mul_(" in text  # of `mean`, whose operators begin with it
    assert text.count("aten::add_(") >= 2
    assert "aten::copy_(" not in text.replace("kept", "")
    for _ in range(3):
        leaf = x.clone().requires_grad_()
        value = model(leaf)
        (grad,) = torch.autograd.grad(value, [leaf])
        equal(both(ours(x)), (value, grad))


class Shifting(torch.nn.Module):
    """What its derivative computes again reads a buffer that is written in between."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.full((1 << 21,), 0.5))

    def forward(self, x):
        y = torch.sin(x - self.seen)
        self.seen.add_(1.0)
        return (y * y * y).sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_computed_again_reads_buffers_before_they_are_written(engine):
    model, x = Shifting(), torch.linspace(-3, 3, 1 << 21)
    both = value_and_grad(scriptlang.script(Shifting(), engine=engine), wrt="x", engine=engine)
    assert both.why(ours(x)) == ""
    for _ in range(2):
        leaf = x.clone().requires_grad_()
        value = model(leaf)
        (grad,) = torch.autograd.grad(value, [leaf])
        got, found = both(ours(x))
        equal(found, grad, 1e-4)
        assert got.item() == pytest.approx(value.item(), 1e-3)


def test_parameters_are_read_when_it_is_called():
    model = scriptlang.script(Net())
    both, args = value_and_grad(model), [ours(a) for a in batch()]
    before = both(*args)[0].numpy()
    with scriptlang.no_grad():
        model.last.weight.mul_(2.0)
    other = both(*args)[0].numpy()
    assert other != before
    model.last.weight = scriptlang.zeros(3, 8)
    equal(both(*args)[0], torch.from_numpy(value_and_grad(model)(*args)[0].numpy()))
    assert both(*args)[0].numpy() != other


def test_training_and_evaluation_are_two_kinds():
    model = scriptlang.script(Net(rate=0.5))
    both, args = value_and_grad(model), [ours(a) for a in batch()]
    model.eval()
    a, b = both(*args)[0].numpy(), both(*args)[0].numpy()
    assert a == b
    model.train()
    assert both(*args)[0].numpy() != both(*args)[0].numpy()


@pytest.mark.parametrize("engine", ENGINES)
def test_dropout_draws_what_pytorch_draws_once(engine):
    torch.manual_seed(0)
    model, args = Net(rate=0.5), batch()
    both = value_and_grad(scriptlang.script(model, engine=engine), engine=engine)
    mine = [ours(a) for a in args]
    assert both.why(*mine) == ""
    for seed in (1, 2):
        torch.manual_seed(seed)
        value = model(*args)
        grads = torch.autograd.grad(value, list(model.parameters()))
        scriptlang.manual_seed(seed)
        equal(list(both(*mine)), [value, *grads])
        assert scriptlang.rand(1).numpy() == torch.rand(1).numpy()


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
        self.norm = torch.nn.BatchNorm1d(2)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return (self.norm(self.layer(x)) ** 3).sum() * self.calls


@pytest.mark.parametrize("engine", ENGINES)
def test_buffers_are_written(engine):
    torch.manual_seed(0)
    model, x = Counting(), batch()[0]
    mine = scriptlang.script(model, engine=engine)
    again = Counting()
    again.load_state_dict({k: v.clone() for k, v in model.state_dict().items()})
    both = value_and_grad(mine, engine=engine)
    for _ in range(3):
        value = again(x)
        grads = torch.autograd.grad(value, list(again.parameters()))
        equal(list(both(ours(x))), [value, *grads], 1e-4)
    assert both.why(ours(x)) == ""
    state = again.state_dict()
    for name, t in mine.state_dict().items():
        equal(t, state[name])


# The tape for all else


def by_elements(x, y):
    while bool((x > 0.1).any()):
        x = x / 2
    if bool(x.sum() > 0):
        return (x * x).sum()
    return (x * y).sum()


def overwritten(x, y):
    z = x * y
    w = z * z
    z.add_(1)
    return w.sum()


def test_control_flow_by_elements_takes_the_tape():
    check(by_elements, (tensor(2, 3), tensor(1, 3)), wrt=(0, 1), straight=False)
    both = value_and_grad(by_elements)
    assert "depends on elements" in both.why(ours(tensor(2, 3)), ours(tensor(1, 3)))


@pytest.mark.parametrize("engine", ENGINES)
def test_errors_are_those_of_the_tape(engine):
    both = value_and_grad(overwritten, engine=engine)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        both(ours(tensor(2)), ours(tensor(2)))
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        value_and_grad(lambda x: x * 2, engine=engine)(ours(tensor(2)))


def down(x: scriptlang.Tensor, n: int) -> scriptlang.Tensor:
    if n == 0:
        return x
    return down(x * 1.01, n - 1)


def deep(x):
    return down(x, x.size(0)).sum()


def test_recursion_is_followed_to_a_depth():
    both = value_and_grad(deep)
    for n, reason in ((4, ""), (90, "more than 50 calls are inside each other")):
        x = ours(tensor(n))
        value, grad = both(x)
        equal([value, grad], [(tensor(n) * 1.01**n).sum(), torch.full((n,), 1.01**n).double()])
        assert both.why(x).startswith(reason)


# Second derivatives


def with_gradient(x, v):
    y = (x**3).sum() + (x[0] * x).sin().sum()
    g = torch.autograd.grad([y], [x], create_graph=True)[0]
    assert g is not None
    return (g * v).sum()


def test_hessian_times_vector():
    x, v = tensor(4), tensor(4, seed=1)
    leaf = x.clone().requires_grad_()
    y = (leaf**3).sum() + (leaf[0] * leaf).sin().sum()
    first = torch.autograd.grad(y, leaf, create_graph=True)[0]
    want = torch.autograd.grad((first * v).sum(), leaf)[0]
    for engine in ENGINES:
        both = value_and_grad(with_gradient, engine=engine)
        value, found = both(ours(x), ours(v))
        equal([value, found], [(first * v).sum(), want])
        assert both.why(ours(x), ours(v)) == ""
