"""differentiable=True: derivatives go through steps; and hooks, which see the steps of all."""

from __future__ import annotations

import pytest

import scriptlang as sl

from . import cases

START = (0.5, -1.5)


def loss_after(package, start, name, options, steps):
    """The loss after some steps, from parameters that may require a gradient."""
    param = start * 1.0
    optimizer = getattr(package.optim, name)([param], differentiable=True, **options)
    for _ in range(steps):
        (param.grad,) = package.autograd.grad((param.clone() ** 4).sum(), param, create_graph=True)
        optimizer.step()
    return (param**2).sum()


def slopes(package, name, options, steps=1):
    """The derivative of the loss after some steps by the parameters before them."""
    start = package.tensor(START, dtype=package.float64, requires_grad=True)
    loss_after(package, start, name, options, steps).backward()
    return start.grad.tolist()


@pytest.mark.parametrize(
    "case",
    [
        "sgd_maximize",
        "adam_amsgrad",
        "adamax_all",
        "nadam_decoupled",
        "radam_decoupled",
        "rmsprop_all",
        "adagrad_decay",
        "adadelta_all",
        "asgd_averaged",
    ],
)
def test_derivatives_of_two_steps_are_those_of_differences(case):
    name, options = cases.CASES[case]
    found = slopes(sl, name, options, steps=2)
    for i in range(2):
        ends = []
        for change in (1e-5, -1e-5):
            start = sl.tensor(START, dtype=sl.float64)
            start[i] += change
            start.requires_grad_()
            ends.append(loss_after(sl, start, name, options, 2).item())
        assert found[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("case", [c for c in cases.CASES if not c.startswith("adafactor")])
def test_derivatives_go_through_steps_as_in_pytorch(case):
    import torch

    name, options = cases.CASES[case]
    expected = slopes(torch, name, options)
    assert slopes(sl, name, options) == pytest.approx(expected, rel=1e-6)


def test_derivatives_go_through_a_step():
    """After a step from x to x - 0.1 * 4 x ** 3, the loss is the square of that."""
    start = sl.tensor([0.5], requires_grad=True)
    param = start * 1.0
    optimizer = sl.optim.SGD([param], lr=0.1, differentiable=True)
    (param.grad,) = sl.autograd.grad((param.clone() ** 4).sum(), param, create_graph=True)
    optimizer.step()
    (param**2).sum().backward()
    assert start.grad.item() == pytest.approx(2 * (0.5 - 0.05) * (1 - 1.2 * 0.25), rel=1e-6)


class Halving(sl.optim.Optimizer):
    """An optimizer of a user."""

    def __init__(self, params, **options):
        super().__init__(params, options)

    @sl.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.mul_(0.5)


def test_hooks_see_the_steps_of_all_optimizers():
    seen = []
    before = sl.optim.optimizer.register_optimizer_step_pre_hook(
        lambda o, args, kwargs: seen.append(("before", args[0] is o))
    )
    after = sl.optim.optimizer.register_optimizer_step_post_hook(
        lambda o, args, kwargs: seen.append("after")
    )
    p = sl.nn.Parameter(sl.ones(1))
    optimizer = Halving([p])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("own"))
    optimizer.step()
    before.remove()
    after.remove()
    optimizer.step()
    assert seen == [("before", True), "own", "after", "own"] and p.item() == 0.25


def test_a_hook_may_change_the_arguments_of_a_step():
    optimizer = sl.optim.SGD([sl.nn.Parameter(sl.ones(1))])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7), {}))
    assert optimizer.step() == 7
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


class Twice(sl.optim.SGD):
    """A class of a user whose step calls that of its base."""

    def step(self, closure=None):
        super().step(closure)
        return super().step(closure)


def test_a_step_of_a_class_with_a_base_is_one_step():
    seen = []
    optimizer = Twice([sl.nn.Parameter(sl.ones(1))])
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(o))
    optimizer.step()
    assert seen == [optimizer]
