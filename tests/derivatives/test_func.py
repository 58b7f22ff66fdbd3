"""scriptlang.func: derivatives of functions, as torch.func gives them."""

from __future__ import annotations

import pytest

from tests.derivatives.both import check

pytestmark = pytest.mark.oracle

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def cube(x):
    return (x * x * x).sum()


@program
def grad(t):
    return t.func.grad(cube)(t.tensor([1.0, 2.0]))


@program
def grad_by_two(t):
    return t.func.grad(lambda x, y: (x * y * y).sum(), argnums=(0, 1))(
        t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])
    )


@program
def grad_by_a_dict(t):
    return t.func.grad(lambda p, x: (p["w"] * x + p["b"]).sum())(
        {"w": t.ones(2), "b": t.ones(2)}, t.tensor([3.0, 4.0])
    )


@program
def grad_and_value(t):
    return t.func.grad_and_value(lambda x: (cube(x), x * 2), has_aux=True)(t.tensor([1.0, 2.0]))


@program
def grad_of_grad(t):
    inner = t.func.grad(cube)
    return t.func.grad(lambda x: inner(x).sum())(t.tensor([1.0, 2.0]))


@program
def jvp(t):
    return t.func.jvp(lambda x: (x * x).sin(), (t.tensor([1.0, 2.0]),), (t.tensor([3.0, 0.5]),))


@program
def jvp_by_two_with_aux(t):
    def f(x, y):
        return {"p": x @ y, "s": y.sum()}, x * 2

    x, y = t.tensor([[1.0, 2.0]]), t.tensor([[1.0], [4.0]])
    return t.func.jvp(f, (x, y), (x * 2, y * 3), has_aux=True)


@program
def jvp_of_a_constant(t):
    return t.func.jvp(lambda x: t.ones(3), (t.ones(2),), (t.ones(2),))


@program
def jvp_in_jvp(t):
    def inner(x):
        return t.func.jvp(lambda y: y.pow(3).sum(), (x,), (t.ones(2),))[1]

    return t.func.jvp(inner, (t.tensor([1.0, 2.0]),), (t.tensor([1.0, -1.0]),))


@program
def grad_of_jvp(t):
    def f(x):
        return t.func.jvp(lambda y: y.pow(3).sum(), (x,), (t.ones(2),))[1]

    return t.func.grad(f)(t.tensor([1.0, 2.0]))


@program
def jacfwd(t):
    return t.func.jacfwd(lambda x: (x.sin(), [x * x.sum()]))(t.tensor([1.0, 2.0, 3.0]))


@program
def jacfwd_by_two(t):
    return t.func.jacfwd(lambda x, y: t.outer(x, y), (0, 1))(t.ones(2), t.tensor([1.0, 2.0, 3.0]))


@program
def jacfwd_of_jacrev(t):
    return t.func.jacfwd(t.func.jacrev(lambda x: x.pow(3).sum()))(t.tensor([1.0, 2.0]))


@program
def of_what_requires_one(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    g = t.func.grad(cube)(x)
    g.sum().backward()
    return g, x.grad


@program
def vjp(t):
    y, back = t.func.vjp(lambda x, z: x.sin() * z, t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0]))
    return y, back(t.tensor([1.0, 10.0]))


@program
def jacrev(t):
    return t.func.jacrev(lambda x: t.stack([x[0] * x[1], x[1].sin(), x[2] * 0]))(
        t.tensor([1.0, 2.0, 3.0])
    )


@program
def jacrev_by_two(t):
    return t.func.jacrev(lambda x, y: x * y.sum(), argnums=(0, 1))(
        t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0, 5.0])
    )


@program
def hessian(t):
    return t.func.hessian(lambda x: cube(x) + x[0] * x[1])(t.tensor([1.0, 2.0]))


@program
def no_dependence(t):
    return t.func.grad(lambda x: t.ones(2).sum())(t.tensor([1.0]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name):
    check(PROGRAMS[name])
