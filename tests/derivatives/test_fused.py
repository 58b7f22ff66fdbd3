"""Gradients through fused operators, which compiled archives hold in place of plain ones."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter import recorded

import scriptlang
from scriptlang import nn
from scriptlang.ops.families.fused import ACTIVATIONS

random = np.random.default_rng(0)
ops = scriptlang.ops.scriptlang


def needing(*size):
    return scriptlang.from_numpy(random.normal(size=size)).requires_grad_(True)


def gradients(made, given):
    return [g.numpy() for g in scriptlang.autograd.grad([(made * made).sum()], given)]


PLAIN = {
    "none": lambda y: y,
    "relu6": lambda y: scriptlang.clamp(y, 0, 6),
    "gelu_tanh": lambda y: scriptlang.nn.functional.gelu(y, approximate="tanh"),
    "gelu": scriptlang.nn.functional.gelu,
    "silu": scriptlang.nn.functional.silu,
    "hardswish": scriptlang.nn.functional.hardswish,
    "hardsigmoid": scriptlang.nn.functional.hardsigmoid,
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("has_added", [False, True])
def test_gradients_of_a_layer_are_those_of_its_operators(activation, has_added):
    x, w, b = given = [needing(4, 3), needing(2, 3), needing(2)]
    added = needing(4, 2) if has_added else None
    if has_added:
        given.append(added)
    y = scriptlang.nn.functional.linear(x, w, b)
    y = y + added if has_added else y
    plain = PLAIN[activation] if activation in PLAIN else getattr(scriptlang, activation)
    want = gradients(plain(y), given)
    got = gradients(ops.linear(x, w, b, added, activation), given)
    for a, e in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, e)


def test_an_unknown_activation_is_refused_where_gradients_are_wanted():
    with pytest.raises(RuntimeError, match="unknown activation 'sin' of a fused operator"):
        ops.linear(needing(4, 3), needing(2, 3), None, None, "sin")


class Layers(nn.Module):
    """A linear layer, a product with a bias, and what follows them."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6))

    def forward(self, x):
        return scriptlang.relu(self.layers(x) + x)


class Residual(nn.Module):
    """An inverted residual, a convolution that is added to, and a transposed one."""

    def __init__(self):
        super().__init__()
        self.expanded = nn.Sequential(
            nn.Conv2d(4, 8, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU6(),
            nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU6(),
        )
        self.projected = nn.Conv2d(8, 4, 3, padding=1)
        self.widened = nn.Sequential(nn.ConvTranspose2d(4, 2, 2, stride=2), nn.SiLU())

    def forward(self, x):
        return self.widened(scriptlang.relu(self.projected(self.expanded(x)) + x))


NETS = {"layers": (Layers, (5, 6)), "residual": (Residual, (2, 4, 5, 5))}
KINDS = {
    "layers": {"scriptlang::linear"},
    "residual": {"scriptlang::conv_transpose2d", "scriptlang::conv2d"},
}


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("name", NETS)
def test_gradients_through_a_compiled_archive(name, engine, tmp_path):
    made, size = NETS[name]
    scriptlang.manual_seed(0)
    module = scriptlang.script(made().eval())
    scriptlang.save(module, tmp_path / "net.pt")
    scriptlang.compile_archive(tmp_path / "net.pt", tmp_path / "fast.pt")
    compiled = scriptlang.load(tmp_path / "fast.pt", engine=engine)
    x = scriptlang.from_numpy(random.normal(size=size).astype(np.float32))
    (want,) = gradients(module(x.requires_grad_(True)), [x])
    (got,) = gradients(compiled(x), [x])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@scriptlang.script
def by_operator(x: scriptlang.Tensor, w: scriptlang.Tensor, b: scriptlang.Tensor):
    y = scriptlang.ops.scriptlang.linear(x, w, b, None, "tanh")
    return scriptlang.autograd.grad([y.pow(2).sum()], [x, w, b])


def test_the_native_engine_records_them_itself():
    assert recorded.program_of(by_operator._function) is not None
    given = [needing(4, 3), needing(2, 3), needing(2)]
    want = gradients(scriptlang.tanh(scriptlang.nn.functional.linear(*given)), given)
    for engine in ("python", "native"):
        function = scriptlang.script(by_operator, engine=engine)
        for a, e in zip(function(*given), want, strict=True):
            np.testing.assert_allclose(a.numpy(), e, rtol=1e-12)
