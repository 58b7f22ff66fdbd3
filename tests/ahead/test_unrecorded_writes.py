"""Straight graphs of programs that write tensors where nothing is recorded, under `no_grad`."""

from __future__ import annotations

import pytest

import scriptlang
from scriptlang import Tensor, nn

WRITTEN = "what was computed with gradients is written without"


class Whole(nn.Module):
    def forward(self, x: Tensor):
        y = x * 2
        with scriptlang.no_grad():
            y.mul_(3.0)
        return (y**2).sum() + x.sum()


class Part(nn.Module):
    def forward(self, x: Tensor):
        y = x * 2
        with scriptlang.no_grad():
            y[0].mul_(3.0)
        return (y**2).sum() + x.sum()


class View(nn.Module):
    def forward(self, x: Tensor):
        y = x * 2
        v = y[0]
        with scriptlang.no_grad():
            v.mul_(3.0)
        return (y**2).sum() + x.sum()


class OfLeaf(nn.Module):
    """What is computed from a leaf is none, though its elements are the same."""

    def forward(self, x: Tensor):
        y = x * 1.0
        with scriptlang.no_grad():
            y.mul_(3.0)
        return (y**2).sum() + x.sum()


class Copied(nn.Module):
    """What is computed without a history has none, though its elements are the same."""

    def forward(self, x: Tensor):
        y = x * 2
        with scriptlang.no_grad():
            y = y * 1.0
            y.mul_(3.0)
        return (y**2).sum() + x.sum()


CASES = {
    "whole": (Whole, [25.0, 49.0], WRITTEN),
    "part": (Part, [25.0, 17.0], WRITTEN),
    "view": (View, [25.0, 17.0], WRITTEN),
    "of a leaf": (OfLeaf, [7.0, 13.0], WRITTEN),
    "copied": (Copied, [1.0, 1.0], ""),
}
"""Name -> a module, the gradient by x = [1, 2] as PyTorch gives it, why there is no graph."""


@pytest.mark.parametrize("name", CASES)
def test_gradients_go_through_what_is_written_without_recording(name):
    made, gradient, reason = CASES[name]
    module, x = scriptlang.script(made()), scriptlang.tensor([1.0, 2.0])
    f = scriptlang.value_and_grad(module, 0)
    assert f.why(x) == reason
    assert f(x)[1].tolist() == gradient
    x.requires_grad_(True)
    assert scriptlang.autograd.grad(module(x), x)[0].tolist() == gradient
