"""The direction of L-BFGS."""

from __future__ import annotations

from ...tensors import Tensor


def quasi_newton(
    grad: Tensor, changes: list[Tensor], steps: list[Tensor], inverses: list[Tensor], scale: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """Return (direction of L-BFGS from past steps and changes of the gradient, its coefficients).

    inverses: 1 / (change . step) for each step. scale: the scale of the initial inverse Hessian.
    This is the two-loop recursion (Nocedal and Wright, Numerical Optimization, algorithm 7.4).
    """
    made = -grad
    count = len(changes)
    coefficients: list[Tensor] = []
    for k in range(count):
        i = count - 1 - k
        alpha = steps[i].dot(made) * inverses[i]
        made.sub_(changes[i] * alpha)
        coefficients.append(alpha)
    made = made * scale
    for i in range(count):
        alpha = coefficients[count - 1 - i]
        made.add_(steps[i] * (alpha - changes[i].dot(made) * inverses[i]))
    coefficients.reverse()
    return made, coefficients
