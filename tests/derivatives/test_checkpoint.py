"""torch.utils.checkpoint: parts of the forward pass that backward computes again."""

from __future__ import annotations

import pytest

import scriptlang
from scriptlang import nn
from scriptlang.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def block(x):
    return x.sin().exp().sin()


def slope(program):
    x = scriptlang.tensor([0.3, 0.7], requires_grad=True)
    program(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradients_are_those_of_the_block(use_reentrant):
    calls = []

    def counted(x):
        calls.append(1)
        return block(x)

    found = slope(lambda x: checkpoint(counted, x, use_reentrant=use_reentrant))
    assert found == pytest.approx(slope(block)) and len(calls) == 2


def test_checkpoints_nest():
    def inner(x):
        return checkpoint(block, x, use_reentrant=False)

    found = slope(lambda x: checkpoint(lambda t: inner(t) * t, x, use_reentrant=False))
    assert found == pytest.approx(slope(lambda x: block(x) * x))


@pytest.mark.parametrize("early_stop", [True, False])
def test_gradients_inside_of_a_block(early_stop):
    def gradient(x):
        with scriptlang.enable_grad():
            (g,) = scriptlang.autograd.grad(block(x).sum(), x, create_graph=True)
        return g

    found = slope(lambda x: checkpoint(gradient, x, use_reentrant=False, early_stop=early_stop))
    assert found == pytest.approx(slope(gradient))


def test_random_numbers_are_drawn_again():
    layer = nn.Dropout(0.5)
    scriptlang.manual_seed(3)
    x = scriptlang.ones(50, requires_grad=True)
    y = checkpoint(lambda t: layer(t) * t, x, use_reentrant=False)
    y.sum().backward()
    assert x.grad.tolist() == (2 * y).tolist()


def test_a_block_that_changes_is_noticed():
    turns = iter([1, 2])

    def changes(x):
        y = x.sin()
        for _ in range(next(turns)):
            y = y.exp() * x
        return y

    with pytest.raises(CheckpointError, match="different number|trying to save more"):
        slope(lambda x: checkpoint(changes, x, use_reentrant=False, early_stop=False))


def test_reentrant_blocks_need_backward():
    x = scriptlang.ones(2, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="incompatible with .grad()"):
        scriptlang.autograd.grad(y, x)


def test_layers_in_segments():
    layers = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2), nn.Tanh())
    found = slope(lambda x: checkpoint_sequential(layers, 2, x, use_reentrant=False))
    assert found == pytest.approx(slope(layers))


def test_an_input_that_is_written_before_backward():
    x = scriptlang.ones(2, requires_grad=True) * 1
    y = checkpoint(block, x, use_reentrant=False)
    with scriptlang.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace .* a checkpoint again"):
        y.sum().backward()
