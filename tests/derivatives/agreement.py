"""Calls the same function of scriptlang and of PyTorch, and compares what they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import scriptlang


def outcome(call: Callable[[Any], Any], lib: Any) -> Any:
    """What a call gives, or the type and text of its error."""
    try:
        made = call(lib)
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)
    parts = made if isinstance(made, tuple) else (made,)
    return [p.detach().tolist() if hasattr(p, "detach") else p for p in parts]


def agrees(call: Callable[[Any], Any]) -> Any:
    """Check that a function of the library gives or raises the same in both, and return that."""
    found, wanted = outcome(call, scriptlang), outcome(call, pytest.importorskip("torch"))
    assert found == wanted
    return found
