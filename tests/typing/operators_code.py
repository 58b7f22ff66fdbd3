"""What editors and type checkers know of operators: has to pass `mypy --strict`."""

from __future__ import annotations

from typing import Any

import scriptlang
from scriptlang import DType, Tensor, nn, optim


def functions(x: Tensor) -> tuple[Tensor, ...]:
    best = scriptlang.max(x, dim=0)
    both: Tensor = best.values + best.indices
    made = scriptlang.zeros(2, 3, dtype=scriptlang.float64, requires_grad=True)
    parts = scriptlang.split(scriptlang.cat([x, made]), 2)
    return scriptlang.relu(x), both, *parts


def methods(x: Tensor) -> list[int]:
    y: Tensor = x.view(-1, 3).permute(1, 0).softmax(-1).to(scriptlang.float16).float()
    y.requires_grad_().sum(dim=0, keepdim=True).mean().backward()
    gradient: Tensor | None = y.grad
    kind: DType = x.dtype
    size: int = y.numel() if gradient is None else gradient.shape[0]
    values: Any = y.tolist()
    print(kind, values)
    return [size, y.size(0)]


def train(model: nn.Module, x: Tensor) -> None:
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), x).backward()
    optimizer.step()
