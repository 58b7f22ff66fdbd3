"""Views and in-place writes: a write through a view also changes its base and all other views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensors import Tensor
from ..calling.current import mode
from .hooks import move_hooks
from .nodes import Node, short_name
from .slices import CopySlices, view_maker
from .state import State, edge_of, later, needs, node_of, set_node, state_of, version_of

NO_GRAD, INFERENCE, SEVERAL, FUNCTION = "no_grad", "inference", "several", "function"
"""The kinds of views that must not be written if a gradient is wanted, by how they were made."""


def note_view(
    view: Tensor, source: Tensor, made: str, replay: tuple[Any, ...] | None = None
) -> None:
    """Register a tensor as a view of another one, or of that one's base.

    replay: (kernel, arguments after the first) of the call that made it.
    """
    of_source = source._autograd
    base = source
    state = state_of(view)
    if of_source is not None:
        if of_source.base is not None:
            base = of_source.base
            made = made or of_source.made
        state.cell = of_source.cell
        state.source = of_source.hands_on()
    if state.source is None:
        state.source = source
    state.base, state.made = base, made
    before = None if of_source is None else of_source.replay
    if before is not None or view.dtype is not source.dtype:
        earlier = before if before is not None else strided(source, base)
        state.replay = None if replay is None or earlier is None else (*earlier, replay)
    state.version = version_of(view)


def strided(view: Tensor, base: Tensor) -> tuple[Any, ...]:
    """The replay of a view that has the type of its base: one as_strided call."""
    if view is base:
        return ()
    make = view_maker(base, view)
    return (((lambda x: make(x)), ()),)


def renew(view: Tensor, state: State) -> None:
    """Set the node of a view to that of a new view of its base, after the base was written."""
    if state.made in NO_MODE:
        raise RuntimeError(start_of(view, state, "its base or another view of its base has been"))
    base: Any = state.base
    make = view_maker(base, view)
    was = mode.turn(True)
    quiet, mode.is_quiet = mode.is_quiet, False
    try:
        made = make(base)
    finally:
        mode.turn(was)
        mode.is_quiet = quiet
    edge: Any = edge_of(made)
    node, number = edge
    connect(view, node, number)


later.renew = renew


# Writes

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation."
)

NO_MODE = {NO_GRAD: "no_grad mode", INFERENCE: "inference mode"}
BLOCK = {NO_GRAD: "no_grad block", INFERENCE: "inference_mode block"}
CHANGING = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {0} (if you don't want "
    "the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)

WHY = {
    **{made: CHANGING.format(block) for made, block in BLOCK.items()},
    SEVERAL: (
        "This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one."
    ),
    FUNCTION: (
        "This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function."
    ),
}


def check_write(tensor: Tensor, records: bool) -> None:
    """Raise RuntimeError if a tensor must not be written.

    records: whether the write is recorded.
    """
    state = tensor._autograd
    if not mode.enabled:
        return
    if state is not None and state.base is not None:
        if records:
            check_view(tensor, state)
        if needs(tensor) and node_of(state.base) is None and state.base._requires_grad:
            raise RuntimeError(VIEW_OF_LEAF)
    if tensor._requires_grad and node_of(tensor) is None:
        raise RuntimeError(LEAF)


def check_view(view: Tensor, state: State) -> None:
    if not state.made:
        return
    raise RuntimeError(start_of(view, state, "is being"))


def start_of(view: Tensor, state: State, modified: str) -> str:
    """What is said of a write to a view that forbids it; modified: how that was or is written."""
    node, made = state.node, state.made
    which = "" if node is None else f"Output {state.output_nr} of {short_name(node)} is a view"
    if made in NO_MODE:
        then = "with grad mode enabled" if made == NO_GRAD else "in normal mode"
        start = f"{which} of a view which was created in" if which else "A view was created in"
        text = f"{start} {NO_MODE[made]} and {modified} modified inplace {then}. "
    elif which:
        text = f"{which} and {modified} modified inplace. "
    else:
        text = (
            f"A view was created in no_grad mode and {modified} modified inplace with grad mode "
            "enabled. "
        )
    return text + WHY[made]


def rebase(tensor: Tensor, step: Node, output_nr: int = 0) -> None:
    """Set the node of a written tensor, and of the base and views that share its memory."""
    state = tensor._autograd
    if state is None or state.base is None:
        connect(tensor, step, output_nr)
        return
    base = state.base
    connect(base, CopySlices(edge_of(base), base, tensor, step), 0)
    tensor._requires_grad = True
    renew(tensor, state)


def connect(tensor: Tensor, node: Any, output_nr: int) -> None:
    """Set the node of an existing tensor, and move its retain_grad there."""
    move_hooks(tensor, node, output_nr)
    set_node(tensor, node, output_nr)


def run_quietly(kernel: Callable[..., Any], values: Any) -> Any:
    """Run a kernel without recording the operators that it calls."""
    if mode.is_quiet:
        return kernel(*values)
    mode.is_quiet = True
    try:
        return kernel(*values)
    finally:
        mode.is_quiet = False
