"""Gradients of recurrent layers, recorded as one operator for all times of a direction."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest

import scriptlang

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

LAYERS = [
    {"num_layers": n, "bidirectional": both, "batch_first": n == 2, "proj_size": p, "bias": p == 0}
    for n, both, p in itertools.product((1, 2), (False, True), (0, 3))
]


class Recurrent(torch.nn.Module):
    def __init__(self, options):
        super().__init__()
        self.lstm = torch.nn.LSTM(5, 6, **options)

    def forward(self, x: torch.Tensor):
        y, (h, c) = self.lstm(x)
        return (y * y).sum() + h.sin().sum() + (c * c * c).sum()


def close(got, want):
    off = 1e-9 if want.dtype == torch.float64 else 3e-5
    want = want.detach().numpy()
    np.testing.assert_allclose(got.detach().numpy(), want, off, off * np.abs(want).max())


@pytest.mark.parametrize("engine", ("python", "native"))
@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("options", LAYERS, ids=str)
def test_first_and_second_derivatives(options, dtype, engine):
    torch.manual_seed(0)
    module = Recurrent(options).to(getattr(torch, dtype))
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer)
    loaded = scriptlang.load(io.BytesIO(buffer.getvalue()), engine=engine)
    x = torch.randn(4, 3, 5, dtype=module.lstm.weight_hh_l0.dtype, requires_grad=True)
    mine = scriptlang.tensor(x.detach().numpy(), requires_grad=True)

    theirs = torch.autograd.grad(module(x), [x, *module.parameters()], create_graph=True)
    ours = scriptlang.autograd.grad(loaded(mine), [mine, *loaded.parameters()], create_graph=True)
    for a, b in zip(ours, theirs, strict=True):
        close(a, b)

    second = torch.autograd.grad(sum(g.square().sum() for g in theirs), [x, *module.parameters()])
    total = sum(g.square().sum() for g in ours)
    for a, b in zip(
        scriptlang.autograd.grad(total, [mine, *loaded.parameters()]), second, strict=True
    ):
        close(a, b)


@pytest.mark.parametrize("engine", ("python", "native"))
def test_sequences_of_several_lengths(engine):
    """Packed rows: the batch shrinks, and each time is recorded by itself."""

    class Packed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = torch.nn.LSTM(4, 3, 2, bidirectional=True)

        def forward(self, x: torch.Tensor, lengths: torch.Tensor):
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths)
            y, (h, c) = self.lstm(packed)
            return torch.nn.utils.rnn.pad_packed_sequence(y)[0].square().sum() + (h * c).sum()

    torch.manual_seed(1)
    module = Packed()
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer)
    loaded = scriptlang.load(io.BytesIO(buffer.getvalue()), engine=engine)
    for lengths in ([5, 3, 1], [4, 4, 4]):
        x = torch.randn(lengths[0], 3, 4, requires_grad=True)
        mine = scriptlang.tensor(x.detach().numpy(), requires_grad=True)
        theirs = torch.autograd.grad(module(x, torch.tensor(lengths)), [x, *module.parameters()])
        ours = scriptlang.autograd.grad(
            loaded(mine, scriptlang.tensor(lengths)), [mine, *loaded.parameters()]
        )
        for a, b in zip(ours, theirs, strict=True):
            close(a, b)


class Plain(torch.nn.Module):
    def __init__(self, kind, options):
        super().__init__()
        nonlinear = {"nonlinearity": kind} if kind in ("tanh", "relu") else {}
        make = torch.nn.GRU if kind == "gru" else torch.nn.RNN
        self.layer = make(5, 6, **nonlinear, **options)

    def forward(self, x: torch.Tensor):
        y, h = self.layer(x)
        return (y * y).sum() + h.sin().sum()


OTHERS = [
    {"num_layers": n, "bidirectional": both, "bias": bias}
    for n, both, bias in ((1, False, True), (2, True, True), (1, True, False))
]


@pytest.mark.parametrize("engine", ("python", "native"))
@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("kind", ("gru", "tanh", "relu"))
@pytest.mark.parametrize("options", OTHERS, ids=str)
def test_derivatives_of_gru_and_plain_layers(options, kind, dtype, engine):
    torch.manual_seed(0)
    module = Plain(kind, options).to(getattr(torch, dtype))
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer)
    loaded = scriptlang.load(io.BytesIO(buffer.getvalue()), engine=engine)
    x = torch.randn(7, 3, 5, dtype=module.layer.weight_hh_l0.dtype, requires_grad=True)
    mine = scriptlang.tensor(x.detach().numpy(), requires_grad=True)
    given, own = [x, *module.parameters()], [mine, *loaded.parameters()]

    value = module(x)
    close(loaded(mine), value)
    theirs = torch.autograd.grad(value, given, create_graph=True)
    ours = scriptlang.autograd.grad(loaded(mine), own, create_graph=True)
    for a, b in zip(ours, theirs, strict=True):
        close(a, b)

    second = torch.autograd.grad(sum(g.square().sum() for g in theirs), given)
    total = sum(g.square().sum() for g in ours)
    for a, b in zip(scriptlang.autograd.grad(total, own), second, strict=True):
        close(a, b)
