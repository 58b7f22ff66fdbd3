"""The names of torch.autograd: derivatives of recorded computations (see ops/derivatives)."""

from __future__ import annotations

from typing import Any

from .grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .ops.derivatives.api import backward, grad
from .ops.derivatives.function import Function
from .ops.derivatives.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]


def __getattr__(name: str) -> Any:
    if name == "function":
        from .ops.derivatives import function

        return function
    if name == "forward_ad":
        from . import forward_ad

        return forward_ad
    if name in ("functional", "graph", "profiler", "anomaly_mode"):
        raise AttributeError(f"scriptlang.autograd has no {name}; scriptlang.func has some of it")
    raise AttributeError(f"scriptlang.autograd has no attribute {name!r}")
