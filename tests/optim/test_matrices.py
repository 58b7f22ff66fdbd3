"""Muon, which takes matrices only: the numbers of PyTorch, alone and in programs."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang as sl
from scriptlang import nn, optim
from scriptlang.nn import functional as F

from .test_algorithms import assert_same_state, plain
from .test_training_step import ENGINES, eager, model, run, saved


def matrices(package, **options):
    """What Muon makes of a tall matrix and a wide one, and the optimizer."""
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape).astype("float32") for shape in ((4, 2), (2, 3))]
    params = [package.nn.Parameter(package.from_numpy(v)) for v in values]
    optimizer = package.optim.Muon(params, **options)
    for _ in range(3):
        for p in params:
            grad = rng.standard_normal(tuple(p.shape)).astype("float32")
            p.grad = package.from_numpy(grad)
        optimizer.step()
    return [p.detach().numpy() for p in params], optimizer


@pytest.mark.oracle
@pytest.mark.parametrize("options", [
    {},
    {"lr": 0.1, "nesterov": False},
    {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3},
])  # fmt: skip
def test_muon_is_that_of_pytorch(options):
    import torch

    ours, mine = matrices(sl, **options)
    theirs, other = matrices(torch, **options)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, 2e-3, 2e-3)  # its inner numbers are bfloat16
    assert_same_state(plain(mine.state_dict()), plain(other.state_dict()), 1e-5)


def test_a_step_of_muon_is_nearly_orthogonal():
    p = nn.Parameter(sl.zeros(3, 3))
    optimizer = optim.Muon([p], lr=1.0, weight_decay=0.0)
    p.grad = sl.tensor([[3.0, 1.0, 0.0], [0.0, 2.0, 1.0], [1.0, 0.0, 4.0]])
    optimizer.step()
    assert np.abs(np.linalg.svd(p.detach().numpy())[1] - 1).max() < 0.4


def matrix():
    made = nn.Sequential(nn.Linear(6, 3, bias=False))
    with sl.no_grad():
        made[0].weight.copy_(model()[0].weight[:3])
    return made


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_may_use_muon(engine):
    first, second = matrix(), matrix()
    options = {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw"}
    expected = eager(sl, first, optim.Muon(first.parameters(), **options), 4)
    made = optim.Muon(second.parameters(), **options)
    loaded = saved(optim.training_step(second, F.cross_entropy, made), engine)
    np.testing.assert_allclose(run(loaded, 4), expected, 1e-2)
    again = optim.optimizer_of(loaded).state_dict()
    assert again["param_groups"] == made.state_dict()["param_groups"]
