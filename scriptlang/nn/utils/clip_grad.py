"""Gradient clipping.
The tensor computations are in the scripted language, so programs can use them."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import List, Optional

from ...grad_mode import no_grad
from ...ops.calling import functions as torch
from ...tensors import Tensor


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of parameters in place so that their total norm is at most `max_norm`.

    Returns the total norm before that. With error_if_nonfinite, raises RuntimeError if it is not
    finite.
    """
    grads = gradients(parameters)
    with no_grad():
        norm = total_norm(grads, float(norm_type), error_if_nonfinite)
        factor = factor_to(float(max_norm), norm)
        for grad in grads:
            grad.mul_(factor)
    return norm


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp all elements of the gradients to [-clip_value, clip_value], in place."""
    with no_grad():
        for grad in gradients(parameters):
            grad.clamp_(-float(clip_value), float(clip_value))


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors, concatenated to one vector."""
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    return total_norm(given, float(norm_type), error_if_nonfinite)


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale gradients with the given total norm to a norm of at most `max_norm`, in place."""
    with no_grad():
        factor = factor_to(float(max_norm), total_norm)
        for grad in gradients(parameters):
            grad.mul_(factor)


def gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    is_generator = isinstance(parameters, types.GeneratorType)
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if is_generator and not given:
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3
        )
    return [p.grad for p in given if p.grad is not None]


# ---- in the scripted language


def total_norm(
    grads: List[Optional[Tensor]], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The norm of all gradients, concatenated to one vector: the norm of their norms."""
    norms: List[Tensor] = []
    for grad in grads:
        if grad is not None:
            norms.append(torch.linalg_vector_norm(grad, norm_type))
    if len(norms) == 0:
        return torch.tensor(0.0)
    total = torch.linalg_vector_norm(torch.stack(norms), norm_type)
    if error_if_nonfinite and not bool(torch.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def factor_to(max_norm: float, norm: Tensor) -> Tensor:
    """The factor that scales gradients of a given norm to at most `max_norm`."""
    return torch.clamp(max_norm / (norm + 1e-6), max=1.0)


def scaled_to(
    grads: List[Optional[Tensor]], max_norm: float, norm: Tensor
) -> List[Optional[Tensor]]:
    """Gradients of a given total norm, scaled to at most `max_norm`."""
    factor = factor_to(max_norm, norm)
    made: List[Optional[Tensor]] = []
    for grad in grads:
        made.append(None if grad is None else grad * factor)
    return made


def clamped(grads: List[Optional[Tensor]], clip_value: float) -> List[Optional[Tensor]]:
    """Gradients with all elements clamped to [-clip_value, clip_value]."""
    made: List[Optional[Tensor]] = []
    for grad in grads:
        made.append(None if grad is None else grad.clamp(-clip_value, clip_value))
    return made
