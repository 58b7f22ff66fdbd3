"""Every operator as an eager function: `functions.relu(x)`, `functions.zeros(2, 3)`.

In the bodies of composite operators, `torch.` means this module.  `scriptlang.relu` and Tensor
methods come from here, too, except those in `eager`, whose Python signature differs.  Names are
looked up in the table on first use (PEP 562).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtypes as _dtypes
from ... import layouts
from ... import ops as _ops
from .. import table
from .creation import makes_tensors, requiring_grad
from .dispatch import call

NAMESPACES = ("aten", "prim")

CONSTANTS = {
    **layouts.BY_NAME,
    "inf": float("inf"),
    "nan": float("nan"),
    "pi": 3.141592653589793,
    "e": 2.718281828459045,
    "newaxis": None,
}


def __getattr__(name: str) -> Any:
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name == "ops":
        return _ops
    if name in _dtypes.BY_NAME:
        return _dtypes.BY_NAME[name]
    if name.startswith("__"):
        raise AttributeError(name)
    for namespace in NAMESPACES:
        if table.overloads(f"{namespace}::{name}"):
            function = _eager(f"{namespace}::{name}")
            globals()[name] = function
            return function
    raise AttributeError(f"there is no operator named {name!r}")


def _eager(name: str) -> Callable[..., Any]:
    def plain(*args: Any, **kwargs: Any) -> Any:
        return call(name, args, kwargs)

    function = requiring_grad(plain) if makes_tensors(name) else plain
    function.__name__ = function.__qualname__ = name.partition("::")[2]
    function.__doc__ = described(name)
    return function


def described(name: str) -> str:
    """The docstring of a function that calls an operator: its schemas."""
    schemas = "\n".join(op.text for op in table.overloads(name))
    return f"{name}, whichever overload the arguments fit:\n\n{schemas}"
