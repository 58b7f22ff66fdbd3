"""Decides which calls of programs are recorded for derivatives.

A call is recorded if a gradient is wanted of an argument, or of a parameter that was handed to
Python, and always if the program asks for gradients itself.  It then runs the function as it was
compiled, not what `optimize` made of it: on the native engine if that can record it (recorded.py),
else on the Python engine (`python_engine.run_seen`).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..ir import Function
from ..limits import Limits
from ..objects import ScriptObject, walk
from ..ops.calling.current import calls, handed, mode
from ..ops.derivatives.state import later, needs, node_of, state_of
from ..tensors import Tensor

if TYPE_CHECKING:
    from .code import OperatorRef

STRAIGHT = "straight"
"""Attribute of a Function that asks for gradients itself: a function of (engine, args, kwargs) that
runs a call by a straight graph.  It returns NotImplemented if there is none for these arguments."""


def is_asking(ref: OperatorRef) -> bool:
    """Whether a call of an operator asks for gradients.  `torch.tensor` does if all arguments are
    passed: the last one is requires_grad, which is left out if it is False."""
    from ..ops.table import having

    return ref.qualified_name in having("asks") or ref.name == "aten::tensor" and ref.num_args == 4


def straight_result(
    function: Function,
    engine: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    limits: Limits | None,
) -> Any:
    """The result of a call by the function's straight graph (STRAIGHT).

    It is NotImplemented if there is no such graph, if the call has limits, or if the caller wants
    gradients of the arguments, so that the call has to be recorded, unless its results have no
    history anyhow.
    """
    straight = function.attributes.get(STRAIGHT)
    if straight is None or limits is not None or not mode.enabled:
        return NotImplemented
    if mode.levels or not straight.is_closed and is_wanted(args, kwargs):
        return NotImplemented
    return straight(engine, args, kwargs)


def is_wanted(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> bool:
    """Whether a gradient is wanted of a tensor in the arguments of a call, or one has a tangent."""
    if not mode.enabled:
        return bool(mode.levels) and has_tangent(args, kwargs)
    values = args if not kwargs else (*args, *kwargs.values())
    return any(map(has_gradient, values)) or bool(mode.levels) and has_tangent(args, kwargs)


def has_tangent(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> bool:
    """Whether a tensor in the arguments of a call, or in an object there, has a tangent."""
    for value in leaves(args if not kwargs else (*args, *kwargs.values())):
        inside = walk(value) if isinstance(value, ScriptObject) else (value,)
        if any(isinstance(t, Tensor) and later.is_dual(t) for t in inside):
            return True
    return False


def has_gradient(value: Any) -> bool:
    """Whether a gradient is wanted of a value, or of something in it."""
    if isinstance(value, Tensor):
        return needs(value)
    if isinstance(value, (bool, int, float, str, type(None))):
        return False
    if isinstance(value, ScriptObject):
        return leaf_has_gradient(value)
    return any(leaf_has_gradient(leaf) for leaf in leaves(value))


def leaf_has_gradient(value: Any) -> bool:
    if isinstance(value, Tensor):
        return needs(value)
    return (
        isinstance(value, ScriptObject)
        and calls.trainable is not None
        and calls.trainable.has(value)
    )


def leaves(value: Any) -> Iterator[Any]:
    """The values inside nested containers, without wrappers of script objects.  A container that
    occurs several times is searched once."""
    seen: dict[int, Any] = {}
    pending = [value]
    while pending:
        value = pending.pop()
        if not isinstance(value, (list, tuple, dict)):
            yield getattr(value, "_object_", value)
        elif id(value) not in seen:
            seen[id(value)] = value
            pending += reversed(list(value.values()) if isinstance(value, dict) else value)


def refuse_batches(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
    """Raise NotMapped if a tensor in the arguments of a call, or in an object there, differs
    between the examples of a batch: programs run for each example."""
    if mode.levels:
        for value in leaves(args if not kwargs else (*args, *kwargs.values())):
            inside = walk(value) if isinstance(value, ScriptObject) else (value,)
            later.refuse_batches([t for t in inside if isinstance(t, Tensor)])


# Parameters that have been handed to Python


class Trainable:
    """The `trainable` of `ops.calling.current.calls`: which parameters of objects were handed to
    Python.

    It is replaced by a new one whenever another parameter is handed over.  Callers recognise by its
    identity that what they know is obsolete.
    """

    def __init__(self) -> None:
        self.known: weakref.WeakKeyDictionary[ScriptObject, list[Tensor]] = (
            weakref.WeakKeyDictionary()
        )

    def renewed(self) -> Trainable:
        """One that knows nothing yet."""
        return Trainable()

    def given(self, obj: ScriptObject) -> list[Tensor]:
        """The tensors inside an object, if one of them was handed to Python: who has one can get
        the others, and their gradients."""
        found = self.known.get(obj)
        if found is None:
            tensors = [t for t in walk(obj) if isinstance(t, Tensor)]
            found = self.known[obj] = tensors if any(map(is_given, tensors)) else []
        return found

    def has(self, obj: ScriptObject) -> bool:
        """Whether one of the tensors that `given` returns requires a gradient."""
        return any(t._requires_grad for t in self.given(obj))


def is_given(tensor: Tensor) -> bool:
    return tensor._autograd is not None and tensor._autograd.is_given


def give(tensor: Tensor) -> Tensor:
    """Note that a tensor of a program is handed to Python; return the tensor."""
    if not tensor._requires_grad:
        handed[id(tensor)] = tensor  # it may be turned on later
    else:
        from ..ops.derivatives.recorder import activate

        activate()
        if not is_given(tensor):
            state_of(tensor).is_given = True
            calls.trainable = with_one_more()
    return tensor


def give_later(tensor: Tensor) -> None:
    """Note that a tensor which Python has begins to require a gradient."""
    from ..ops.derivatives.recorder import activate

    activate()
    state_of(tensor).is_given = True
    calls.trainable = with_one_more()


def with_one_more() -> Trainable:
    """A Trainable for one more tensor that Python has. Objects of which that is known keep their
    tensors: those in lists would be found again as others."""
    made = Trainable()
    if calls.trainable is not None:
        made.known.update({obj: found for obj, found in calls.trainable.known.items() if found})
    return made


later.give = give_later


def give_all(obj: ScriptObject) -> None:
    """Note that any tensor inside an object may be handed to Python."""
    known = _all_given.get(obj)
    if known is None or known[0] is not calls.trainable:
        given = [give(v) for v in walk(obj) if isinstance(v, Tensor)]
        _all_given[obj] = calls.trainable, given


_all_given: weakref.WeakKeyDictionary[ScriptObject, tuple[Trainable | None, list[Tensor]]] = (
    weakref.WeakKeyDictionary()
)
"""By objects, the `Trainable` of the time when all tensors inside were noted, or None if only some
were, and these tensors: if nobody kept them, Python might later get other Tensor objects in their
place, which are not noted."""


def note_kept(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
    """Note what objects hold after a call that may have stored tensors in them.

    Python still has the tensors that it passed, and those that were computed lead back to others
    that it has.
    """
    parts = list(leaves(args if not kwargs else (*args, *kwargs.values())))
    for value in parts:
        if isinstance(value, Tensor):
            give(value)
    objects = [v for v in parts if isinstance(v, ScriptObject)]
    for value in objects:
        held = [v for v in walk(value) if isinstance(v, Tensor) and v._requires_grad]
        for tensor in held:
            if node_of(tensor) is not None:
                give(tensor)
        if held:
            _all_given[value] = None, held
    if calls.trainable is not None:
        calls.trainable = Trainable()


def put(value: Any) -> None:
    """Note that Python has set an attribute of an object to `value`."""
    if isinstance(value, Tensor):
        give(value)
    if calls.trainable is not None or mode.levels:  # the value may have a tangent
        calls.trainable = Trainable()


def is_direct(first: ScriptObject) -> bool:
    """Whether calls of an object's methods may take the fast path in grad mode, since none of the
    object's tensors was handed to Python."""
    return calls.trainable is None or not calls.trainable.given(first)
