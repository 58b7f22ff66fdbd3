"""Programs that the native engine records itself, with what layers of training need."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scriptlang.interpreter import recorded

import scriptlang as sl
from scriptlang import nn


class Cells(nn.Module):
    """Operators with several results whose derivatives are those of their bodies."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, x: sl.Tensor):
        h, c = self.cell(x)
        h, c = self.cell(x * 2, (h, c))
        dropped, _ = sl.native_dropout(h, 0.3, True)
        return (dropped * dropped).sum() + c.sum()


def gradients(module, x, names):
    """What both engines give for some parameters; the native one has to record itself."""
    text = f"""
def gradients(self, x: Tensor):
    return torch.autograd.grad([self.forward(x).pow(2).sum()], [{", ".join(names)}])
"""
    found = []
    for engine in ("python", "native"):
        program = sl.script(module, engine=engine)
        program.define(text)
        assert recorded.program_of(program._type.methods["gradients"]) is not None
        sl.manual_seed(0)
        found.append([g.numpy() for g in program.gradients(x)])
    return found


def test_cells_and_dropout_are_recorded_natively():
    x = sl.randn(2, 3, requires_grad=True)
    names = ["x", "self.cell.weight_hh", "self.cell.bias_ih"]
    for ours, theirs in zip(*gradients(Cells(), x, names)):
        np.testing.assert_allclose(theirs, ours, 1e-4, 1e-6)


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x: sl.Tensor):
        y, _ = self.layer(x)
        return y


@pytest.mark.parametrize("cls", [nn.LSTM, nn.GRU, nn.RNN])
def test_native_weights_that_lie_in_a_list_too_get_gradients(cls):
    """The native engine made two tensors of a weight that is an attribute and in a list."""
    layer = cls(3, 4, 2, bidirectional=True, dropout=0.2)
    names = [f"self.layer.{name}" for name, _ in layer.named_parameters()]
    for ours, theirs in zip(*gradients(Recurrent(layer), sl.randn(5, 2, 3), names)):
        np.testing.assert_allclose(theirs, ours, 1e-4, 1e-5)


@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_backward_before_parameters_were_asked_for_says_what_to_do(engine):
    program, x = sl.script(nn.Linear(3, 2), engine=engine), sl.ones(1, 3)
    with pytest.raises(RuntimeError, match="does not have a grad_fn") as caught:
        program(x).sum().backward()
    assert str(caught.value).endswith("does not have a grad_fn")
    if sys.version_info >= (3, 11):  # which show notes
        assert "list(module.parameters())" in caught.value.__notes__[0]
    weight, bias = list(program.parameters())
    program(x).sum().backward()
    assert weight.grad.tolist() == [[1, 1, 1]] * 2 and bias.grad.tolist() == [1, 1]
