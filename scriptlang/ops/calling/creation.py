"""Creation functions: in Python they also take `requires_grad`, which no schema has.

As long as numpy is not loaded, the native engine makes the tensors, with the same elements: to
import numpy takes longer than to load a model and to call it once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...tensors import Tensor
from .. import table
from .current import calls, creators


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


def natively(name: str, values: Sequence[Any]) -> Tensor | None:
    """The tensor that an operator makes of numbers, if the native engine shall make it, else None.

    For a process that has not loaded numpy. Where the engine fails, the Python engine tells why.
    """
    if (
        not creators
        or calls.tracer is not None
        or not getattr(calls.recorder, "is_waiting", calls.recorder is None)
        or any(isinstance(value, Tensor) for value in values)
    ):
        return None
    return creators[0](name, list(values))


def is_regular(data: Any) -> bool:
    """Whether data is a number, or lists of numbers of one type."""
    kinds: set[type] = set()
    left = [data]
    while left:
        value = left.pop()
        if type(value) is list:
            left += value
        else:
            kinds.add(type(value))
    return len(kinds) == 1 and kinds <= {bool, int, float}
