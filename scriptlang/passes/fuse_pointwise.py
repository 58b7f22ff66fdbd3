"""Groups pointwise operators and reductions in one node, which an engine may run in one pass.

    %a = aten::mul(%x, %s)                 %c = scriptlang::fused_pointwise(%x, %s, %y)
    %b = aten::tanh(%a)             ->       Subgraph: %a = aten::mul(%x, %s)
    %c = aten::add(%b, %y, %1)                         %b = aten::tanh(%a)
                                                       %c = aten::add(%b, %y, %1)

The node holds the operators as a graph of its own, which an engine may also call like a function.
An operator joins the groups whose results it reads, unless something has to run in between: a group
must not depend on its own results. No node moves across a node with an effect, or across a write to
what it reads. If two operators of a program fail, another one than before may be the first to do
so.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import logs
from .. import types as T
from ..ir import Block, Graph, Node, Value, clone_node
from ..ops.table import facts_of
from .alias import AliasAnalysis
from .effects import FUSED, has_side_effects
from .fusible import is_fusible, is_inner_constant, why_not_fusible

KIND = FUSED
NAME = "fuse_pointwise"
BEFORE = f"{NAME} with what makes its inputs"

MOST_NODES = 40
MOST_INPUTS = 16
"""The most nodes and inputs of a group: an engine keeps all values of a group at once."""

NEAR, LEAST_GAIN = 4, 4
"""A result waits if its input is held longer for it by few nodes, or if otherwise it would be held
for many times as many nodes itself."""


def run(graph: Graph) -> bool:
    blocks = [b for b in all_blocks(graph.block) if has_pair(b)]
    changed = False
    if blocks:
        analysis = AliasAnalysis(graph)
        changed = any(
            [fuse_segment(nodes, analysis) for block in blocks for nodes in segments(block)]
        )
    if logs.topics:
        tell(graph)
    return changed


def tell(graph: Graph) -> None:
    """Log why operators are in no group that might be in one."""
    for node in graph.walk():
        if facts_of(node.schema).fusible:
            why = why_not_fusible(node) or "no neighbour can be in a group with it"
            logs.missed(node, NAME, why)


def applies(graph: Graph) -> bool:
    """Whether there may be something to fuse (a quick check)."""
    return any(map(has_pair, all_blocks(graph.block)))


def all_blocks(block: Block) -> Iterator[Block]:
    yield block
    for node in block.nodes:
        for inner in node.blocks:
            yield from all_blocks(inner)


def has_pair(block: Block) -> bool:
    """Whether a block has two fusible operators, one of which uses the result of the other."""
    return any(
        is_fusible(user)
        for node in block.nodes
        if is_fusible(node)
        for user, _ in node.output.uses
        if user.block is block
    )


def segments(block: Block) -> list[list[Node]]:
    """The runs of nodes between nodes with effects."""
    found: list[list[Node]] = [[]]
    for node in block.nodes:
        if has_side_effects(node):
            found.append([])
        else:
            found[-1].append(node)
    return found


def fuse_segment(nodes: list[Node], analysis: AliasAnalysis) -> bool:
    """Fuse the groups in a run of nodes; other nodes are reordered as far as the groups need it."""
    if not any(map(is_fusible, nodes)):
        return False
    groups = Grouping(nodes, dependencies(nodes, analysis))
    groups.move_to_users()
    units = groups.units()
    if all(len(unit) == 1 for unit in units):
        return False
    end = nodes[-1].next
    for unit in units:
        for i in unit:
            nodes[i].move_before(end)
    for unit in units:
        if len(unit) > 1:
            fuse([nodes[i] for i in unit])
    return True


def dependencies(nodes: list[Node], analysis: AliasAnalysis) -> list[set[int]]:
    """For each node, the earlier nodes after which it must run."""
    index = {node: i for i, node in enumerate(nodes)}
    found = [{index[d] for d in producers(node) if d in index} for node in nodes]
    writes = [analysis.writes(node) for node in nodes]
    writers = [i for i, w in enumerate(writes) if w]
    if writers:
        touched = [w | analysis.reads(node) for node, w in zip(nodes, writes)]
        for w in writers:
            for i, memory in enumerate(touched):
                if i != w and memory & writes[w]:
                    found[max(i, w)].add(min(i, w))
    return found


def producers(node: Node) -> Iterator[Node]:
    """The nodes of the same block whose results a node, or one inside it, uses."""
    inside = [node]
    for block in node.blocks:
        inside += [*block.walk(), block.end]
    inside += [inner.end for n in inside[1:] for inner in n.blocks]
    for user in inside:
        for v in user.inputs:
            if v.node.block is node.block:
                yield v.node


class Grouping:
    """Which nodes form groups. Sets of groups are bit masks; merged groups have a common `root`.

    depends: node -> the groups that must run before it. outside: the same for groups.
    """

    def __init__(self, nodes: list[Node], before: list[set[int]]) -> None:
        self.nodes, self.before = nodes, before
        self.root: list[int] = []
        self.members: list[list[int]] = []
        self.outside: list[int] = []
        self.group: list[int | None] = [None] * len(nodes)
        self.depends: list[int] = [0] * len(nodes)
        for i, node in enumerate(nodes):
            for d in before[i]:
                self.depends[i] |= self.reached(d)
            if is_fusible(node):
                self.place(i)

    def find(self, g: int) -> int:
        while self.root[g] != g:
            g = self.root[g]
        return g

    def group_of(self, i: int) -> int | None:
        """The root of a node's group; None if it is in no group."""
        g = self.group[i]
        return None if g is None else self.find(g)

    def reached(self, i: int) -> int:
        """The groups that must run before any node that depends on node i."""
        g = self.group[i]
        return self.depends[i] if g is None else 1 << g | self.outside[self.find(g)]

    def closure(self, mask: int) -> int:
        """The groups of a mask and all groups that they depend on, as a mask of their roots."""
        found, pending = 0, mask
        while pending:
            g = self.find(pending.bit_length() - 1)
            pending &= ~(1 << pending.bit_length() - 1)
            if not found >> g & 1:
                found |= 1 << g
                pending |= self.outside[g]
        return found

    def place(self, i: int) -> None:
        """Put a node into a group of its inputs, merging several groups if possible, or into a new
        one."""
        near = {g for d in self.before[i] if (g := self.group_of(d)) is not None}
        joined: list[int] = []
        for g in sorted(near, reverse=True):
            why = self.why_apart([*joined, g], i)
            if not logs.missed(self.nodes[i], BEFORE, why):
                joined.append(g)
        if not joined:
            joined = [len(self.root)]
            self.root.append(len(self.root))
            self.members.append([])
            self.outside.append(0)
        first = joined[0]
        for g in joined[1:]:
            self.root[g] = first
            self.members[first] += self.members[g]
            self.outside[first] |= self.outside[g]
        self.group[i] = first
        self.members[first].append(i)
        for d in self.before[i]:
            if self.group_of(d) != first:
                self.outside[first] |= self.reached(d)

    def why_apart(self, groups: list[int], i: int) -> str | None:
        """Why groups and a node cannot be merged: the result must not depend on itself."""
        own = sum(1 << g for g in groups)
        outside = 0
        for d in self.before[i]:
            if self.group_of(d) not in groups:
                outside |= self.reached(d)
        for g in groups:
            outside |= self.outside[g]
        if self.closure(outside) & own:
            return "something has to run in between"
        members = [i, *(m for g in groups for m in self.members[g])]
        if len(members) > MOST_NODES:
            return f"the group would have more than {MOST_NODES} operators"
        if len(inputs_of([self.nodes[m] for m in members])) > MOST_INPUTS:
            return f"the group would have more than {MOST_INPUTS} inputs"
        return None

    def move_to_users(self) -> None:
        """Move what only one later group uses there, if that costs little memory.

        Then no group writes it, and it is not kept until then. An example is the comparison of a
        relu's result, which the backward pass uses.
        """
        after: list[list[int]] = [[] for _ in self.nodes]
        for i, earlier in enumerate(self.before):
            for d in earlier:
                after[d].append(i)
        for i in reversed(range(len(self.nodes))):
            own = self.group_of(i)
            targets = {self.group_of(user) for user in after[i]}
            target = targets.pop() if len(targets) == 1 else None
            if own is None or target is None or own == target:
                continue
            if self.may_wait(i, after) and self.why_apart([target], i) is None:
                self.members[own].remove(i)
                self.members[target].append(i)
                self.group[i] = target

    def may_wait(self, i: int, after: list[list[int]]) -> bool:
        """Whether a pointwise node's only input is written by its group and kept long enough."""
        taken = inputs_of([self.nodes[i]])
        made = [d for d in self.before[i] if self.nodes[d] is taken[0].node] if taken else []
        if len(taken) != 1 or not made or not facts_of(self.nodes[i].schema).pointwise:
            return False
        own = self.group_of(i)
        others = [user for user in after[made[0]] if self.group_of(user) != own]
        if self.group_of(made[0]) != own or not others:
            return False
        # The input is kept longer, the result is not kept; a bool has a quarter of a float's size.
        first = after[i][0]
        return first - others[-1] <= max(NEAR, (first - i) // LEAST_GAIN)

    def units(self) -> list[list[int]]:
        """The groups and single nodes, in an order that respects all dependencies."""
        done: set[int] = set()
        order: list[list[int]] = []

        def emit(i: int) -> None:
            g = self.group[i]
            unit = [i] if g is None else sorted(self.members[self.find(g)])
            done.update(unit)
            for m in unit:
                for d in sorted(self.before[m]):
                    if d not in done:
                        emit(d)
            order.append(unit)

        for i in range(len(self.nodes)):
            g = self.group[i]
            is_last = g is None or i == max(self.members[self.find(g)])
            if is_last and i not in done:
                emit(i)
        return order


def inputs_of(nodes: list[Node]) -> list[Value]:
    """The values that nodes use from outside, except constants that a group holds itself."""
    made = set(nodes)
    return list(
        dict.fromkeys(
            v
            for node in nodes
            for v in node.inputs
            if v.node not in made and not is_inner_constant(v)
        )
    )


def fuse(nodes: list[Node]) -> Node:
    """Replace nodes that stand next to each other by one node."""
    made = set(nodes)
    taken = inputs_of(nodes)
    results = [
        node.output for node in nodes if any(user not in made for user, _ in node.output.uses)
    ]
    inner = Graph()
    env = {v: inner.block.add_parameter(v.type, v.name) for v in taken}
    for node in nodes:
        for v in node.inputs:
            if v not in env and v.node not in made:
                env[v] = inner.constant(v.constant, v.type, v.node.span)
        inner.block.append(clone_node(node, inner, env))
    for v in results:
        inner.block.add_return(env[v])
    fused = nodes[0].graph.create(
        KIND, taken, [T.TENSOR] * len(results), attributes={"Subgraph": inner}, like=nodes[-1]
    )
    fused.insert_before(nodes[0])
    for old, new in zip(results, fused.outputs):
        new.name = old.name
        old.replace_all_uses_with(new)
    for node in reversed(nodes):
        node.destroy()
    return fused
