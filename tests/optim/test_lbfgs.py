"""LBFGS against PyTorch's, on functions with known minima and on a small fit."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scriptlang as sl
from scriptlang.optim.line_search import Point, cubic_minimum, strong_wolfe

OPTIONS = {
    "plain": {"lr": 0.05},
    "wolfe": {"line_search_fn": "strong_wolfe"},
    "short history": {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 7},
    "few evaluations": {"lr": 0.02, "max_eval": 5},
    "far": {"line_search_fn": "strong_wolfe", "lr": 30.0, "max_iter": 4},
}


def rosenbrock(x, y):
    return ((1 - x) ** 2).sum() + 100 * ((y - x * x) ** 2).sum()


def run(package, options, steps=4):
    x = package.nn.Parameter(package.tensor([-1.2, 0.3], dtype=package.float64))
    y = package.nn.Parameter(package.tensor([1.0, -0.4], dtype=package.float64))
    optimizer = package.optim.LBFGS([x, y], **options)
    seen = []

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(x, y)
        loss.backward()
        return loss

    for _ in range(steps):
        loss = optimizer.step(closure).item()
        seen.append((loss, *x.tolist(), *y.tolist()))
    return np.array(seen), optimizer


@pytest.mark.oracle
@pytest.mark.parametrize("name", OPTIONS)
def test_steps_are_those_of_pytorch(name):
    import torch

    ours, our_optimizer = run(sl, OPTIONS[name])
    theirs, their_optimizer = run(torch, OPTIONS[name])
    np.testing.assert_allclose(ours, theirs, 1e-6, 1e-8)
    mine, other = our_optimizer.state_dict(), their_optimizer.state_dict()
    assert mine["param_groups"] == other["param_groups"]
    assert set(mine["state"][0]) == set(other["state"][0])
    for count in ("func_evals", "n_iter"):
        assert mine["state"][0][count] == other["state"][0][count]


@pytest.mark.oracle
def test_a_state_of_pytorch_goes_on_here():
    import torch

    options = OPTIONS["short history"]
    expected, _ = run(torch, options)
    half, theirs = run(torch, options, steps=2)
    x = sl.nn.Parameter(sl.tensor(list(half[-1][1:3]), dtype=sl.float64))
    y = sl.nn.Parameter(sl.tensor(list(half[-1][3:]), dtype=sl.float64))
    ours = sl.optim.LBFGS([x, y])
    ours.load_state_dict(theirs.state_dict())

    def closure():
        ours.zero_grad()
        loss = rosenbrock(x, y)
        loss.backward()
        return loss

    for i in (2, 3):
        ours.step(closure)
        np.testing.assert_allclose([*x.tolist(), *y.tolist()], expected[i][1:], 1e-6)


def test_the_minimum_is_found():
    seen, _ = run(sl, OPTIONS["wolfe"], steps=8)
    np.testing.assert_allclose(seen[-1][1:], 1.0, 1e-5)


def test_what_is_refused():
    p, q = (sl.nn.Parameter(sl.ones(1)) for _ in range(2))
    with pytest.raises(ValueError, match="per-parameter options"):
        sl.optim.LBFGS([{"params": [p]}, {"params": [q]}])
    with pytest.raises(TypeError, match="a function that computes the loss"):
        sl.optim.LBFGS([p]).step()
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        run(sl, {"line_search_fn": "armijo"})
    with pytest.raises(TypeError, match="a program cannot hold LBFGS"):
        sl.optim.training_step(sl.nn.Linear(1, 1), None, sl.optim.LBFGS([p]))


def test_a_cubic_is_least_where_its_slope_is_zero():
    """x^3 - 3x has its minimum at 1."""
    at = [Point(t, t**3 - 3 * t, sl.zeros(1), 3 * t * t - 3) for t in (0.0, 3.0)]
    assert cubic_minimum(*at, 0.0, 3.0) == pytest.approx(1.0)
    assert cubic_minimum(*reversed(at), 0.0, 3.0) == pytest.approx(1.0)
    assert cubic_minimum(*at, 1.5, 3.0) == 1.5


@pytest.mark.parametrize("first", [1e-3, 0.1, 1.0, 50.0])
def test_a_line_search_fulfils_both_conditions(first):
    def at(t):
        return Point(t, -math.sin(t) * math.exp(-t / 9), sl.zeros(1), slope(t))

    def slope(t):
        return -(math.cos(t) - math.sin(t) / 9) * math.exp(-t / 9)

    found, count = strong_wolfe(at, first, at(0.0), 1.0)
    assert found.loss <= 1e-4 * found.t * slope(0.0)
    assert abs(found.slope) <= 0.9 * abs(slope(0.0))
    assert 1 <= count <= 26
