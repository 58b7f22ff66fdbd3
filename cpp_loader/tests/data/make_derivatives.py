#!/usr/bin/env python3
"""Writes derivatives*.pt beside itself, for ../consumer/derivatives.cpp.

derivatives_plain.pt has no bytecode, derivatives_straight.pt a graph of forward and backward for
its method `both` with two positions. forces.pt and forces.npz are for ../selective, which has no
part that records.

  python cpp_loader/tests/data/make_derivatives.py
"""

from __future__ import annotations

import io
import pathlib

import numpy as np
from make_client import write_plain

import scriptlang
from scriptlang import nn

Tensor = scriptlang.Tensor


class Model(nn.Module):
    """A line with noise-free data, and a potential whose forces are asked for inside."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(1, 1)
        self.scale = 2.0

    def forward(self, x: Tensor) -> Tensor:
        return self.line(x)

    @scriptlang.jit.export
    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return nn.functional.mse_loss(self.line(x), y)

    @scriptlang.jit.export
    def energy(self, positions: Tensor) -> Tensor:
        return (positions * positions * positions).sum() * self.scale

    @scriptlang.jit.export
    def forces(self, positions: Tensor) -> Tensor:
        x = positions.detach().requires_grad_()
        found = scriptlang.autograd.grad([self.energy(x)], [x])[0]
        assert found is not None
        return -found

    @scriptlang.jit.export
    def both(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        x = positions.detach().requires_grad_()
        energy = self.energy(x) * self.line.weight.sum()
        found = scriptlang.autograd.grad([energy], [x], retain_graph=True)[0]
        assert found is not None
        return energy, -found


class Potential(nn.Module):
    """Energy and forces of particles that repel each other."""

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        x = positions.detach().requires_grad_()
        apart = x[None] - x[:, None]
        energy = scriptlang.exp(-(apart * apart).sum(-1)).sum()
        found = scriptlang.autograd.grad([energy], [x])[0]
        assert found is not None
        return -found, energy


def write_forces(path: pathlib.Path) -> None:
    """A compiled archive with a graph for any number of particles, and what it gives for five."""
    plain = io.BytesIO()
    scriptlang.script(Potential().eval()).save(plain)
    model = scriptlang.load(io.BytesIO(plain.getvalue()))
    scriptlang.compile_archive(io.BytesIO(plain.getvalue()), path, inputs={"forward": ["n,3"]})
    positions = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    forces, _ = model(scriptlang.from_numpy(positions))
    np.savez(path.with_suffix(".npz"), i0=positions, o0=forces.numpy())


def main() -> None:
    scriptlang.manual_seed(0)
    path = pathlib.Path(__file__).with_name("derivatives.pt")
    scriptlang.script(Model()).save(str(path))
    write_plain(path, path.with_name("derivatives_plain.pt"))
    straight = path.with_name("derivatives_straight.pt")
    scriptlang.compile_archive(path, straight, optimize=False, inputs={"both": ["2"]})
    write_forces(path.with_name("forces.pt"))
    print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
