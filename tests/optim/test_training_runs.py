"""Runs of 100 training steps: the loss curve of PyTorch, with its random numbers, on both engines.

Dropout and the sampling of a VAE draw what PyTorch draws for the same seed, and running statistics
of batch norms are compared in the end.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import scriptlang as sl
from benchmarks import training as nets

OPTIMIZERS = {"sgd": ("SGD", {"lr": 0.003, "momentum": 0.9}), "adam": ("Adam", {"lr": 3e-3})}
"""Rates at which rounding does not grow: at higher ones the ResNet's curve is by chance."""

STEPS = 100


def losses_of_pytorch(name, optimizer):
    """The losses of steps, the weights before and the state after them."""
    import torch

    torch.manual_seed(3)
    net, loss = nets.NETS[name].of(torch)
    cls, options = OPTIMIZERS[optimizer]
    start = {k: v.clone() for k, v in net.state_dict().items()}
    made = getattr(torch.optim, cls)(net.parameters(), **options)
    torch.manual_seed(11)
    seen = []
    for x, y in nets.batches(name, STEPS):
        made.zero_grad()
        value = loss(net(torch.from_numpy(x)), torch.from_numpy(y))
        value.backward()
        made.step()
        seen.append(value.item())
    return seen, start, net.state_dict()


def made_here(name, start):
    net, loss = nets.NETS[name].of(sl)
    net.load_state_dict({k: sl.from_numpy(v.numpy()) for k, v in start.items()})
    return net, loss


def is_close(ours: list[float], theirs: list[float]) -> bool:
    """Whether one loss curve is the other: to 1e-4 early, and with the same end."""
    early = np.allclose(ours[:10], theirs[:10], 1e-4, 1e-6)
    ends = np.mean(ours[-20:]), np.mean(theirs[-20:])
    return early and math.isclose(*ends, rel_tol=0.1, abs_tol=0.01)


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", nets.NETS)
def test_programs_train_as_pytorch(name, optimizer, engine, tmp_path):
    expected, start, end = losses_of_pytorch(name, optimizer)
    net, loss = made_here(name, start)
    cls, options = OPTIMIZERS[optimizer]
    step = sl.optim.training_step(net, loss, getattr(sl.optim, cls)(net.parameters(), **options))
    step.save(tmp_path / "step.pt")
    step = sl.load(tmp_path / "step.pt", engine=engine)
    sl.manual_seed(11)
    seen = [
        step.step(sl.from_numpy(x), sl.from_numpy(y)).item() for x, y in nets.batches(name, STEPS)
    ]
    assert is_close(seen, expected), (seen[:12], expected[:12], seen[-5:], expected[-5:])
    if optimizer == "adam":
        assert np.mean(expected[-20:]) < 0.9 * np.mean(expected[:5])
    for key, value in end.items():
        if "num_batches" in key:
            assert step.module.state_dict()[key].item() == value.item() == STEPS


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", nets.NETS)
def test_loops_train_as_pytorch(name, optimizer):
    expected, start, end = losses_of_pytorch(name, optimizer)
    net, loss = made_here(name, start)
    cls, options = OPTIMIZERS[optimizer]
    made = getattr(sl.optim, cls)(net.parameters(), **options)
    sl.manual_seed(11)
    seen = []
    for x, y in nets.batches(name, STEPS)[:30]:
        made.zero_grad()
        value = loss(net(sl.from_numpy(x)), sl.from_numpy(y))
        value.backward()
        made.step()
        seen.append(value.item())
    np.testing.assert_allclose(seen[:10], expected[:10], 1e-4, 1e-6)
    np.testing.assert_allclose(seen, expected[:30], 0.1, 0.03)
