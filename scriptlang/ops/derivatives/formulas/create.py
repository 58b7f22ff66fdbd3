"""Derivatives of meshgrid: sums over the dimensions along which an input was repeated."""

from __future__ import annotations

from ....tensors import Tensor
from ..helpers import optional


def meshgrid_gradient(
    grads: list[Tensor | None], sizes: list[list[int]], indexing: str
) -> list[Tensor | None]:
    """The gradient of each input, summed over the dimensions of the other inputs."""
    found: list[Tensor | None] = []
    for i, g in enumerate(grads):
        if g is None:
            found.append(None)
        else:
            own = 1 - i if indexing == "xy" and i < 2 and g.dim() > 1 else i
            dims = [d for d in range(g.dim()) if d != own]
            total = g.sum(dims) if len(dims) > 0 else g
            found.append(optional(total.reshape(sizes[i])))
    return found
