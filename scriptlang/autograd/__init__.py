"""The names of torch.autograd: derivatives of recorded computations (see ops/derivatives)."""

from __future__ import annotations

import importlib
from typing import Any

from ..grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from ..ops.derivatives.api import backward, grad
from ..ops.derivatives.function import Function
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

PARTS = ("anomaly_mode", "forward_ad", "function", "functional", "grad_mode", "graph", "variable")
"""Modules that are imported when they are first asked for."""


def __getattr__(name: str) -> Any:
    if name in PARTS:
        return importlib.import_module(f".{name}", __name__)
    if name == "profiler":
        raise AttributeError("scriptlang.autograd has no profiler: scriptlang.profile is one")
    raise AttributeError(f"scriptlang.autograd has no attribute {name!r}")
