"""scriptlang.func: derivatives of functions, as torch.func gives them."""

from __future__ import annotations

import pytest

import scriptlang
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


def square(a):
    return a * a


def batch(t):
    return t.arange(6.0).reshape([2, 3])


MAPPED = {
    "plain": lambda t: t.vmap(square)(batch(t)),
    "two": lambda t: t.func.vmap(lambda a, b: a @ b)(batch(t), batch(t) + 1),
    "dimensions": lambda t: t.func.vmap(square, in_dims=1, out_dims=-1)(batch(t)),
    "one for all": lambda t: t.func.vmap(t.add, in_dims=(0, None))(batch(t), t.ones(3)),
    "results": lambda t: t.func.vmap(lambda a: (a, a * 2), out_dims=(0, 1))(batch(t)),
    "a dict": lambda t: t.func.vmap(lambda p, a: {"q": p["w"] * a})({"w": batch(t)}, batch(t)),
    "a dict for all": lambda t: t.func.vmap(lambda p, a: p["w"] * a, in_dims=(None, 0))(
        {"w": batch(t)}, batch(t)
    ),
    "nested": lambda t: t.func.vmap(lambda a: [a, (a,)])(batch(t)),
    "twice": lambda t: t.func.vmap(t.func.vmap(square))(batch(t)),
    "gradients": lambda t: t.func.vmap(t.func.grad(cube))(batch(t)),
    "Jacobians": lambda t: t.func.vmap(t.func.jacrev(square))(batch(t)),
    "gradient of it": lambda t: t.func.grad(lambda a: t.func.vmap(square)(a).sum())(batch(t)),
    "no example": lambda t: t.func.vmap(lambda a: a.sum())(t.zeros([0, 3])),
    "keywords": lambda t: t.func.vmap(lambda a, k: a * k)(batch(t), k=batch(t)),
    "same numbers": lambda t: t.func.vmap(lambda a: a * 0 + t.rand(3), randomness="same")(
        batch(t)
    ).std(0),
    "no input": lambda t: t.func.vmap(square)(),
    "a number": lambda t: t.func.vmap(square)(3.0),
    "no dimension": lambda t: t.func.vmap(square)(t.tensor(1.0)),
    "beyond": lambda t: t.func.vmap(square, in_dims=2)(batch(t)),
    "None": lambda t: t.func.vmap(square, in_dims=None)(batch(t)),
    "nothing mapped": lambda t: t.func.vmap(square, in_dims=(None,))(batch(t)),
    "a list": lambda t: t.func.vmap(square, in_dims=[0])(batch(t)),
    "a fraction": lambda t: t.func.vmap(square, in_dims=(0.5,))(batch(t)),
    "sizes": lambda t: t.func.vmap(t.add)(batch(t), batch(t)[:1]),
    "an int": lambda t: t.func.vmap(lambda a: 3)(batch(t)),
    "an int for all": lambda t: t.func.vmap(lambda a: 3, out_dims=None)(batch(t)),
    "None given": lambda t: t.func.vmap(lambda a: None)(batch(t)),
    "places": lambda t: t.func.vmap(square, out_dims=3)(batch(t)),
    "random": lambda t: t.func.vmap(lambda a: a + t.rand(3))(batch(t)),
    "randomness": lambda t: t.func.vmap(square, randomness="no")(batch(t)),
    "chunks": lambda t: t.func.vmap(square, chunk_size=0)(batch(t)),
}


@pytest.mark.parametrize("name", MAPPED)
def test_mapped_as_in_pytorch(name):
    check(MAPPED[name])


@pytest.mark.parametrize("dims", [(0, 0), ({"v": 0},)], ids=str)
def test_dimensions_that_do_not_fit(dims):
    given = {"w": scriptlang.ones(2)}
    with pytest.raises(ValueError, match="in_dims is not compatible with the structure"):
        scriptlang.func.vmap(lambda p: p["w"], in_dims=dims)(given)


def test_places_that_do_not_fit():
    with pytest.raises(ValueError, match="out_dims is not compatible with the structure"):
        scriptlang.func.vmap(square, out_dims=(0, 1))(scriptlang.ones(2, 3))


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name):
    check(PROGRAMS[name])
