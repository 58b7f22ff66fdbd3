"""Writes in place and through views: gradients, and errors, as PyTorch gives them."""

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


@program
def in_place_of_a_result(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    y.mul_(3).add_(1)
    y.sum().backward()
    return x.grad, y


@program
def in_place_with_the_value_needed(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 1
    y.pow_(3)
    y.sin_()
    y.sum().backward()
    return x.grad


@program
def in_place_with_the_result_needed(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 1
    y.exp_()
    y.sum().backward()
    return x.grad


@program
def the_result_that_was_needed_is_written(t):
    x = leaf(t, 1.0, 2.0)
    y = x.exp()
    y.mul_(2)
    y.sum().backward()


@program
def the_input_that_was_needed_is_written(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 1
    z = y * y
    y.add_(1)
    z.sum().backward()


@program
def the_input_that_was_not_needed_is_written(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 1
    z = y + 3
    y.add_(1)
    z.sum().backward()
    return x.grad


@program
def itself(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 1
    y.mul_(y)
    y.sum().backward()


@program
def a_leaf(t):
    leaf(t, 1.0).add_(1)


@program
def a_leaf_without_gradients(t):
    x = leaf(t, 1.0)
    with t.no_grad():
        x.add_(1)
    (x * x).sum().backward()
    return x, x.grad, x._version


@program
def a_view_of_a_leaf(t):
    leaf(t, 1.0, 2.0)[0].add_(1)


@program
def an_item_of_a_leaf(t):
    leaf(t, 1.0, 2.0)[0] = 1


@program
def a_buffer_slice_by_slice(t):
    x = leaf(t, 1.0, 2.0, 3.0)
    out = t.zeros(3)
    for i in range(3):
        out[i] = x[i] * i
    (out * out).sum().backward()
    return out.requires_grad, x.grad, out


@program
def a_buffer_by_rows(t):
    x = t.ones(2, 3, requires_grad=True)
    out = t.zeros(4, 3)
    out[1:3] = x * 2
    out[0] = x.sum(0)
    out[:, 1] *= 5
    (out * t.arange(12.0).reshape(4, 3)).sum().backward()
    return x.grad, out


@program
def a_buffer_by_indices(t):
    x = leaf(t, 1.0, 2.0)
    out = t.zeros(4)
    out[t.tensor([3, 0])] = x * x
    (out * t.arange(4.0)).sum().backward()
    return x.grad


@program
def a_buffer_by_a_mask(t):
    x = leaf(t, 1.0, 2.0)
    out = t.ones(4) * x.sum()
    out[t.tensor([True, False, True, False])] = 0
    out.sum().backward()
    return x.grad


@program
def a_view_sees_writes_to_its_base(t):
    x = leaf(t, 2.0)
    base = t.zeros(3)
    view = base[1:]
    base[2] = x[0] * 3
    before = view.requires_grad, view.grad_fn is not None
    view.sum().backward()
    return before, x.grad


@program
def a_base_sees_writes_to_views(t):
    x = leaf(t, 2.0)
    base = x.expand(3) * 1
    view = base[1:]
    view.mul_(10)
    base.sum().backward()
    return x.grad, base


@program
def a_view_of_a_view(t):
    x = leaf(t, 1.0, 2.0, 3.0, 4.0)
    base = x * 1
    base.view(2, 2)[1].mul_(3)
    (base * base).sum().backward()
    return x.grad, base


@program
def a_transposed_view(t):
    x = t.arange(6.0).reshape(2, 3).requires_grad_()
    base = x * 1
    base.t()[0] = 7
    (base * base).sum().backward()
    return x.grad


@program
def a_written_view_has_its_own_gradient(t):
    x = leaf(t, 1.0, 2.0)
    base = x * 1
    view = base[0]
    view.mul_(4)
    (view * 2).backward()
    return x.grad


@program
def views_of_splits(t):
    x = leaf(t, 1.0, 2.0)
    a, b = (x * 1).split(1)
    a.mul_(2)


@program
def views_of_unbind(t):
    x = leaf(t, 1.0, 2.0)
    a, b = (x * 1).unbind(0)
    a.mul_(2)


@program
def splits_without_gradients(t):
    x = t.ones(2)
    a, b = x.split(1)
    a.mul_(2)
    return x


@program
def a_view_made_without_gradients(t):
    x = leaf(t, 1.0, 2.0) * 1
    with t.no_grad():
        view = x[0]
    view.mul_(2)


@program
def a_view_made_and_written_without_gradients(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 3
    with t.no_grad():
        y[0].mul_(2)
    y.sum().backward()
    return x.grad, y


@program
def versions(t):
    x = t.ones(3)
    a = x._version
    x.add_(1)
    x[0].zero_()
    y = x.view(3)
    y += 1
    return a, x._version, y._version, x.detach()._version, x.data._version


@program
def a_detached_write_is_counted(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 1
    z = y * y
    y.detach().zero_()
    z.sum().backward()


@program
def masked_fill(t):
    x = leaf(t, 1.0, 2.0, 3.0)
    y = x * 1
    y.masked_fill_(t.tensor([True, False, True]), 0.5)
    (y * y).sum().backward()
    return x.grad


@program
def fill_and_zero(t):
    x = leaf(t, 1.0, 2.0)
    y, z = x * 1, x * 2
    y.fill_(3)
    z.zero_()
    (y + z).sum().backward()
    return x.grad


@program
def copy(t):
    x, y = leaf(t, 1.0, 2.0), leaf(t, 5.0)
    z = x * 2
    z.copy_(y)
    z.sum().backward()
    return x.grad, y.grad


@program
def copy_to_another_type(t):
    x = leaf(t, 1.0, 2.0)
    z = t.zeros(2, dtype=t.float64)
    z.copy_(x)
    z.sum().backward()
    return x.grad, z


@program
def index_add(t):
    x, y = leaf(t, 1.0, 2.0), leaf(t, 3.0, 4.0, 5.0)
    z = x * 2
    z.index_add_(0, t.tensor([0, 0, 1]), y)
    (z * z).sum().backward()
    return x.grad, y.grad


@program
def scatter(t):
    x, y = t.ones(2, 3, requires_grad=True), t.ones(2, 2, requires_grad=True)
    z = x * 2
    z.scatter_(1, t.tensor([[0, 1], [2, 0]]), y * 3)
    (z * z).sum().backward()
    return x.grad, y.grad


@program
def transposed_in_place(t):
    x = t.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 1
    y.t_()
    y.unsqueeze_(0)
    (y * t.arange(6.0).reshape(1, 3, 2)).sum().backward()
    return x.grad


@program
def relu_in_place(t):
    x = leaf(t, -1.0, 2.0)
    y = x * 1
    t.relu_(y)
    y.sum().backward()
    return x.grad


@program
def resize(t):
    leaf(t, 1.0).resize_(3)


@program
def detach_in_place(t):
    x = leaf(t, 1.0, 2.0)
    y = x * 2
    y.detach_()
    return y.requires_grad, y.is_leaf


@program
def detach_a_view_in_place(t):
    (leaf(t, 1.0, 2.0) * 2)[0].detach_()


@program
def hooks_stay_at_what_was(t):
    said = []
    x = leaf(t, 1.0)
    y = x * 2
    y.register_hook(lambda g: said.append(g.item()))
    y.mul_(10)
    (y * 3).sum().backward()
    return said, x.grad


@program
def retained_after_a_write(t):
    x = leaf(t, 1.0)
    y = x * 2
    y.retain_grad()
    y.mul_(10)
    (y * 3).sum().backward()
    return y.grad, x.grad


@program
def second_through_a_write(t):
    x = leaf(t, 1.0, 2.0)
    out = t.zeros(2)
    out[0] = x[0] * x[1] * x[1]
    out[1] = x[0] ** 3
    (g,) = t.autograd.grad((out * out).sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return g, h


@program
def into_a_view_with_gradients_of_both(t):
    x, w = leaf(t, 1.0, 2.0, 3.0), leaf(t, 5.0)
    y = x * x
    y[1:] *= w
    y[:2] += w * 2
    (y * t.tensor([1.0, 10.0, 100.0])).sum().backward()
    return x.grad, w.grad


@program
def real_part_is_written(t):
    x = leaf(t, 1.0, 2.0)
    z = t.zeros(2, dtype=t.complex64)
    t.view_as_real(z)[:, 0] = x * x
    (z * z.conj()).real.sum().backward()
    return x.grad


@program
def integers_are_written(t):
    x = leaf(t, 1.5, 2.5)
    z = t.zeros(2, dtype=t.int64)
    z[0] = 3
    return z.requires_grad, z


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name):
    check(PROGRAMS[name])
