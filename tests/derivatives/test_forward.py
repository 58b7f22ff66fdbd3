"""Forward mode gives what PyTorch's gives: dual tensors, views, writes, levels, errors."""

from __future__ import annotations

import pytest

from tests.derivatives.both import check

pytestmark = pytest.mark.oracle

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def dual(t, x=(1.0, 2.0, 3.0), v=(1.0, -0.5, 2.0), **given):
    return t.autograd.forward_ad.make_dual(t.tensor(x, **given), t.tensor(v))


def both(t, x):
    return list(t.autograd.forward_ad.unpack_dual(x))


def level(t):
    return t.autograd.forward_ad.dual_level()


@program
def elements(t):
    with level(t):
        x = dual(t)
        return both(t, x.sin() * x + x.exp() / (x * x)), both(t, x)


@program
def broadcast(t):
    with level(t):
        x = dual(t)
        return both(t, x + t.ones(2, 3)), both(t, x.unsqueeze(1) * x), both(t, t.ones(2, 1) - x)


@program
def two_types(t):
    with level(t):
        x = dual(t)
        return both(t, x + t.ones(3, dtype=t.float64)), both(t, x * 2j), both(t, x.double())


@program
def numbers(t):
    with level(t):
        x = dual(t, 2.0, 3.0)
        return both(t, t.ones(3) * x), both(t, t.ones(3).mul_(x)), both(t, t.full((2,), 1.0) + x)


@program
def products(t):
    with level(t):
        a = dual(t, [[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [2.0, 0.5]])
        b = t.nn.functional.linear(a, a, a[0])
        return both(t, a @ a), both(t, b), both(t, t.einsum("ij,jk,ki->i", a, a, b))


@program
def without(t):
    with level(t):
        x = dual(t)
        return both(t, x.detach() * 2), both(t, t.ones(3)), both(t, x > 1), both(t, x.floor())


@program
def no_grad(t):
    with level(t), t.no_grad():
        return both(t, dual(t) * 2)


@program
def views_are_dual(t):
    with level(t):
        x = dual(t)
        return (
            both(t, x[1:]),
            both(t, x.view(3, 1)),
            both(t, x.flip(0)[0]),
            [both(t, part) for part in x.unbind(0)],
        )


@program
def in_place(t):
    with level(t):
        x, y = dual(t).clone(), dual(t)
        x.mul_(y).add_(1).sin_()
        z = t.zeros(3)
        z.copy_(x)
        return both(t, x), both(t, y), both(t, z)


@program
def what_was_added_to_is_apart(t):
    with level(t):
        x = dual(t)
        y = x + 1
        y[0] = 5
        y.mul_(2)
        return both(t, x), both(t, y)


@program
def a_write_through_a_view(t):
    with level(t):
        x = dual(t).clone()
        x[1:].mul_(3)
        x[0] = x[2]
        return both(t, x)


@program
def a_write_to_the_base(t):
    with level(t):
        x = dual(t).clone()
        part, turned = x[1:], x.view(3, 1).t()
        x.mul_(x)
        return both(t, part), both(t, turned)


@program
def a_constant_becomes_dual(t):
    with level(t):
        buffer = t.zeros(2, 3)
        row, column = buffer[0], buffer[:, 1]
        row.copy_(dual(t))
        buffer[1] = dual(t) * 2
        return both(t, buffer), both(t, column)


@program
def a_constant_is_written_into_it(t):
    with level(t):
        x = dual(t).clone()
        x[1] = 0
        x[2:].fill_(4)
        y = dual(t).clone()
        y.zero_()
        return both(t, x), both(t, y)


@program
def turned_memory(t):
    with level(t):
        x = t.autograd.forward_ad.make_dual(t.ones(2, 3).t(), t.arange(6.0).view(3, 2))
        y = x.clone()
        y[0].mul_(2)
        y.t_()
        return (
            both(t, x.t()[0]),
            both(t, y),
            both(t, x.reshape(-1)),
            both(t, x.as_strided((2,), (1,))),
        )


@program
def parts_of_complex(t):
    with level(t):
        z = t.complex(dual(t), dual(t) * 2)
        w = z.clone()
        t.view_as_real(w)[0, 1] = 7
        w.real.mul_(2)
        return both(t, z.abs()), both(t, z.conj() * z.imag), both(t, w), both(t, z.angle())


@program
def backward_through_tangents(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    v = t.tensor([3.0, 4.0], requires_grad=True)
    with level(t):
        y = t.autograd.forward_ad.make_dual(x, v).pow(3).mul(x)
        found = both(t, y)
        second = t.autograd.grad(found[1].sum(), [x, v], retain_graph=True)
        return second, t.autograd.grad(found[0].sum(), [x])


@program
def tangents_of_gradients(t):
    def loss(x):
        y = x.exp().softmax(0)
        z = y.clone()
        z.mul_(x)
        z[1:].sin_()
        return (z * y).sum()

    x = t.tensor([1.0, 2.0, 0.5])
    return t.func.jvp(t.func.grad(loss), (x,), (t.tensor([1.0, 0.5, 2.0]),))


@program
def levels(t):
    def inner(x, y):
        return t.func.jvp(lambda z: z.sin() * y * x, (x,), (x,))[1]

    x = t.tensor([1.0, 2.0])
    return t.func.jvp(inner, (x, x * 2), (t.ones(2), x))


@program
def levels_apart(t):
    x = t.tensor(2.0)
    one = t.tensor(1.0)
    return t.func.jvp(lambda a: a * t.func.jvp(lambda b: a + b, (one,), (one,))[1], (x,), (one,))


@program
def columns_of_columns(t):
    def f(x):
        y = x.clone()
        y[0] = x[1] * x[2]
        y.mul_(x)
        return y.sum() * x.prod()

    x = t.tensor([1.0, 2.0, 3.0])
    return (
        t.func.jacfwd(t.func.jacfwd(f))(x),
        t.func.hessian(f)(x),
        t.func.jacrev(t.func.jacfwd(f))(x),
    )


@program
def third_derivatives(t):
    f = t.func.jacfwd(t.func.jacfwd(t.func.jacfwd(lambda x: (x.sin() * x.exp()).sum())))
    return f(t.tensor([0.5, 1.0]))


@program
def gradient_of_columns(t):
    return t.func.grad(lambda x: t.func.jacfwd(lambda y: y.pow(3))(x).sum())(t.tensor([1.0, 2.0]))


@program
def linearized(t):
    def f(x, y):
        return {"a": x * y.sin(), "b": t.ones(2), "c": y @ y}

    x, y = t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])
    results, push = t.func.linearize(f, x, y)
    return results, push(x, y * 2), push(y, t.zeros(2))


