"""Creation functions: in Python they also take `requires_grad`, which no schema has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import table


def makes_tensors(name: str) -> bool:
    """Whether any overload of a name `is_creation`."""
    return any(is_creation(op.text) for op in table.overloads(name))


def is_creation(text: str) -> bool:
    """Whether a schema creates a tensor, with the options that all creation functions have."""
    return "pin_memory=None" in text and "non_blocking" not in text and "a!" not in text


def requiring_grad(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `make` to accept `requires_grad`, and to treat `dtype=None` as not given."""

    def function(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        if kwargs.get("dtype", 0) is None:
            del kwargs["dtype"]
        made = make(*args, **kwargs)
        return made.requires_grad_() if requires_grad else made

    return function
