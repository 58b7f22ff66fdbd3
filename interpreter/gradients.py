"""Which calls of programs derivatives have to see, and how these run.

Derivatives are recorded by the Python engine, of the plain program.  A native program runs there
for a call in which a gradient is wanted: of an argument, or of a parameter that Python has been
given; and always where it asks for gradients itself.  This is the only place that knows;
`python_engine.run_seen` makes such calls.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from ..objects import ScriptObject, walk
from ..ops.calling.current import calls, mode
from ..ops.derivatives.state import needs, state_of
from ..tensors import Tensor

ASKING = frozenset(
    "aten::grad aten::backward aten::backward.TensorList aten::_backward aten::requires_grad_ "
    "aten::retain_grad".split()
)
"""Operators by which a program asks for gradients itself."""


def is_wanted(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> bool:
    """Whether a gradient of something in the arguments of a call is wanted."""
    if not mode.enabled:
        return False
    values = args if not kwargs else (*args, *kwargs.values())
    return any(map(has_gradient, values))


def has_gradient(value: Any) -> bool:
    if isinstance(value, Tensor):
        return needs(value)
    if isinstance(value, (bool, int, float, str, type(None))):
        return False
    if isinstance(value, (list, tuple)):
        return any(map(has_gradient, value))
    if isinstance(value, dict):
        return any(map(has_gradient, value.values()))
    value = getattr(value, "_object_", value)
    if isinstance(value, ScriptObject):
        return calls.trainable is not None and calls.trainable.has(value)
    return False


# Parameters that Python has been given


class Trainable:
    """The `trainable` of `ops.calling.current.calls`: what is known of programs' parameters."""

    def __init__(self) -> None:
        self.count = 0
        self.known: weakref.WeakKeyDictionary[ScriptObject, tuple] = weakref.WeakKeyDictionary()

    def note(self, tensor: Tensor) -> None:
        """A program's parameter has been given to Python."""
        state = state_of(tensor)
        if not state.is_given:
            state.is_given = True
            self.count += 1

    def has(self, obj: ScriptObject) -> bool:
        """Whether a gradient of a tensor that an object holds is wanted."""
        return bool(self.given(obj))

    def given(self, obj: ScriptObject) -> list[Tensor]:
        """The tensors that an object holds of which a gradient is wanted."""
        known = self.known.get(obj)
        if known is None or known[0] != self.count:
            tensors = [t for t in walk(obj) if isinstance(t, Tensor)]
            given = [t for t in tensors if t._autograd is not None and t._autograd.is_given]
            known = self.known[obj] = self.count, given
        return [t for t in known[1] if t._requires_grad]

    def changed(self) -> None:
        """An attribute of an object was set."""
        self.count += 1


def give(tensor: Tensor) -> Tensor:
    """Say that Python is given a tensor of a program; returns it."""
    if tensor._requires_grad:
        from ..ops.derivatives.recorder import activate

        activate()
        if calls.trainable is None:
            calls.trainable = Trainable()
        calls.trainable.note(tensor)
    return tensor
