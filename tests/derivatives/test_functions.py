"""autograd.Function, gradcheck, and modules: as in PyTorch."""

from __future__ import annotations

import pytest

import scriptlang
from scriptlang import nn
from tests.derivatives.both import check

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def leaf(t, *values):
    return t.tensor(list(values), requires_grad=True)


def square(t):
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    return Square


@program
def simple(t):
    x = leaf(t, 1.0, 3.0)
    y = square(t).apply(x)
    y.sum().backward()
    return y, x.grad, y.grad_fn


@program
def second(t):
    x = leaf(t, 3.0)
    (g,) = t.autograd.grad(square(t).apply(x).sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return g, h


@program
def nothing_to_record(t):
    y = square(t).apply(t.ones(2))
    return y, y.requires_grad


@program
def several_results_and_others(t):
    class Both(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, y):
            ctx.factor = factor
            ctx.seen = ctx.needs_input_grad
            return x * factor, y + x, 7

        @staticmethod
        def backward(ctx, a, b, none):
            return a * ctx.factor + b, None, b

    x, y = leaf(t, 1.0), leaf(t, 2.0)
    a, b, seven = Both.apply(x, 5.0, y)
    (a * 2 + b).sum().backward()
    return x.grad, y.grad, seven, a.grad_fn is b.grad_fn


@program
def a_result_without_gradient(t):
    class Unused(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            return a + b + 10

    x = leaf(t, 1.0, 2.0)
    Unused.apply(x)[0].sum().backward()
    return x.grad


@program
def without_zeros(t):
    seen = []

    class Unused(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append(b)
            return a

    x = leaf(t, 1.0)
    Unused.apply(x)[0].sum().backward()
    return x.grad, seen


@program
def saved_results(t):
    class Exp(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return y * grad

    x = leaf(t, 1.0)
    (g,) = t.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    return g, t.autograd.grad(g.sum(), x)


@program
def written_input(t):
    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(t, 1.0, 2.0)
    y = x * 1
    z = Twice.apply(y)
    z.sum().backward()
    return z is y, x.grad, y


@program
def not_differentiable(t):
    class Sign(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            s = x.sign()
            ctx.mark_non_differentiable(s)
            return s, x * 1

        @staticmethod
        def backward(ctx, a, b):
            return b

    s, y = Sign.apply(leaf(t, -1.0, 2.0))
    return s.requires_grad, y.requires_grad


@program
def context_apart(t):
    class Cube(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    x = leaf(t, 2.0)
    Cube.apply(x).sum().backward()
    return x.grad


@program
def once(t):
    from importlib import import_module

    module = import_module(f"{t.__name__}.autograd").function

    class Once(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @module.once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = leaf(t, 2.0)
    (g,) = t.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    g.sum().backward()


@program
def too_few_gradients(t):
    class Few(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad

    Few.apply(leaf(t, 1.0), leaf(t, 2.0)).sum().backward()


@program
def a_gradient_of_another_shape(t):
    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return t.ones(3)

    Wrong.apply(leaf(t, 1.0, 2.0)).sum().backward()


@program
def freed(t):
    x = leaf(t, 1.0)
    y = square(t).apply(x).sum()
    y.backward()
    y.backward()


@program
def layers(t):
    t.manual_seed(3)
    net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Tanh(), t.nn.Linear(4, 2))
    x = t.arange(6.0).reshape(2, 3)
    loss = t.nn.functional.mse_loss(net(x), t.ones(2, 2))
    loss.backward()
    grads = [p.grad for p in net.parameters()]
    net.zero_grad()
    return loss, grads, [p.grad for p in net.parameters()]


@program
def frozen_layers(t):
    net = t.nn.Linear(2, 2)
    net.requires_grad_(False)
    return net(t.ones(1, 2)).requires_grad


@program
def descent(t):
    t.manual_seed(1)
    w = t.zeros(3, requires_grad=True)
    x, y = t.arange(12.0).reshape(4, 3) / 10, t.tensor([1.0, 2.0, 3.0, 4.0])
    for _ in range(20):
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        with t.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    return w, loss


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name):
    check(PROGRAMS[name])


def double(*values):
    return scriptlang.tensor(values, dtype=scriptlang.float64, requires_grad=True)


def test_gradcheck_finds_wrong_gradients():
    class Wrong(scriptlang.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    assert scriptlang.autograd.gradcheck(lambda x: (x * x).sin(), double(1.0, 2.0))
    assert scriptlang.autograd.gradgradcheck(lambda x, y: x * x * y, (double(1.0), double(2.0)))
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0"):
        scriptlang.autograd.gradcheck(Wrong.apply, double(1.0))
    assert not scriptlang.autograd.gradcheck(Wrong.apply, double(1.0), raise_exception=False)


def test_an_operator_without_a_rule_raises_only_where_backward_reaches_it(monkeypatch):
    from scriptlang.ops import table
    from scriptlang.ops.derivatives import plans

    op = table.find("aten::cosh")
    monkeypatch.setitem(op.__dict__, "derivative", None)
    monkeypatch.delitem(op.__dict__, "recording", raising=False)
    x = double(1.0)
    y = x.cosh() + x
    plan = op.__dict__.pop("recording")
    assert isinstance(plan, plans.Plan) and y.requires_grad
    with pytest.raises(scriptlang.errors.MissingOperatorError, match="aten::cosh"):
        y.sum().backward()


@pytest.mark.parametrize("engine", ["python", "native"])
def test_parameters_count_once_python_has_been_given_them(engine):
    module = nn.Linear(3, 2)
    scripted = scriptlang.script(module, engine=engine)
    x = scriptlang.ones(1, 3)
    assert not scripted(x).requires_grad
    scripted.parameters()
    list(scripted.parameters())
    assert scripted(x).requires_grad
    scripted(x).sum().backward()
    assert [p.grad.shape for p in scripted.parameters()] == [(2, 3), (2,)]
    with scriptlang.no_grad():
        assert not scripted(x).requires_grad
    scripted.requires_grad_(False)
    assert not scripted(x).requires_grad
