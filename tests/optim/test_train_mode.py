"""Layers in train mode: PyTorch's random numbers, gradients and running statistics, eagerly and in
programs that are recorded on either engine."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang as sl

LAYERS = {
    "dropout": (lambda nn: nn.Dropout(0.4), (5, 7)),
    "dropout in place": (lambda nn: nn.Sequential(nn.Linear(7, 7), nn.Dropout(0.3, True)), (5, 7)),
    "dropout1d": (lambda nn: nn.Dropout1d(0.4), (3, 4, 5)),
    "dropout2d": (lambda nn: nn.Dropout2d(0.4), (3, 4, 5, 2)),
    "dropout3d": (lambda nn: nn.Dropout3d(0.4), (3, 4, 2, 2, 2)),
    "alpha_dropout": (lambda nn: nn.AlphaDropout(0.3), (5, 7)),
    "feature_alpha_dropout": (lambda nn: nn.FeatureAlphaDropout(0.3), (3, 4, 5)),
    "rrelu": (lambda nn: nn.RReLU(), (5, 7)),
    "batch_norm1d": (lambda nn: nn.BatchNorm1d(4), (6, 4)),
    "batch_norm1d of sequences": (lambda nn: nn.BatchNorm1d(4, momentum=0.3), (6, 4, 3)),
    "batch_norm2d": (lambda nn: nn.BatchNorm2d(4, momentum=None), (3, 4, 5, 2)),
    "batch_norm3d": (lambda nn: nn.BatchNorm3d(2, affine=False), (3, 2, 2, 3, 2)),
    "batch_norm without statistics": (
        lambda nn: nn.BatchNorm2d(4, track_running_stats=False),
        (3, 4, 2, 2),
    ),
    "instance_norm": (
        lambda nn: nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
        (3, 4, 5, 2),
    ),
    "encoder layer": (
        lambda nn: nn.TransformerEncoderLayer(8, 2, 16, 0.2, batch_first=True),
        (3, 5, 8),
    ),
    "gru": (lambda nn: First(nn, nn.GRU(4, 5, 2, dropout=0.3)), (6, 2, 4)),
    "lstm": (lambda nn: First(nn, nn.LSTM(4, 5, 2, dropout=0.3, bidirectional=True)), (6, 2, 4)),
}


def First(nn, layer):
    """A module that gives the output of a recurrent layer without its state."""

    class Outputs(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            y, _ = self.layer(x)
            return y

    return Outputs()


def numbers(package, shape, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape).astype("float32")
    return package.from_numpy(values)


def made(package, name):
    """A layer whose weights are the same in both packages."""
    make, shape = LAYERS[name]
    layer = make(package.nn)
    with package.no_grad():
        for i, p in enumerate(layer.parameters()):
            p.copy_(0.4 * numbers(package, tuple(p.shape), i + 1))
    return layer, numbers(package, shape)


def of_pytorch(name):
    import torch

    layer, x = made(torch, name)
    x.requires_grad_()
    found = []
    torch.manual_seed(5)
    for _ in range(2):
        y = layer(x)
        grads = torch.autograd.grad((y * y.sin()).sum(), [x, *layer.parameters()])
        found += [y, *grads]
    return found, layer.state_dict()


def of_program(name, engine):
    layer, x = made(sl, name)
    program = sl.script(layer, engine=engine)
    paths = ", ".join(["x", *map(member, (n for n, _ in layer.named_parameters()))])
    program.define(f"""
def run(self, x: Tensor):
    y = self.forward(x)
    return y, torch.autograd.grad([(y * y.sin()).sum()], [{paths}])
""")
    return repeated(program, x)


def repeated(program, x):
    found = []
    x.requires_grad_()
    sl.manual_seed(5)
    for _ in range(2):
        y, grads = program.run(x)
        found += [y, *grads]
    return found, program.state_dict()


def of_eager(name):
    layer, x = made(sl, name)
    x.requires_grad_()
    found = []
    sl.manual_seed(5)
    for _ in range(2):
        y = layer(x)
        found += [y, *sl.autograd.grad((y * y.sin()).sum(), [x, *layer.parameters()])]
    return found, layer.state_dict()


def member(path):
    found = "self"
    for name in path.split("."):
        found = f'getattr({found}, "{name}")'
    return f"torch.jit._unwrap_optional({found})"


WAYS = {
    "eager": of_eager,
    "python": lambda name: of_program(name, "python"),
    "native": lambda name: of_program(name, "native"),
}


@pytest.mark.oracle
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_in_train_mode_are_those_of_pytorch(name, way):
    theirs, their_state = of_pytorch(name)
    ours, our_state = WAYS[way](name)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-4, 2e-5)
    assert list(our_state) == list(their_state)
    for key, value in their_state.items():
        np.testing.assert_allclose(our_state[key].numpy(), value.numpy(), 1e-5, 1e-6)
