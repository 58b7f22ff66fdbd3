"""`Variable`, which tensors that require gradients were, before tensors could."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.calling import functions
from ..ops.calling.current import mode
from ..tensors import Tensor


class VariableMeta(type):
    """Every tensor is an instance of Variable."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class Engine:
    """What goes backward, as `Variable._execution_engine`."""

    @staticmethod
    def queue_callback(callback: Callable[[], None]) -> None:
        """Call something at the end of the backward pass that is running."""
        if mode.walk is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        mode.walk.callbacks.append(callback)


class Variable(metaclass=VariableMeta):
    """`Variable(tensor)` gives another tensor over the same memory, without its history."""

    _execution_engine = Engine

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        if data is None:
            data = functions.empty([0])
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        made = data.detach()
        if requires_grad:
            made.requires_grad = True
        return made
