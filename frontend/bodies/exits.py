"""Turns early exits (`return`, `break`, `continue`) into branches and flags.

While a body is emitted, an exit is a node `scriptlang::leave`.  Its inputs are the final values of
its target, which is the function or an iteration of a loop.  `eliminate` then moves the nodes after
a branch with an exit into the other branch.  Where that is not possible, a bool flag says whether
the exit was taken:

    if c:                          %r = prim::If(%c)
        return a          ->         block0(): -> (%a)
    rest; return b                   block1(): rest -> (%b)

A `return` inside a loop is a `break` that carries a flag and the value out of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.ir import Block, Graph, Node, Value
from scriptlang.records import record
from scriptlang.source import Span

from ..whole import whole

if TYPE_CHECKING:
    from .emitter import Emitter, Loop

LEAVE = "scriptlang::leave"
WITH = "scriptlang::with"
"""Node with two blocks: the second runs after the first, even if the first is left early."""

ENDLESS = 2**63 - 1


@record
class Outcome:
    """How a block ends.

    `flag` is True (always left by an exit), False (never), a value of the graph that says it at run
    time, or None (it raises).  `values` are the final values of the target if it is left.
    """

    flag: Any
    values: list[Value]

    @property
    def goes_on(self) -> bool:
        return self.flag is False

    @property
    def never_goes_on(self) -> bool:
        return self.flag is True or self.flag is None


GOES_ON = Outcome(False, [])
RAISES = Outcome(None, [])


def eliminate(
    e: Emitter, target: Block, leaving: Sequence[Node], types: Sequence[T.Type]
) -> list[Value]:
    """Replace the exits `leaving` of the block `target` by branches.

    Returns the final values of the block, which have the given types.
    """
    if len(leaving) == 1 and leaving[0].block is target:
        values = list(leaving[0].inputs)
        leaving[0].destroy()
        return values
    return _Elimination(e, target, set(leaving), list(types)).run()


class _Elimination:
    """The work of `eliminate`.  `marked` are the blocks inside of `target` that contain exits."""

    def __init__(self, e: Emitter, target: Block, leaving: set[Node], types: list[T.Type]) -> None:
        self.e, self.graph, self.target = e, e.graph, target
        self.leaving, self.types = leaving, types
        self.marked: set[Block] = set()
        for node in leaving:
            block = node.block
            while block is not target and block not in self.marked:
                self.marked.add(block)
                block = block.owner.block

    def run(self) -> list[Value]:
        outcome = self.block(self.target, self.target.start.next)
        # Without an exit the end of the target is never reached, so the values are not read.
        return outcome.values or self.nothing()

    def nothing(self) -> list[Value]:
        """Values of the right types for the target that are never read."""
        return [self.e.uninitialized(t) for t in self.types]

    def block(self, block: Block, node: Node) -> Outcome:
        """The outcome of a block from `node` on; removes the exits in it."""
        while node is not block.end:
            if node in self.leaving:
                values = list(node.inputs)
                _drop(block, node)
                return Outcome(True, values)
            if node.kind == "prim::RaiseException":
                _drop(block, node.next)
                return RAISES
            if any(b in self.marked for b in node.blocks):
                outcome = (
                    self.region(block, node) if node.kind == WITH else self.branch(block, node)
                )
                if outcome is not None:
                    return outcome
            node = node.next
        return GOES_ON

    def branch(self, block: Block, node: Node) -> Outcome | None:
        """The outcome of `block` after the prim::If `node`, which contains exits.

        None if no exit can be taken, so that the block continues after the node.
        """
        outcomes = [self.block(b, b.start.next) for b in node.blocks]
        if all(o.never_goes_on for o in outcomes):
            return self.both_leave(block, node, outcomes)
        if all(o.goes_on for o in outcomes):
            return None
        if block is not self.target and node.next is block.end:
            return self.flagged(node, outcomes)
        on = [i for i, o in enumerate(outcomes) if o.goes_on]
        if len(on) == 1 and outcomes[1 - on[0]].never_goes_on:
            going = node.blocks[on[0]]
            for out, value in zip(node.outputs, list(going.returns)):
                out.replace_all_uses_with(value)
            _clear_results(node)
            return self.continue_in(block, node, outcomes, on[0])
        return self.guard(block, node, self.flagged(node, outcomes))

    def region(self, block: Block, node: Node) -> Outcome | None:
        """As `branch`, for a WITH node, whose first block contains exits."""
        body = node.blocks[0]
        outcome = self.block(body, body.start.next)
        if outcome.goes_on:
            return None
        if outcome.never_goes_on:
            return self.both_leave(block, node, [outcome])
        if block is not self.target and node.next is block.end:
            return self.flagged(node, [outcome])
        return self.guard(block, node, self.flagged(node, [outcome]))

    def guard(self, block: Block, node: Node, maybe: Outcome) -> Outcome:
        """Move the nodes after `node` into a branch that runs only if no exit was taken."""
        guard = self.graph.create("prim::If", [maybe.flag], like=node).insert_after(node)
        guard.add_block(), guard.add_block()
        return self.continue_in(block, guard, [Outcome(True, maybe.values), GOES_ON], 1)

    def continue_in(self, block: Block, node: Node, outcomes: list[Outcome], i: int) -> Outcome:
        """Move the nodes after `node` into its branch `i`, the only one that continues."""
        going, left = node.blocks[i], node.blocks[1 - i]
        first = node.next
        while node.next is not block.end:
            node.next.move_before(going.end)
        results = list(block.returns)
        block.end.remove_inputs()
        for value in results:
            going.add_return(value)
            left.add_return(self.e.uninitialized(value.type))
            block.add_return(node.add_output(value.type, value.name))
        outcomes[i] = self.block(going, first if first is not block.end else going.end)
        if block is self.target and outcomes[i].goes_on:
            outcomes[i] = Outcome(True, self.nothing())
        if all(o.never_goes_on for o in outcomes):
            return self.both_leave(block, node, outcomes)
        return self.flagged(node, outcomes)

    def flagged(self, node: Node, outcomes: list[Outcome]) -> Outcome:
        """Add outputs to a node: whether an exit was taken, and the values of the target."""
        if all(o.flag in (False, None) for o in outcomes):
            return GOES_ON
        for block, outcome in zip(node.blocks, outcomes):
            flag = outcome.flag
            if not isinstance(flag, Value):
                with self.graph.at(block):
                    flag = self.graph.constant(bool(flag), T.BOOL, node.span)
            block.add_return(flag)
            for value in outcome.values or self.nothing():
                block.add_return(value)
        flag = node.add_output(T.BOOL)
        return Outcome(flag, [node.add_output(t) for t in self.types])

    def both_leave(self, block: Block, node: Node, outcomes: list[Outcome]) -> Outcome:
        """Make the final values of the target the outputs of a node whose branches all exit.

        The nodes after it are removed.
        """
        for out in node.outputs:
            out.replace_all_uses_with(self.e.uninitialized(out.type))
        _clear_results(node)
        _drop(block, node.next)
        if all(o.flag is None for o in outcomes):
            return RAISES
        for b, outcome in zip(node.blocks, outcomes):
            for value in outcome.values or self.nothing():
                b.add_return(value)
        return Outcome(True, [node.add_output(t) for t in self.types])


def _clear_results(node: Node) -> None:
    node.outputs.clear()
    for block in node.blocks:
        block.end.remove_inputs()


def _drop(block: Block, first: Node) -> None:
    """Destroy the nodes of a block from `first` on, whose results are not used."""
    node = block.end.prev
    stop = first.prev
    while node is not stop:
        previous = node.prev
        node.destroy()
        node = previous


def close_loop(e: Emitter, loop: Loop, made: Node, span: Span) -> None:
    """Replace the exits in the body of a loop by branches.

    If the body contains returns, a branch after the loop returns from the function, or leaves the
    outer loop.
    """
    body = made.blocks[0]
    types = [T.BOOL, *(v.type for v in made.outputs)]
    if loop.returns:
        types += _carry_result(e, loop, made, span)
    for value in eliminate(e, body, loop.exits, types):
        body.add_return(value)
    if loop.returns:
        flag, result = made.outputs[-2:]
        branch = e.b.insert("prim::If", [flag], (), span)
        with e.block(branch.add_block()) as left:
            whole.leave_function(e, result, span)
        with e.block(branch.add_block()) as on:
            pass
        whole.merge(e, branch, [left, on], span)


def _carry_result(e: Emitter, loop: Loop, made: Node, span: Span) -> list[T.Type]:
    """Add two variables to a loop: whether a return was reached, and its value.

    Returns their types.
    """
    results: dict[Node, Value] = dict(loop.returns)
    type: Any = None
    for value in results.values():
        if type is None:
            type = value.type
        else:
            type = T.unify(type, value.type) or T.union(type, value.type)
    nothing = e.uninitialized(type)
    for node in loop.exits:
        with e.graph.at(node):
            node.add_input(e.b.constant(node in results, span))
        node.add_input(results.get(node, nothing))
    with e.graph.at(made):
        made.add_input(e.b.constant(False, span))
    made.add_input(nothing)
    for t in (T.BOOL, type):
        made.blocks[0].add_parameter(t)
        made.add_output(t)
    return [T.BOOL, type]


def count_turns(e: Emitter, made: Node) -> None:
    """Turn a counted loop that can be left early into a `while` loop with its own counter.

    So a loop has a trip count or a condition, but not both, as in PyTorch.
    """
    body, graph, span = made.blocks[0], e.graph, made.span
    go = body.returns[0]
    if go.is_constant and go.constant is True:
        return
    count = made.inputs[0]
    with graph.at(made):
        zero = e.b.constant(0, span)
        made.replace_input(0, e.b.constant(ENDLESS, span))
        made.replace_input(1, e.b.emit("aten::gt", [count, zero], span))
    made.add_input(zero)
    turn = body.add_parameter(T.INT)
    body.parameters[0].replace_all_uses_with(turn)
    with graph.at(body):
        following = e.b.emit("aten::add", [turn, e.b.constant(1, span)], span)
        more = e.b.emit("aten::lt", [following, count], span)
        body.end.replace_input(0, e.b.emit("aten::__and__", [more, go], span))
    body.add_return(following)
    made.add_output(T.INT)


def flatten_regions(graph: Graph) -> None:
    """Replace every WITH node by the nodes of its two blocks, one after the other."""
    for node in list(graph.walk()):
        if node.kind != WITH:
            continue
        for block in node.blocks:
            for inner in list(block.nodes):
                inner.move_before(node)
        node.replace_with(*node.blocks[0].returns)
