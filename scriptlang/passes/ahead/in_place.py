"""Writes the last values of arguments where they are computed, instead of copying them at the end.

    %m = aten::lerp(%mean, %grad, 0.1)            %m = aten::lerp_(%mean, %grad, 0.1)
    %p = aten::addcdiv(%param, %m, %d, -lr)  ->   %p = aten::addcdiv_(%param, %mean, %d, -lr)
    aten::copy_(%mean, %m, False)
    aten::copy_(%param, %p, False)

A straight graph has no writes but copies into its arguments at its end (writes.py). Where the value
comes from pointwise operators that begin with the argument itself, and nothing reads the memory of
the argument after them, they may as well write it. Tensors that are updated at each step, such as
parameters, are then read and written once. The targets must not share memory with anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...ir import Graph, Node, Value
from ...ops import table
from ..shape_facts import Fact, TensorFacts


def run(graph: Graph, targets: Collection[Value], facts: Mapping[Value, Fact]) -> bool:
    """targets: the arguments that may be written so. facts: of the values of the graph."""
    order = {node: k for k, node in enumerate(graph.nodes)}
    changed = False
    for node in list(graph.nodes):
        if node.kind == "aten::copy_" and node.inputs[0] in targets and not node.output.uses:
            chain = chain_of(node, facts)
            if chain is not None and is_last(node, chain, order):
                write(node, chain)
                changed = True
    return changed


def chain_of(copy: Node, facts: Mapping[Value, Fact]) -> list[Node] | None:
    """The operators from the last value of an argument back to the argument, which may all write
    it; None if there are none."""
    target, v = copy.inputs[:2]
    wanted = facts.get(target)
    chain: list[Node] = []
    while v is not target:
        node = v.node
        if v.is_parameter or node.block is not copy.block or writer_of(node) is None:
            return None
        if not isinstance(wanted, TensorFacts) or not is_like(facts.get(v), wanted):
            return None
        if chain and len(v.uses) != 1:
            return None
        chain.append(node)
        v = node.inputs[0]
    return chain or None


def is_like(fact: Fact, other: TensorFacts) -> bool:
    return (
        isinstance(fact, TensorFacts)
        and None not in (fact.shape, fact.dtype)
        and (fact.shape, fact.dtype) == (other.shape, other.dtype)
    )


def writer_of(node: Node) -> table.Operator | None:
    """The in-place variant of a pointwise operator."""
    if node.schema is None or not table.facts_of(node.schema).pointwise:
        return None
    writer = table.find(f"{node.kind}_", node.schema.overload)
    if writer is None or [i for i, _ in writer.schema.written] != [0]:
        return None
    names = [a.name for a in node.schema.arguments]
    return writer if [a.name for a in writer.schema.arguments] == names else None


def is_last(copy: Node, chain: list[Node], order: Mapping[Node, int]) -> bool:
    """Whether only the copy and the chain's first operator, by its first argument, read the memory
    of the argument from that operator on; and no result of the graph is the new value, which
    later calls would change."""
    first, last = chain[-1], chain[0].output
    if any(user not in order or user.kind == "prim::TupleConstruct" for user, _ in last.uses):
        return False
    shared, found = [copy.inputs[0]], {copy.inputs[0]}
    for v in shared:
        for user, i in v.uses:
            if user is copy or (user is first and i == 0 and v is copy.inputs[0]):
                continue
            if user not in order or order[user] >= order[first]:
                return False
            for made in may_share(user, i):
                if made not in found:
                    found.add(made)
                    shared.append(made)
    return True


def may_share(user: Node, i: int) -> list[Value]:
    """The results of a node that may share memory with its input i."""
    schema = user.schema
    if schema is None or user.blocks or table.facts_of(schema).may_share:
        return list(user.outputs)
    return [v for v, sources in zip(user.outputs, schema.shared) if i in sources]


def write(copy: Node, chain: list[Node]) -> None:
    """Let the operators write the target of the copy, which is removed."""
    graph, target = copy.graph, copy.inputs[0]
    copy.destroy()
    for node in reversed(chain):
        writer = writer_of(node)
        assert writer is not None
        with graph.at(node):
            graph.insert(
                writer.name,
                [target, *node.inputs[1:]],
                [node.output.type],
                schema=writer.schema,
                like=node,
            )
        node.output.replace_all_uses_with(target)
        node.destroy()
