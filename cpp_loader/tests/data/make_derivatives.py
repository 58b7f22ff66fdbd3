#!/usr/bin/env python3
"""Writes derivatives.pt and derivatives_plain.pt beside itself, for ../consumer/derivatives.cpp.

The plain one has no bytecode.

  python cpp_loader/tests/data/make_derivatives.py
"""

from __future__ import annotations

import pathlib

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


def main() -> None:
    scriptlang.manual_seed(0)
    path = pathlib.Path(__file__).with_name("derivatives.pt")
    scriptlang.script(Model()).save(str(path))
    write_plain(path, path.with_name("derivatives_plain.pt"))
    print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
