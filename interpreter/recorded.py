"""Calls of native programs as nodes of the graph of derivatives.

The engine records what a program computes, and goes backward through it.  For Python's graph such a
call is one node: its inputs are the tensors that the call was given, or found in its objects; its
outputs are tensors that it computed of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..building import alone
from ..errors import MissingOperatorError
from ..ir import Function
from ..objects import ScriptObject
from ..ops.calling.current import calls
from ..ops.custom.gradients import IN_PYTHON
from ..ops.derivatives.nodes import FREED, Node
from ..ops.derivatives.state import Edge, edge_of, needs, node_of, set_node
from ..ops.derivatives.views import FUNCTION, note_view, rebase
from ..ops.families.modes import mode
from ..tensors import Tensor
from .gradients import give_all, leaves
from .prepare import code_of

MISSING = object()

RECORDED = "native_recorded_program"
"""Attribute of a Function: its NativeProgram for calls that are recorded; None where Python makes
them."""


@alone
def program_of(function: Function) -> Any:
    """What the engine runs where a gradient is wanted; None where that is Python's."""
    found = function.attributes.get(RECORDED, MISSING)
    if found is MISSING:
        found = function.attributes[RECORDED] = make_program(function)
    return found


def make_program(function: Function) -> Any:
    from ..ops.table import having
    from .native_program import NativeProgram

    try:
        program = function.ready() or NativeProgram(function, code_of=code_of)
    except MissingOperatorError:
        return None
    made = program.program
    # What an object keeps of one call for the next would be no input of that.  What tensors keep
    # of how they were made is only there where Python records each operator.
    is_apart = program.calls_by_name or made.missing or made.sets_attributes
    return None if is_apart or made.calls_any([*having("looks_back"), *IN_PYTHON]) else program


Wrap = Callable[[Callable[[], Any]], Any]


class ProgramNode(Node):
    """record: what the engine keeps of the call; None once it was given back.

    wrap: runs a function, with errors of the engine as the program's.
    """

    __slots__ = ("record", "wrap")

    def __init__(self, record: Any, edges: Sequence[Edge | None], results: int, wrap: Wrap) -> None:
        super().__init__(edges, results)
        self.record, self.wrap = record, wrap

    def name(self) -> str:
        return "ProgramBackward0"

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        if self.record is None:
            raise RuntimeError(FREED)
        made, record, taken, given = self.wrap(
            lambda: self.record.backward(grads, wanted, mode.enabled)
        )
        if record is not None:
            edges = [edge_of(grads[k]) for k in taken]
            node = ProgramNode(record, [*edges, *self.edges], len(given), self.wrap)
            for number, k in enumerate(given):
                set_node(made[k], node, number)
        return made

    def release(self) -> None:
        self.record = None


def run(program: Any, values: list[Any], limits: tuple[int, ...], wrap: Wrap) -> Any:
    """The result of a native program on all its arguments, recorded."""
    wanted = dict.fromkeys(wanted_in(values)) if mode.enabled else {}
    is_leaf = [node_of(t) is None for t in wanted]
    result, (record, inputs, outputs, written, required) = wrap(
        lambda: program.program.record(program.name, values, list(wanted), is_leaf, *limits)
    )
    for t in required:
        t.requires_grad_()
    if record is not None:
        node = ProgramNode(record, [edge_of(t) for t in inputs], len(outputs), wrap)
        connect(node, inputs, outputs, written)
    return result


def connect(node: Node, inputs: list[Tensor], outputs: list[Tensor], written: list[Tensor]) -> None:
    """Let a node be what computed the outputs of a call, and what wrote to its inputs."""
    by_storage = {id(t._storage): t for t in inputs}
    for number, t in enumerate(outputs):
        if any(t is w for w in written):
            rebase(t, node, number)
            continue
        source = by_storage.get(id(t._storage))
        if source is not None:
            note_view(t, source, FUNCTION)
        set_node(t, node, number)


def wanted_in(values: Sequence[Any]) -> list[Tensor]:
    """The tensors in arguments of which a gradient is wanted.  If it is of one that Python has
    made, gradients of parameters may be wanted, too: Python may ask for them after the call."""
    parts = list(leaves(values))
    found = [v for v in parts if isinstance(v, Tensor) and needs(v)]
    objects = [v for v in parts if isinstance(v, ScriptObject)]
    if found:
        for value in objects:
            give_all(value)
    if calls.trainable is not None:
        found += [t for value in objects for t in calls.trainable.given(value) if needs(t)]
    return found
