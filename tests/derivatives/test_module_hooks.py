"""Hooks of gradients around modules are called, and change what flows, as in PyTorch."""

from __future__ import annotations

import pickle
import warnings

import pytest

import scriptlang
from tests.derivatives.both import check

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def product(t):
    class Product(t.nn.Module):
        def forward(self, a, b=None, k=1):
            return a * a * k, (a + 1 if b is None else a * b)

    return Product()


def run(t, hook=None, pre=None, call=lambda m, x: m(x), module=product):
    """(the gradient, what the hooks were given)."""
    seen, m = [], module(t)

    def noting(f):
        def noted(*args):
            seen.append(args[1:])
            return f(*args)

        return noted

    if pre is not None:
        m.register_full_backward_pre_hook(noting(pre))
    if hook is not None:
        m.register_full_backward_hook(noting(hook))
    x = t.tensor([1.0, 2.0], requires_grad=True)
    result = call(m, x)
    parts = result if isinstance(result, (tuple, list)) else [result]
    sum(part.sum() for part in parts).backward()
    return x.grad, seen, [p.grad for p in m.parameters()]


@program
def seen(t):
    return run(t, lambda m, i, o: None)


@program
def changed(t):
    return run(t, lambda m, i, o: (i[0] * 10,))


@program
def one_tensor(t):
    return run(t, lambda m, i, o: i[0] * 10)


@program
def too_many(t):
    return run(t, lambda m, i, o: (i[0], i[0]))


@program
def a_number(t):
    return run(t, lambda m, i, o: 3)


@program
def before(t):
    return run(t, lambda m, i, o: None, lambda m, o: tuple(g * 2 for g in o))


@program
def before_too_few(t):
    return run(t, None, lambda m, o: o[:1])


@program
def keywords(t):
    return run(t, lambda m, i, o: None, call=lambda m, x: m(x, k=3))


@program
def other_arguments(t):
    return run(t, lambda m, i, o: None, call=lambda m, x: m(x, t.ones(2), 2))


@program
def no_gradient_for_the_input(t):
    return run(t, lambda m, i, o: None, call=lambda m, x: m(t.ones(2))[0] * x)


@program
def only_weights(t):
    def linear(t):
        made = t.nn.Linear(2, 2)
        for p in made.parameters():
            p.data.fill_(0.5)
        return made

    return run(t, lambda m, i, o: None, call=lambda m, x: m(t.ones(1, 2)) * x, module=linear)


@program
def only_weights_changed(t):
    return run(
        t,
        lambda m, i, o: (t.ones(1, 2),),
        call=lambda m, x: m(t.ones(1, 2)) * x,
        module=lambda t: t.nn.Linear(2, 2),
    )


@program
def one_result_unused(t):
    return run(t, lambda m, i, o: None, call=lambda m, x: m(x)[0])


@program
def a_list(t):
    class Both(t.nn.Module):
        def forward(self, x):
            return [x * 2, x]

    return run(t, lambda m, i, o: None, module=lambda t: Both())


@program
def removed(t):
    m = product(t)
    handle = m.register_full_backward_hook(lambda m, i, o: (i[0] * 10,))
    handle.remove()
    x = t.tensor([1.0, 2.0], requires_grad=True)
    m(x)[0].sum().backward()
    return x.grad


@program
def without_gradients(t):
    m = product(t)
    m.register_full_backward_hook(lambda m, i, o: None)
    with t.no_grad():
        return m(t.ones(2, requires_grad=True))[0].requires_grad


@program
def order(t):
    names, m = [], t.nn.Sequential(t.nn.ReLU(), t.nn.Tanh())
    for name, part in m.named_modules():
        part.register_full_backward_hook(lambda m, i, o, name=name: names.append("hook " + name))
        part.register_full_backward_pre_hook(lambda m, o, name=name: names.append("pre " + name))
    x = t.tensor([1.0, 2.0], requires_grad=True)
    m(x).sum().backward()
    return x.grad, names


@program
def written_in_place(t):
    return run(
        t, lambda m, i, o: None, call=lambda m, x: m(x).add_(1), module=lambda t: t.nn.ReLU()
    )


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name):
    pytest.importorskip("torch")
    check(PROGRAMS[name])


def test_a_compiled_module_refuses_them():
    m = scriptlang.script(scriptlang.nn.ReLU())
    with pytest.raises(RuntimeError):
        m.register_full_backward_hook(lambda m, i, o: None)


def test_a_module_with_hooks_is_copied():
    m = scriptlang.nn.Linear(2, 2)
    m.register_full_backward_hook(doubled)
    copy = pickle.loads(pickle.dumps(m))
    x = scriptlang.ones(1, 2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy(x).sum().backward()
    plain = x.grad.clone()
    copy._backward_hooks.clear()
    x.grad = None
    copy(x).sum().backward()
    assert scriptlang.equal(plain, x.grad * 2)


def doubled(module, grad_input, grad_output):
    return (grad_input[0] * 2,)
