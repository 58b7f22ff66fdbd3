"""Straight graphs of programs that write tensors where nothing is recorded, under `no_grad`."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

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


class Ascent(nn.Module):
    """Goes up by the gradient, and down by that of where it got to, as SAM does."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    @scriptlang.jit.export
    def step(self, x: Tensor, rho: float):
        w, b = self.layer.weight, self.layer.bias
        before = (self.layer(x) ** 2).sum() + w.sum()
        gw, gb = scriptlang.autograd.grad([before], [w, b], retain_graph=True)
        assert gw is not None and gb is not None
        shift = (b + 1.0).sum()
        with scriptlang.no_grad():
            w.add_(rho * gw)
            b.add_(rho * gb)
        after = (self.layer(x) ** 2).sum() + 2 * shift
        hw, hb = scriptlang.autograd.grad([after], [w, b])
        assert hw is not None and hb is not None
        with scriptlang.no_grad():
            w.sub_(rho * gw + 0.1 * hw)
            b.sub_(rho * gb + 0.1 * hb)
        return before.detach() + after.detach()


class Adjoint(nn.Module):
    """Asks for gradients by parameters in eval mode, and writes a tensor whose size is unknown."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    @scriptlang.jit.export
    def step(self, x: Tensor, rho: float):
        y, w = x.detach().requires_grad_(True), self.layer.weight
        n = x.size(0)
        sums = scriptlang.zeros(n + 1, n + 1)
        sums[:n, :n] = scriptlang.diag(self.layer(y).sum(1) * rho)
        sums[n, :n] = 1.0
        given = scriptlang.jit.annotate(list[scriptlang.Optional[Tensor]], [sums.detach() * 2])
        gy, gw = scriptlang.autograd.grad([sums], [y, w], given)
        assert gy is not None and gw is not None
        return gy.sum() + gw


MODULES = {"ascent": (Ascent, (4, 3), True), "adjoint": (Adjoint, (4, 2), False)}


@pytest.mark.parametrize("engine", available())
@pytest.mark.parametrize("name", MODULES)
def test_archives_have_graphs_of_steps_that_write_their_parameters(name, engine, tmp_path):
    made, size, trains = MODULES[name]
    scriptlang.manual_seed(1)
    module = scriptlang.script(made().train(trains))
    scriptlang.save(module, tmp_path / "step.pt")
    inputs = {"step": [f"n,{size[1]}", 0.5]}
    scriptlang.compile_archive(tmp_path / "step.pt", tmp_path / "fast.pt", inputs=inputs)
    plain = scriptlang.load(tmp_path / "step.pt", engine="python")
    fast = scriptlang.load(tmp_path / "fast.pt", engine=engine)
    random = np.random.default_rng(0)
    for n in (4, 2, 5):
        x = scriptlang.from_numpy(random.normal(size=(n, size[1])).astype(np.float32))
        want, got = plain.step(x, 0.1), fast.step(x, 0.1)
        np.testing.assert_allclose(got.numpy(), want.detach().numpy(), rtol=2e-5, atol=2e-5)


class Unused(nn.Module):
    def forward(self, x: Tensor):
        return scriptlang.autograd.grad([(x * 2).sum()], [x])[0]


def test_what_requires_no_gradient_is_named(tmp_path):
    scriptlang.save(scriptlang.script(Unused().eval()), tmp_path / "a.pt")
    with pytest.raises(scriptlang.CompileError, match=r"inputs\[0\] of autograd.grad|outputs\[0\]"):
        scriptlang.compile_archive(tmp_path / "a.pt", tmp_path / "b.pt", inputs={"forward": ["3"]})
