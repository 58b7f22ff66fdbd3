"""torch.autograd by name: no derivatives are computed here, and asking for them says so.

The modes are those of `grad_mode`; programs may set and read them.
"""

from __future__ import annotations

from typing import Any

from .errors import NO_DERIVATIVES, MissingOperatorError
from .grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled

__all__ = [
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]


def grad(*args: Any, **kwargs: Any) -> Any:
    """Derivatives of outputs: raises MissingOperatorError, a RuntimeError."""
    raise MissingOperatorError(f"autograd.grad: {NO_DERIVATIVES}")


def backward(*args: Any, **kwargs: Any) -> None:
    """Derivatives into `grad`: raises MissingOperatorError, a RuntimeError."""
    raise MissingOperatorError(f"autograd.backward: {NO_DERIVATIVES}")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"scriptlang.autograd has no {name}: {NO_DERIVATIVES}")
