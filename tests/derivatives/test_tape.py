"""The tape: small programs that give the same on torch and on scriptlang, errors included."""

from __future__ import annotations

import pytest

from tests.derivatives.both import check

pytestmark = pytest.mark.oracle

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def leaf(t, *values):
    return t.tensor(list(values), requires_grad=True)


# Values


@program
def chain(t):
    x = leaf(t, 1.0, 2.0, 3.0)
    y = (x * x + 2 * x).sum()
    y.backward()
    return y, x.grad, x.is_leaf, y.is_leaf, y.requires_grad, y.grad_fn is not None


@program
def accumulates(t):
    x = leaf(t, 1.0, 2.0)
    (x * 2).sum().backward()
    (x * x).sum().backward()
    return x.grad


@program
def used_twice(t):
    x = leaf(t, 2.0)
    y = x * x
    z = y * y + y
    z.sum().backward()
    return x.grad


@program
def broadcast(t):
    x, y = t.ones(3, 1, requires_grad=True), t.ones(1, 4, requires_grad=True)
    (x * y * 3).sum().backward()
    return x.grad, y.grad


@program
def grads_do_not_share_memory(t):
    a, b = leaf(t, 1.0), leaf(t, 2.0)
    (a + b).sum().backward()
    a.grad.add_(5)
    return a.grad, b.grad


@program
def given_gradient_is_not_shared(t):
    x, g = leaf(t, 1.0, 2.0), t.ones(2)
    x.backward(g)
    g.zero_()
    return x.grad


@program
def gradient_given(t):
    x = leaf(t, 1.0, 2.0)
    (x * x).backward(t.tensor([1.0, 10.0]))
    return x.grad


