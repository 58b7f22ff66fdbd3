"""What the methods of a training step call besides the update rules."""

from __future__ import annotations

from ...tensors import Tensor


def present(x: Tensor | None) -> Tensor:
    """A parameter that is declared as Optional (such as a bias), but is not None."""
    assert x is not None
    return x


def joined(
    param: Tensor, grad: Tensor | None, other: Tensor, other_grad: Tensor | None
) -> Tensor | None:
    """The gradient of a parameter that occurs in two places.

    In a loaded archive these may be two tensors over the same memory; each has a part of the
    gradient.
    """
    if param is other or other_grad is None:
        return grad
    return other_grad if grad is None else grad + other_grad
