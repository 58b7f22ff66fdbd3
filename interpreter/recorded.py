"""Calls of native programs as nodes of the autograd graph.

The engine records what a program computes, and runs the backward pass through it.  In the autograd
graph of Python such a call is one node.  Its inputs are the tensors that were passed to the call,
or that objects passed to it hold; its outputs are the tensors that were computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..building import alone
from ..errors import MissingOperatorError
from ..ir import Function
from ..objects import ScriptObject
from ..ops.batching.level import by_examples
from ..ops.calling.current import calls
from ..ops.custom.gradients import IN_PYTHON
from ..ops.derivatives.nodes import FREED, Node
from ..ops.derivatives.recipes import edges_of
from ..ops.derivatives.state import Edge, edge_of, needs, node_of, set_node, turned
from ..ops.derivatives.tangents import is_dual
from ..ops.derivatives.views import FUNCTION, note_view, rebase
from ..ops.families.modes import mode
from ..tensors import Tensor
from .gradients import give_all, leaves, note_kept
from .prepare import code_of

MISSING = object()

RECORDED = "native_recorded_program"
"""Attribute of a Function that holds its NativeProgram for calls that are recorded; None if the
Python engine runs those."""


@alone
def program_of(function: Function) -> Any:
    """The native program that runs if a gradient is wanted, made once; None if the Python engine
    has to run it."""
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
    # A tensor that an object or a container in it keeps from one call to the next would not be an
    # input of the next node.  The autograd history of a tensor, which some operators look at, only
    # exists if Python records each operator.
    is_apart = program.calls_by_name or made.missing or made.keeps_values(program.name)
    return None if is_apart or made.calls_any([*having("looks_back"), *IN_PYTHON]) else program


Wrap = Callable[[Callable[[], Any]], Any]


class ProgramNode(Node):
    """The node of one call of a native program.

    record: what the engine has recorded of the call; None after `release`.
    wrap: calls a function, and turns errors of the engine into those of the program.
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
        if mode.levels and any(t is not None and is_dual(t) for t in grads):
            return by_examples(lambda given: self.gone_back(given, wanted), grads)
        return self.gone_back(grads, wanted)

    def gone_back(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
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
    """Run a native program, record it if a gradient is wanted, and return its result.

    values: all arguments, in order.  limits: from `native_limits`.  wrap: see ProgramNode.
    """
    wanted = dict.fromkeys(wanted_in(values)) if mode.enabled else {}
    told: list[Tensor] = [*wanted]
    is_leaf: list[bool | None] = [node_of(t) is None for t in wanted]
    if turned:  # objects of the engine have the flags that these tensors had
        flags = list(turned.values())
        told += flags
        is_leaf += [None] * len(flags)
    result, (record, inputs, outputs, written, required) = wrap(
        lambda: program.program.record(program.name, values, told, is_leaf, *limits)
    )
    for t in required:
        t.requires_grad_()
    if record is not None:
        node = ProgramNode(record, edges_of(inputs), len(outputs), wrap)
        connect(node, inputs, outputs, written)
        if written:
            note_kept(values, None)
    return result


def connect(node: Node, inputs: list[Tensor], outputs: list[Tensor], written: list[Tensor]) -> None:
    """Make `node` the one that computed the outputs of a call.

    written: those outputs that were there before the call, which has written them.
    """
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
    """The tensors in arguments of which a gradient is wanted.

    If a tensor that was passed requires a gradient, those of parameters may be wanted, too, since
    Python may ask for them after the call.
    """
    is_flat = all(isinstance(v, (Tensor, ScriptObject)) for v in values)
    parts = values if is_flat else list(leaves(values))
    found = [v for v in parts if isinstance(v, Tensor) and needs(v)]
    objects = [v for v in parts if isinstance(v, ScriptObject)]
    if found:
        for value in objects:
            give_all(value)
    if calls.trainable is not None:
        found += [t for value in objects for t in calls.trainable.given(value) if needs(t)]
    return found
