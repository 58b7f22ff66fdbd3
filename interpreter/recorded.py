"""Calls of native programs as nodes of the autograd graph.

The engine records what a program computes, and runs the backward pass through it.  In the autograd
graph of Python such a call is one node.  Its inputs are the tensors that were passed to the call,
or that objects passed to it hold; its outputs are the tensors that were computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..building import alone
from ..errors import MissingOperatorError
from ..ir import Function
from ..objects import ScriptObject
from ..ops.batching.level import by_examples
from ..ops.calling.current import calls, shown
from ..ops.custom.gradients import IN_PYTHON
from ..ops.derivatives.nodes import FREED, Node
from ..ops.derivatives.recipes import edges_of
from ..ops.derivatives.state import (
    Edge,
    alias,
    count_write,
    edge_of,
    needs,
    node_of,
    set_node,
    state_of,
    turned,
    version_of,
)
from ..ops.derivatives.tangents import is_dual
from ..ops.derivatives.views import FUNCTION, note_view, rebase
from ..ops.families.modes import mode
from ..tensors import Tensor
from .gradients import give_all, leaves, note_kept
from .prepare import code_of
from .python_engine import function_keeps

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
    counts: (where the writes to it are counted, their number) of each Tensor that Python has of the
    call: if the engine has saved one that was written since, going backward raises.
    """

    __slots__ = ("counts", "record", "wrap")

    def __init__(
        self,
        record: Any,
        edges: Sequence[Edge | None],
        results: int,
        wrap: Wrap,
        memory: Sequence[Tensor] = (),
    ) -> None:
        super().__init__(edges, results)
        self.record, self.wrap = record, wrap
        self.counts = [(counter_of(t), version_of(t)) for t in memory]

    def name(self) -> str:
        return "ProgramBackward0"

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        if self.record is None:
            raise RuntimeError(FREED)
        self.note_writes()
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

    def note_writes(self) -> None:
        """Tell the engine what Python has written since the call."""
        counts = enumerate(self.counts)
        written = [k for k, (counter, n) in counts if count_in(counter) != n]
        if written:
            self.record.note_writes(written)

    def release(self) -> None:
        self.record, self.counts = None, []


def counter_of(tensor: Tensor) -> Any:
    """Where writes to a tensor are counted: its memory or its cell."""
    state = tensor._autograd
    return tensor._storage if state is None or state.cell is None else state.cell


def count_in(counter: Any) -> int:
    """The number of writes."""
    return int(counter[0] if isinstance(counter, list) else getattr(counter, "version", 0))


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
    result, (record, inputs, outputs, written, required, memory) = wrap(
        lambda: program.program.record(program.name, values, told, is_leaf, *limits)
    )
    for t in required:
        t.requires_grad_()
    if record is not None:
        for t in written:
            count_write(t)
        node = ProgramNode(record, edges_of(inputs), len(outputs), wrap, memory)
        connect(node, memory, outputs, written)
        if written:
            note_kept(values, None)
    return result


def connect(node: Node, memory: list[Tensor], outputs: list[Tensor], written: list[Tensor]) -> None:
    """Make `node` the one that computed the outputs of a call.

    memory: all Tensors that Python has of the call.  written: those outputs that were there before
    the call, which has written them.
    """
    made = {id(t) for t in outputs} - {id(t) for t in written}
    sources = {id(t._storage): t for t in memory if id(t) not in made}
    apart: dict[int, list[Tensor]] = {}
    for number, t in enumerate(outputs):
        if id(t) not in made:
            rebase_written(t, node, number)
            continue
        source = sources.get(id(t._storage))
        if source is None:
            apart.setdefault(id(t._storage), []).append(t)
        else:
            note_view(t, source, "" if t.dtype is source.dtype else FUNCTION)
        set_node(t, node, number)
    for sharing in apart.values():
        if len(sharing) > 1:
            note_sharing(sharing)


def rebase_written(tensor: Tensor, node: Node, number: int) -> None:
    state = tensor._autograd
    if state is not None and state.base is not None:
        raise RuntimeError(
            "a program has written something that requires a gradient to a view of a tensor of "
            'Python. Pass a clone of it, or load or script the program with engine="python"'
        )
    rebase(tensor, node, number)


def note_sharing(results: list[Tensor]) -> None:
    """Note that results of a call are views of the one that has all of their memory.  If none has,
    they are views of a tensor that nobody has, and must not be written."""
    whole = max(results, key=lambda t: t.numel())
    if all(holds(whole, t) for t in results):
        for t in results:
            if t is not whole:
                keep_node(t, whole, "")
        return
    hidden = alias(whole)
    set_node(hidden, node_of(whole), state_of(whole).output_nr)
    for t in results:
        keep_node(t, hidden, FUNCTION)


def keep_node(tensor: Tensor, source: Tensor, made: str) -> None:
    """Note that a tensor is a view of another one, which its node does not tell."""
    state = state_of(tensor)
    node, number = state.node, state.output_nr
    note_view(tensor, source, made)
    set_node(tensor, node, number)


def holds(whole: Tensor, part: Tensor) -> bool:
    """Whether a tensor without gaps in its memory has all of that of another one."""
    if whole.dtype is not part.dtype or not whole.is_contiguous():
        return False
    last = part._offset + sum((n - 1) * step for n, step in zip(part._size, part._stride))
    return whole._offset <= part._offset and last < whole._offset + whole.numel()


def sees_too_little(
    function: Function, program: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None
) -> bool:
    """Whether the engine cannot record a call as Python's graph has to have it.

    If a program asks for gradients itself, the engine only sees what it computes itself: not how
    its arguments have been computed, nor that one is a tensor of an object, too. If it writes, it
    does not see that an argument is a view of another tensor.
    """
    values = list(args) if not kwargs else [*args, *kwargs.values()]
    if program.program.asks_for_gradients:
        tensors = [t for t in leaves(values) if isinstance(t, Tensor)]
        if any(shown.get(id(t)) is t for t in tensors):
            return True
        return any(node_of(t) is not None for t in wanted_in(values))
    views = [t for t in leaves(values) if isinstance(t, Tensor) and is_followed_view(t)]
    return bool(views) and function_keeps(function)


def is_followed_view(tensor: Tensor) -> bool:
    state = tensor._autograd
    return state is not None and state.base is not None and needs(tensor)


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
