"""Inference mode: what operators make in it can never be part of a graph.

`State.is_inference` marks these tensors. They have no version, nor a base: a view of one is another
one. What programs make is not marked, on either engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensors import Tensor
from ..calling.current import marks, mode
from ..table import Operator
from .state import count_write, state_of
from .views import INFERENCE, note_view, run_quietly

WRITTEN = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
    "to get a normal tensor before doing inplace update.See "
    "https://github.com/pytorch/rfcs/pull/17 for more details."
)


def is_inference(value: Any) -> bool:
    return (
        isinstance(value, Tensor) and value._autograd is not None and value._autograd.is_inference
    )


def mark(tensor: Tensor) -> Tensor:
    """Make a tensor one of inference mode."""
    state_of(tensor).is_inference = True
    return tensor


marks.append(mark)


def flat(values: Any) -> list[Tensor]:
    """The tensors among values, and in lists of them."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += flat(value)
    return found


def run(op: Operator, kernel: Callable[..., Any], plan: Any, values: list[Any]) -> Any:
    """Run an operator in inference mode, and mark the tensors that it makes."""
    given = flat(values)
    if op.is_composite and (kernel is op.kernel or op.may_alias):
        body: Any = op.kernel
        result = body(*values)  # the operators that it calls come here, too
    else:
        result = run_quietly(kernel, values)
        written = getattr(plan, "written", ())
        for tensor in flat([values[i] for i in written]):
            if not is_inference(tensor):
                count_write(tensor)
    for made in flat([result]):
        if any(made is x for x in given):
            continue
        source = next((x for x in given if x._storage is made._storage), None)
        if source is None or is_inference(source):
            mark(made)
        elif made._autograd is None or made._autograd.base is None:
            note_view(made, source, INFERENCE)
    return result


def check_writes(tensors: list[Tensor]) -> None:
    """Raise RuntimeError if one of the tensors is of inference mode, and this is not it."""
    if not mode.inference and any(map(is_inference, tensors)):
        raise RuntimeError(WRITTEN)
