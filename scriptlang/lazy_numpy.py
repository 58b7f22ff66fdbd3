"""numpy, imported when it is first used.

A program on the native engine does not need numpy, whose import takes longer than most first calls.
Modules that such a program loads have `from .lazy_numpy import np`, and ask here whether a value is
numpy's.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    def _attribute(name: str) -> Any:
        value = getattr(importlib.import_module("numpy"), name)
        setattr(np, name, value)
        return value

    # A module, since Python finds attributes of modules faster than those of other objects.
    np = ModuleType("numpy")
    np.__getattr__ = _attribute


def is_loaded() -> bool:
    """Whether numpy was imported, here or by the user."""
    return "numpy" in sys.modules


def is_array(value: Any) -> bool:
    """Whether a value is a numpy array; nothing is, as long as numpy is not loaded."""
    return isinstance(value, _class("ndarray"))


def is_scalar(value: Any) -> bool:
    """Whether a value is a numpy scalar."""
    return isinstance(value, _class("generic"))


def is_dtype(value: Any) -> bool:
    """Whether a value is a numpy dtype, or the class of a numpy scalar."""
    if isinstance(value, type):
        return issubclass(value, _class("generic"))
    return isinstance(value, _class("dtype"))


def _class(name: str) -> Any:
    return getattr(sys.modules.get("numpy"), name, ())
