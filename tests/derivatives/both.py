"""Runs one program on torch and on scriptlang: what it gives, or raises, has to be the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import scriptlang


def plain(value: Any) -> Any:
    """Tensors as arrays and nodes as their names, also inside containers."""
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        return np.array(value.detach().numpy())
    if hasattr(value, "next_functions"):
        return value.name()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return [[k, plain(value[k])] for k in sorted(value)]
    return value


def outcome(program: Callable, library: Any) -> tuple[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "gives", plain(program(library))
        except Exception as error:
            return type(error).__name__, str(error)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return (
            isinstance(a, np.ndarray)
            and isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and np.allclose(a, b, 1e-5, 1e-6, equal_nan=True)
        )
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def check(program: Callable) -> Any:
    """Compare the outcome in both libraries; of errors the kind and the text. Return ours."""
    import torch

    want, got = outcome(program, torch), outcome(program, scriptlang)
    if want[0] == "gives":
        assert got[0] == "gives", got
        assert same(got[1], want[1]), f"scriptlang: {got[1]}\ntorch: {want[1]}"
        return got[1]
    assert got[0] != "gives", f"torch raises {want}, scriptlang gives {got[1]}"
    kinds = {want[0], got[0]}
    assert len(kinds) == 1 or kinds == {"RuntimeError", "RunError"}, (got, want)
    ours = got[1].partition(" It is needed for")[0]  # where PyTorch has a hint
    assert ours == want[1].partition(" Hint: ")[0], f"scriptlang: {got[1]}\ntorch: {want[1]}"
    return got[1]