@program
def grad_of_several(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    return t.autograd.grad([(x * y).sum(), (x * 3).sum()], [x, y])


@program
def grad_keeps_grad(t):
    x = leaf(t, 1.0)
    t.autograd.grad((x * 2).sum(), x)
    return x.grad


@program
def grad_of_a_middle(t):
    x = leaf(t, 3.0)
    y = x * x
    z = y * 2
    return t.autograd.grad(z.sum(), [y, x])


@program
def unused(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    return t.autograd.grad((x * 2).sum(), [x, y])


@program
def unused_allowed(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    return t.autograd.grad((x * 2).sum(), [x, y], allow_unused=True)


@program
def unused_as_zeros(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    found = t.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True)
    kept = t.autograd.grad((x * 2).sum(), [x, y], create_graph=True, materialize_grads=True)
    return *found, [g.requires_grad for g in (*found, *kept)]


@program
def nodes_of_operators_on_numbers(t):
    x, c = leaf(t, 1.0), t.tensor(2.0)
    made = [x * 2, 2 * x, x + 2, x - 2, 2 - x, x / 2, 2 / x, x**2, x % 2, x * c, c * x]
    made += [t.where(x > 0, x, 0.0), t.where(x > 0, 0.0, x), t.div(x, 2, rounding_mode="floor")]
    made += [x.clone().mul_(2), x.clone().add_(1), x.clamp(0, 1), t.xlogy(x, 2.0)]
    nodes = [y.grad_fn for y in made]
    return [[n.name(), *(f and f.name() for f, _ in n.next_functions)] for n in nodes]


@program
def inputs_of_backward(t):
    x, y = leaf(t, 1.0), leaf(t, 2.0)
    (x * y).sum().backward(inputs=[x])
    return x.grad, y.grad


@program
def inputs_of_backward_in_the_middle(t):
    x = leaf(t, 3.0)
    y = x * x
    (y * 2).sum().backward(inputs=[y])
    return x.grad, y.grad


@program
def several_roots(t):
    x = leaf(t, 1.0, 2.0)
    a, b = (x * 2).sum(), x * x
    t.autograd.backward([a, b], [None, t.ones(2)])
    return x.grad


@program
def integers_have_none(t):
    x = leaf(t, 1.0, 2.0, 0.5)
    values, places = x.max(0)
    return values.requires_grad, places.requires_grad, (x > 1).requires_grad


@program
def detached(t):
    x = leaf(t, 2.0)
    d = (x * x).detach()
    (d * x).sum().backward()
    return d.requires_grad, x.grad


@program
def no_grad(t):
    x = leaf(t, 2.0)
    with t.no_grad():
        y = x * 2
        with t.enable_grad():
            z = x * 3
    return y.requires_grad, z.requires_grad, t.is_grad_enabled()


@program
def set_grad_enabled(t):
    x = leaf(t, 2.0)
    with t.set_grad_enabled(False):
        y = x * 2
    return y.requires_grad, (x * 2).requires_grad


@program
def inference_mode(t):
    x = leaf(t, 2.0)
    with t.inference_mode():
        y = x * 2
    return y.requires_grad


@program
def retained(t):
    x = leaf(t, 2.0)
    y = x * x
    y.retain_grad()
    (y * 3).sum().backward()
    return y.grad, x.grad, y.retains_grad, x.retains_grad


@program
def lists(t):
    x = t.arange(6.0).requires_grad_()
    a, b, c = x.split(2)
    p, q = t.stack([a, b]).unbind(0)
    (t.cat([a * 2, c]).sum() + (p * q).sum()).backward()
    return x.grad


@program
def one_of_several_results(t):
    x = leaf(t, 3.0, 1.0, 2.0)
    values, _ = x.sort()
    (values * t.tensor([1.0, 10.0, 100.0])).sum().backward()
    return x.grad


@program
def complex_numbers(t):
    x = t.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = leaf(t, 2.0, 5.0)
    (x * x.conj() * y).real.sum().backward()
    return x.grad, y.grad


@program
def mixed_types(t):
    x = t.ones(2, dtype=t.float64, requires_grad=True)
    y = leaf(t, 1.0, 2.0)
    (x * y).sum().backward()
    return x.grad, y.grad


@program
def a_long_chain(t):
    x = leaf(t, 1.0)
    y = x
    for _ in range(5000):
        y = y + 1
    y.sum().backward()
    return x.grad


@program
def data_is_apart(t):
    x = leaf(t, 1.0, 2.0)
    y = x * x
    x.data.add_(1)
    y.sum().backward()
    return x.grad, x


# Double backward


@program
def second(t):
    x = leaf(t, 2.0, 3.0)
    (g,) = t.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return g, h, g.requires_grad, h.requires_grad


@program
def third(t):
    x = leaf(t, 2.0)
    y = (x * x * x * x).sum()
    for _ in range(3):
        (y,) = t.autograd.grad(y.sum(), x, create_graph=True)
    return y


@program
def second_by_backward(t):
    x = leaf(t, 2.0)
    (x * x * x).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    g.sum().backward()
    return g, x.grad


@program
def penalty(t):
    x, w = leaf(t, 1.0, 2.0), leaf(t, 3.0, 4.0)
    (g,) = t.autograd.grad((w * x * x).sum(), x, create_graph=True)
    (g * g).sum().backward()
    return w.grad, x.grad


# Hooks


@program
def hooks_in_order(t):
    said = []
    x = leaf(t, 2.0)
    y = x * 3
    x.register_hook(lambda g: said.append(("x", g.item())))
    y.register_hook(lambda g: said.append(("y", g.item())) or g * 2)
    y.register_hook(lambda g: said.append(("y again", g.item())))
    (y * 5).sum().backward()
    return said, x.grad


@program
def hook_removed(t):
    x = leaf(t, 2.0)
    handle = x.register_hook(lambda g: g * 100)
    handle.remove()
    (x * 2).sum().backward()
    return x.grad


@program
def hook_sees_the_sum(t):
    said = []
    x = leaf(t, 2.0)
    x.register_hook(lambda g: said.append(g.item()))
    (x * 2 + x * 3).sum().backward()
    return said


@program
def hook_of_grad(t):
    x = leaf(t, 2.0)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    return t.autograd.grad((y * 5).sum(), [x, y])


@program
def hook_after(t):
    said = []
    x = leaf(t, 2.0)
    x.register_post_accumulate_grad_hook(lambda p: said.append(p.grad.item()))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    return said


@program
def hook_of_no_gradient(t):
    t.ones(2).register_hook(print)


@program
def hook_of_a_node(t):
    said = []
    x = leaf(t, 2.0)
    y = x * 3
    y.grad_fn.register_hook(lambda i, o: said.append([g.item() for g in o]))
    y.grad_fn.register_prehook(lambda o: said.append([g.item() for g in o]))
    (y * 5).sum().backward()
    return said


# Errors


@program
def not_scalar(t):
    leaf(t, 1.0, 2.0).mul(2).backward()


@program
def no_gradient_at_all(t):
    t.ones(1).sum().backward()


@program
def no_gradient_of_the_input(t):
    x = leaf(t, 1.0)
    t.autograd.grad(x.sum(), t.ones(1))


@program
def twice(t):
    x = leaf(t, 1.0)
    y = (x * x).sum()
    y.backward()
    y.backward()


@program
def twice_retained(t):
    x = leaf(t, 1.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@program
def twice_where_nothing_was_kept(t):
    x = leaf(t, 1.0)
    y = (x + x).sum()
    y.backward()
    y.backward()
    return x.grad


@program
def wrong_shape(t):
    leaf(t, 1.0, 2.0).mul(2).backward(t.ones(3))


@program
def not_a_gradient(t):
    t.autograd.backward([leaf(t, 1.0, 2.0).mul(2)], [3])


@program
def complex_root(t):
    t.ones(1, dtype=t.complex64, requires_grad=True).sum().backward()


@program
def integers_require_none(t):
    t.ones(2, dtype=t.int64).requires_grad_()


@program
def flag_of_a_result(t):
    (leaf(t, 1.0) * 2).requires_grad_(False)


@program
def numpy_of_it(t):
    leaf(t, 1.0).numpy()


@program
def deepcopy_of_a_result(t):
    import copy

    copy.deepcopy(leaf(t, 1.0) * 2)


@program
def deepcopy_of_a_leaf(t):
    import copy

    x = leaf(t, 1.0)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    return y.requires_grad, y.grad, y.is_leaf


@program
def out(t):
    t.add(leaf(t, 1.0), 1, out=t.ones(1))


@program
def grad_of_another_size(t):
    leaf(t, 1.0).grad = t.ones(3)


@program
def prints(t):
    x = leaf(t, 1.0)
    return repr(x), repr(x * 2), repr((x + 1).sum()), repr(x.exp()), repr((x * 2).detach())


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name):
    check(PROGRAMS[name])
