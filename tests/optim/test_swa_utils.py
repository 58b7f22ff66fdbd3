"""Averaged models, the statistics of batch norm, and the schedule that goes with them."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang as sl
from scriptlang import nn
from scriptlang.optim import swa_utils

from .test_lr_scheduler import optimizer

AVERAGES = {
    "equal": lambda s: {},
    "one": lambda s: {"avg_fn": s.get_swa_avg_fn()},
    "many": lambda s: {"multi_avg_fn": s.get_swa_multi_avg_fn()},
    "fading": lambda s: {"avg_fn": s.get_ema_avg_fn(0.75), "use_buffers": True},
    "many fading": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.75), "use_buffers": True},
}


def averaged(package, name, steps=4):
    """The state of an averaged model after some updates."""
    model = package.nn.Sequential(package.nn.Linear(3, 2), package.nn.BatchNorm1d(2))
    swa = package.optim.swa_utils
    made = swa.AveragedModel(model, **AVERAGES[name](swa))
    rng = np.random.default_rng(0)
    for _ in range(steps):
        for tensor in (*model.parameters(), *model.buffers()):
            values = np.asarray(rng.standard_normal(tuple(tensor.shape)) * 4)
            tensor.detach().copy_(package.from_numpy(values).to(tensor.dtype))
        made.update_parameters(model)
    return {key: value.detach().numpy() for key, value in made.state_dict().items()}


@pytest.mark.oracle
@pytest.mark.parametrize("name", AVERAGES)
def test_averages_are_those_of_pytorch(name):
    import torch

    ours, theirs = averaged(sl, name), averaged(torch, name)
    assert list(ours) == list(theirs)
    for key, value in ours.items():
        assert value.dtype == theirs[key].dtype
        np.testing.assert_allclose(value, theirs[key], 1e-5, 1e-6, err_msg=key)


@pytest.mark.parametrize("name", ["equal", "one", "many"])
def test_all_values_count_equally(name):
    model = nn.Linear(1, 1, bias=False)
    made = swa_utils.AveragedModel(model, **AVERAGES[name](swa_utils))
    for value in (1.0, 2.0, 6.0):
        model.weight.detach().fill_(value)
        made.update_parameters(model)
    assert made.module.weight.item() == pytest.approx(3.0) and made.n_averaged.item() == 3
    assert made(sl.ones(1)).item() == pytest.approx(3.0)


@pytest.mark.parametrize("name", ["fading", "many fading"])
def test_old_values_fade(name):
    model = nn.Linear(1, 1, bias=False)
    made = swa_utils.AveragedModel(model, **AVERAGES[name](swa_utils))
    for value in (1.0, 2.0, 6.0):
        model.weight.detach().fill_(value)
        made.update_parameters(model)
    assert made.module.weight.item() == pytest.approx(0.75 * 1.25 + 0.25 * 6.0)


def test_statistics_are_means_over_all_batches():
    model = nn.Sequential(nn.BatchNorm1d(2, momentum=0.3)).eval()
    batches = [sl.randn(8, 2) + 5 for _ in range(4)]
    swa_utils.update_bn([(x, None) for x in batches], model)
    mean = sl.stack(batches).mean([0, 1])
    np.testing.assert_allclose(model[0].running_mean.numpy(), mean.numpy(), 1e-5)
    assert model[0].momentum == 0.3 and not model.training
    assert model[0].num_batches_tracked.item() == 4


def rates(package, strategy, epochs):
    o = optimizer(package)
    before = package.optim.lr_scheduler.MultiplicativeLR(o, lambda e: 0.9)
    scheduler = package.optim.swa_utils.SWALR(o, [0.02, 0.5], epochs, strategy)
    seen = []
    for i in range(12):
        o.step()
        (before if i < 4 else scheduler).step()
        seen.append(scheduler.get_last_lr())
    options = [{k: v for k, v in g.items() if k != "params"} for g in o.param_groups]
    return seen, scheduler.state_dict(), options


@pytest.mark.oracle
@pytest.mark.parametrize("epochs", [0, 1, 5])
@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_rates_are_those_of_pytorch(strategy, epochs):
    import torch

    assert rates(sl, strategy, epochs) == rates(torch, strategy, epochs)


def test_the_rate_ends_where_it_was_told_to():
    seen, state, _ = rates(sl, "linear", 5)
    assert seen[-1] == [0.02, 0.5]
    assert state["_anneal_strategy"] == "linear" and "anneal_func" not in state


@pytest.mark.parametrize("call, words", [
    (lambda: swa_utils.SWALR(optimizer(sl), 0.1, anneal_strategy="x"), "instead got x"),
    (lambda: swa_utils.SWALR(optimizer(sl), 0.1, -1), "greater than 0, got -1"),
    (lambda: swa_utils.SWALR(optimizer(sl), [0.1]), "swa_lr has 1 values"),
    (lambda: swa_utils.get_ema_avg_fn(1.5), "Invalid decay value 1.5"),
    (lambda: swa_utils.get_ema_multi_avg_fn(-1), "Invalid decay value -1"),
])  # fmt: skip
def test_what_is_wrong_is_said(call, words):
    with pytest.raises(ValueError, match=words):
        call()
