"""Creation functions: in Python they also take `requires_grad`, which no schema has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensors import Tensor
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
        return requiring(made) if requires_grad else made

    return function


def requiring(made: Tensor) -> Tensor:
    """A new tensor, which requires a gradient.  Raises RuntimeError for integers and bools."""
    if made.dtype.kind not in "fc":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    made.requires_grad = True
    return made


def is_regular(data: Any, most: float) -> bool:
    """Whether data is a number, or lists of numbers of one type, at most so many values."""
    kinds: set[type] = set()
    left = [data]
    while left and most >= 0:
        value = left.pop()
        if type(value) is list:
            left += value
            most -= len(value)
        else:
            kinds.add(type(value))
    return not left and len(kinds) == 1 and kinds <= {bool, int, float}
