"""Moves loop-invariant nodes out of loops, and unrolls short loops.

A node moves before the loop if its inputs come from outside the loop, it cannot fail, makes no
memory and has no effect, and nothing in the loop writes what it reads. It then runs even if the
loop has no iterations. A loop with a constant trip count and no early exit is unrolled if the
copies are few (MAX_TURNS, MAX_COPIES); the iteration number then becomes a constant.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ir import Block, Graph, Node, Value, clone_node
from .alias import AliasAnalysis, analysis_of, drop_analysis, memory_kinds
from .effects import CONTROL, has_side_effects, may_fail

MAX_TURNS = 16
MAX_COPIES = 256
"""The limits of unrolling: iterations, and resulting nodes."""

FIXED = frozenset({"prim::GetAttr", "prim::TupleIndex"})
"""Kinds that return memory that existed before, so they may move even though they return memory."""


def run(graph: Graph) -> bool:
    changed = False
    for node in [n for n in graph.walk() if n.kind == "prim::Loop"][::-1]:
        changed |= unroll(node)
    if changed:
        drop_analysis(graph)
    loops = [n for n in graph.walk() if n.kind == "prim::Loop"]
    if loops:
        analysis = analysis_of(graph)
        for node in loops[::-1]:
            changed |= hoist(node, analysis)
    return changed


def hoist(loop: Node, analysis: AliasAnalysis) -> bool:
    """Move invariant nodes of a loop's body before the loop."""
    body, changed = loop.blocks[0], False
    written = writes_of(loop, analysis)
    for node in body.nodes:
        if is_invariant(node, body) and not written.touch(node, analysis.reads(node)):
            node.move_before(loop)
            changed = True
    return changed


class Writes(NamedTuple):
    """The memory that a loop writes: by setting attributes, per name, and otherwise."""

    attributes: dict[str, int]
    rest: int

    def touch(self, node: Node, read: int) -> bool:
        """Whether memory that a node reads may be written; a GetAttr only reads its attribute."""
        if node.kind == "prim::GetAttr":
            return bool(read & (self.rest | self.attributes.get(node.attributes["name"], 0)))
        return any(read & written for written in (self.rest, *self.attributes.values()))


def writes_of(loop: Node, analysis: AliasAnalysis) -> Writes:
    attributes: dict[str, int] = {}
    rest = 0
    for node in loop.blocks[0].walk():
        if node.blocks and node.kind in CONTROL:
            continue
        if node.kind == "prim::SetAttr":
            name = node.attributes["name"]
            attributes[name] = attributes.get(name, 0) | analysis.writes(node)
        else:
            rest |= analysis.writes(node)
    return Writes(attributes, rest)


def is_invariant(node: Node, body: Block) -> bool:
    """Whether a node has the same results in each iteration and may run even if there is none."""
    if (
        node.blocks
        or not node.outputs
        or node.kind == "prim::Uninitialized"
        or has_side_effects(node)
        or may_fail(node)
    ):
        return False
    if node.schema is not None and node.schema.is_mutable:
        return False
    if node.kind not in FIXED and any(memory_kinds(v.type) for v in node.outputs):
        return False
    return not any(v.node.block.is_inside(body) for v in node.inputs)


def unroll(loop: Node) -> bool:
    """Replace a short loop with a known trip count by copies of its body."""
    body = loop.blocks[0]
    count, condition, again = loop.inputs[0], loop.inputs[1], body.returns[0]
    if not (
        count.is_constant
        and condition.is_constant
        and again.is_constant
        and condition.constant
        and again.constant
        and 0 < count.constant <= MAX_TURNS
    ):
        return False
    if count.constant * sum(1 for _ in body.walk()) > MAX_COPIES:
        return False
    carried = loop.inputs[2:]
    for turn in range(count.constant):
        with loop.graph.at(loop) as graph:
            env: dict[Value, Value] = {
                body.parameters[0]: graph.constant(turn, like=loop),
                **dict(zip(body.parameters[1:], carried)),
            }
        for node in body.nodes:
            clone_node(node, loop.graph, env).insert_before(loop)
        carried = [env.get(v, v) for v in body.returns[1:]]
    loop.replace_with(*carried)
    return True