@program
def no_grad_inside(t):
    def f(x):
        with t.no_grad():
            c = x * x
        return x - c

    return t.func.jvp(f, (t.tensor([1.0, 2.0]),), (t.ones(2),))


@program
def networks(t):
    t.manual_seed(0)
    x = t.arange(24.0).view(2, 3, 4).sin()
    w = t.arange(18.0).view(2, 3, 3).cos()

    def f(x, w):
        y = t.nn.functional.conv1d(x, w, padding=1)
        y = t.nn.functional.layer_norm(y, (4,)) + t.nn.functional.max_pool1d(y, 3, 1, 1)
        y = t.nn.functional.batch_norm(y, None, None, training=True).softmax(-1).log_softmax(1)
        y = t.nn.functional.group_norm(y, 2)
        return t.nn.functional.scaled_dot_product_attention(y, y, y).norm(dim=1).logsumexp(0)

    return t.func.jvp(f, (x, w), (x.cos(), w.sin()))


def function_of(t):
    class Cube(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, factor):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x, y)
            ctx.factor = factor
            return x**3 * factor, x + y

        @staticmethod
        def backward(ctx, grad, other):
            (x,) = ctx.saved_tensors
            return 3 * x * x * ctx.factor * grad + other, other, None

        @staticmethod
        def jvp(ctx, of_x, of_y, nothing):
            x, y = ctx.saved_tensors
            assert nothing is None
            return 3 * x * x * ctx.factor * of_x, of_x + of_y

    return Cube


@program
def own_function(t):
    x = t.tensor([1.0, 2.0])
    with level(t):
        results = function_of(t).apply(dual(t, x=(1.0, 2.0), v=(3.0, 1.0)), x, 2.0)
        return [both(t, y) for y in results]


@program
def gradient_of_own_function(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with level(t):
        d = t.autograd.forward_ad.make_dual(x, t.ones(2))
        y = function_of(t).apply(d, d, 2.0)[0]
        return t.autograd.grad(both(t, y)[1].sum(), [x])


def own(t, jvp):
    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    if jvp is not None:
        Double.jvp = staticmethod(jvp)
    with level(t):
        return both(t, Double.apply(dual(t)))


ERRORS = {
    "no level": lambda t: dual(t),
    "leaving none": lambda t: t.autograd.forward_ad.exit_dual_level(level=2),
    "sizes": lambda t: dual(t, v=(1.0,)),
    "an integer": lambda t: dual(t, x=(1, 2, 3)),
    "an integer tangent": lambda t: dual(t, v=(1, 2, 3)),
    "twice": lambda t: t.autograd.forward_ad.make_dual(dual(t), t.ones(3)),
    "out": lambda t: t.add(dual(t), 1, out=t.empty(3)),
    "resize": lambda t: dual(t).resize_(2),
    "no jvp": lambda t: own(t, None),
    "too many": lambda t: own(t, lambda ctx, v: (v, v)),
    "a number": lambda t: own(t, lambda ctx, v: 3),
    "wrong size": lambda t: own(t, lambda ctx, v: v.sum()),
}

CALLS = {
    "sizes": lambda t, x: t.func.jvp(t.sin, (x,), (x[:1],)),
    "a list": lambda t, x: t.func.jvp(t.sin, [x], (x,)),
    "nothing": lambda t, x: t.func.jvp(t.sin, (), ()),
    "integers": lambda t, x: t.func.jvp(t.sin, (x.int(),), (x,)),
    "a number": lambda t, x: t.func.jvp(t.sin, (3.0,), (x,)),
    "a number given": lambda t, x: t.func.jvp(lambda y: 3, (x,), (x,)),
    "independent": lambda t, x: t.func.jvp(lambda y: t.ones(2), (x,), (x,), strict=True),
    "no pair": lambda t, x: t.func.jvp(t.sin, (x,), (x,), has_aux=True),
    "columns by integers": lambda t, x: t.func.jacfwd(t.sin)(x.int()),
    "columns of a number": lambda t, x: t.func.jacfwd(lambda y: 3)(x),
    "no such argument": lambda t, x: t.func.jacfwd(t.sin, argnums=2)(x),
    "no argument": lambda t, x: t.func.jacfwd(t.sin, argnums=())(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name):
    check(PROGRAMS[name])


@pytest.mark.parametrize("name", ERRORS)
def test_errors_as_in_pytorch(name):
    is_alone = name in ("no level", "leaving none", "no jvp", "too many", "a number", "wrong size")

    def run(t):
        if is_alone:
            return ERRORS[name](t)
        with level(t):
            return ERRORS[name](t)

    check(run)


@pytest.mark.parametrize("name", CALLS)
def test_calls_as_in_pytorch(name):
    check(lambda t: CALLS[name](t, t.tensor([1.0, 2.0])))
