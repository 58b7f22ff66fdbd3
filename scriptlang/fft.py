"""Fourier transforms, under the names of torch.fft: `fft.X` is the operator `fft_X`."""

from __future__ import annotations

from typing import Any

from .ops.calling import functions


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        try:
            return getattr(functions, f"fft_{name}")
        except AttributeError:
            pass
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
