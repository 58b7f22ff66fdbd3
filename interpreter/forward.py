"""Calls of native programs in which tensors have tangents (forward mode).

The engine goes backward only.  So the call is recorded, and what goes back is differentiated. Where
it cannot be recorded, or something else differentiates it as well (a gradient is wanted, or there
are two levels), the Python engine runs it, operator by operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import MissingOperatorError
from ..ir import Function
from ..limits import Limits
from ..objects import ScriptObject, walk
from ..ops.calling.current import mode
from ..ops.derivatives.forward_tape import differentiated, replaced
from ..ops.derivatives.tangents import Level, hidden, is_dual, top_level
from ..tensors import Tensor
from .gradients import has_gradient, leaves, refuse_batches
from .python_engine import function_keeps, run_seen

Native = Callable[[Sequence[Any], Mapping[str, Any]], Any]


def run(
    function: Function,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    limits: Limits | None,
    native: Native | None,
) -> Any:
    """Run a call with tangents; native: makes it on the native engine, if that can record it."""
    refuse_batches(args, kwargs)
    named = dict(kwargs or {})
    values = [*args, *named.values()]
    parts = list(leaves(values))
    level = top_level(t for t in parts if isinstance(t, Tensor))
    wanted = mode.enabled and any(map(has_gradient, values))
    if (
        native is None
        or wanted  # going back has to see the tangents
        or level is None
        or has_outer(parts, level)
        or holds_dual(parts)
        or function_keeps(function)
    ):
        return run_seen(function, args, kwargs, limits)

    def call(made: dict[int, Tensor]) -> Any:
        again = {k: replaced(v, made) for k, v in named.items()}
        return native([replaced(v, made) for v in args], again)

    try:
        return differentiated(call, [t for t in parts if isinstance(t, Tensor)], level, False)
    except MissingOperatorError:  # one of its operators goes back only once
        return run_seen(function, args, kwargs, limits)


def has_outer(values: Sequence[Any], level: Level) -> bool:
    """Whether a tensor has a tangent of a level outside of this one, too."""
    with hidden(level):
        return any(isinstance(t, Tensor) and is_dual(t) for t in values)


def holds_dual(values: Sequence[Any]) -> bool:
    """Whether an object holds a tensor with a tangent."""
    objects = [v for v in values if isinstance(v, ScriptObject)]
    return any(isinstance(t, Tensor) and is_dual(t) for v in objects for t in walk(v))
