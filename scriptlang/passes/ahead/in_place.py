"""Writes the last values of arguments where they are computed, instead of copying them at the end.

    %m = aten::lerp(%mean, %grad, 0.1)            %m = aten::lerp_(%mean, %grad, 0.1)
    %p = aten::addcdiv(%param, %m, %d, -lr)  ->   %p = aten::addcdiv_(%param, %mean, %d, -lr)
    aten::copy_(%mean, %m, False)
    aten::copy_(%param, %p, False)

A straight graph has no writes but copies into its arguments at its end (writes.py). Where the value
comes from pointwise operators that begin with the argument itself, and nothing reads the memory of
the argument after them, they may as well write it. Tensors that are updated at each step, such as
parameters, are then read and written once. The targets must not share memory with anything else.

    %ps, %gs, %ms, ... = aten::_fused_adam([%p], [%g], [%m], ...)
    aten::copy_(%p, %ps[0], False)                             ->   aten::_fused_adam_([%p], ...)

And a product that only an argument gets added is added where it is computed, and not kept:

    %g = aten::mm(%a, %b)
    aten::add_(%param, %g, -lr)          ->   aten::addmm_(%param, %a, %b, 1, -lr)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ... import types as T
from ...ir import Graph, Node, Value
from ...ops import table
from ..effects import FUSED, has_side_effects, may_fail
from ..shape_facts import Fact, TensorFacts

FOR_ANY_ELEMENTS = frozenset(
    """activation arithmetic attention backward backward_conv backward_gru backward_norm
    backward_rnn compare conv matmul norm pointwise reduce rnn view""".split()
)
"""Families of operators that compute something of any floating-point elements."""


def run(graph: Graph, targets: Collection[Value], facts: Mapping[Value, Fact]) -> bool:
    """targets: the arguments that may be written so. facts: of the values of the graph."""
    order = {node: k for k, node in enumerate(graph.nodes)}
    changed = False
    for update in list(graph.nodes):
        writer = writer_of_lists(update)
        copies = None if writer is None else copies_of(update, targets)
        if copies is not None and all(is_last(c, update, c.inputs[1], order) for c in copies):
            write_lists(update, writer, copies)
            changed = True
    for copy in [node for node in graph.nodes if is_last_copy(node, targets)]:
        chain = chain_of(copy, facts)
        if chain is not None and is_last(copy, chain[-1], chain[0].output, order):
            write(copy, chain)
            changed = True
    return changed


def add_products(graph: Graph, targets: Collection[Value], facts: Mapping[Value, Fact]) -> None:
    """After groups are fused: they do not reach across what writes."""
    for node in [node for node in graph.nodes if is_added_product(node, targets, facts)]:
        add_product(node, facts)


def is_last_copy(node: Node, targets: Collection[Value]) -> bool:
    return node.kind == "aten::copy_" and node.inputs[0] in targets and not node.output.uses


def writer_of_lists(node: Node) -> table.Operator | None:
    """The in-place variant of an operator that returns new lists of tensors, such as a step of an
    optimizer."""
    if node.schema is None or any(v.type != T.ListType(T.TENSOR) for v in node.outputs):
        return None
    writer = table.find(f"{node.kind}_", node.schema.overload)
    if writer is None or len(writer.schema.written) != len(node.outputs):
        return None
    return writer


def copies_of(update: Node, targets: Collection[Value]) -> list[Node] | None:
    """The copies of all that an update returns into what it read; None if that is not all that is
    done with the results, or if a tensor is updated twice."""
    copies: list[Node] = []
    for given, result in zip(update.inputs, update.outputs):
        if given.node.kind != "prim::ListConstruct":
            return None
        for unpack, _ in result.uses:
            if unpack.kind != "prim::ListUnpack":
                return None
            for target, new in zip(given.node.inputs, unpack.outputs):
                users = [user for user, _ in new.uses]
                if len(users) != 1 or not is_last_copy(users[0], targets):
                    return None
                if users[0].inputs[:2] != [target, new]:
                    return None
                copies.append(users[0])
    written = [copy.inputs[0] for copy in copies]
    return copies if copies and len(set(written)) == len(written) else None


def write_lists(update: Node, writer: Any, copies: Collection[Node]) -> None:
    """Let an update write the tensors that it reads, instead of the copies."""
    for copy in copies:
        copy.destroy()
    for unpack in [user for result in update.outputs for user, _ in result.uses]:
        unpack.destroy()
    with update.graph.at(update):
        update.graph.insert(writer.name, list(update.inputs), [], schema=writer.schema, like=update)
    update.destroy()


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


def is_last(copy: Node, first: Node, new: Value, order: Mapping[Node, int]) -> bool:
    """Whether only the copy and the operator `first`, which begins with the argument, read the
    memory of the argument from that operator on; and no result of the graph is the new value, which
    later calls would change."""
    if any(user not in order or user.kind == "prim::TupleConstruct" for user, _ in new.uses):
        return False
    target = copy.inputs[0]
    shared, found = [target], {target}
    for v in shared:
        for user, i in v.uses:
            if user is copy or (user is first and begins_with(first, i, target)):
                continue
            if user not in order or order[user] >= order[first]:
                return False
            for made in may_share(user, i):
                if made not in found:
                    found.add(made)
                    shared.append(made)
    return True


def begins_with(first: Node, i: int, target: Value) -> bool:
    """Whether input i of an operator is the argument that it is to write, or the list of it."""
    given = first.inputs[i]
    if given is target:
        return i == 0
    return i < len(first.outputs) and given.type != T.TENSOR and target in given.node.inputs


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


def is_added_product(node: Node, targets: Collection[Value], facts: Mapping[Value, Fact]) -> bool:
    """Whether a node adds a product that is not used otherwise to all of a target."""
    if node.kind != "aten::add_" or node.inputs[0] not in targets or node.output.uses:
        return False
    target, product = node.inputs[0], node.inputs[1]
    if product.type != T.TENSOR or product.node.kind != "aten::mm" or product.is_parameter:
        return False
    wanted = facts.get(target)
    return (
        len(product.uses) == 1
        and product.node.block is node.block
        and target not in product.node.inputs
        and isinstance(wanted, TensorFacts)
        and is_like(facts.get(product), wanted)
    )


def add_product(node: Node, facts: Mapping[Value, Fact]) -> None:
    """Add the product to the target where it is computed, unless the target is read after that, or
    the program may end in between."""
    graph, (target, product, factor) = node.graph, node.inputs
    first = product.node
    nodes = list(graph.nodes)
    order = {n: k for k, n in enumerate(nodes)}
    if any(may_raise(between, facts) for between in nodes[order[first] + 1 : order[node]]):
        return  # after an error the target would be written
    if not is_last(node, first, product, order) or not move_up(factor, first, order):
        return
    writer = table.find("aten::addmm_")
    assert writer is not None
    with graph.at(first):
        inputs = [target, *first.inputs, graph.constant(1, T.INT), factor]
        graph.insert(writer.name, inputs, [T.TENSOR], schema=writer.schema, like=node)
    node.destroy()
    first.destroy()


def may_raise(node: Node, facts: Mapping[Value, Fact]) -> bool:
    """Whether a program may end at a node: for elements, since sizes and types are settled. Those
    of integers may be out of range, or zero to divide by."""
    if node.blocks or has_side_effects(node):
        return True
    tensors = [v for v in node.inputs if v.type == T.TENSOR]
    if not tensors:
        return may_fail(node)
    if node.kind != FUSED:
        base = node.kind.removesuffix("_")  # an in-place form is made of it
        operator = node.schema and table.find(base, node.schema.overload)
        if not operator or not FOR_ANY_ELEMENTS.intersection(operator.makers[:1]):
            return True
    known = [f.dtype if isinstance(f, TensorFacts) else None for f in map(facts.get, tensors)]
    return any(dtype is None or dtype.kind not in "fcb" for dtype in known)


def move_up(v: Value, first: Node, order: Mapping[Node, int]) -> bool:
    """Let a number be computed before a node, where it only needs arguments and constants."""
    if v.is_parameter or order.get(v.node, -1) < order[first]:
        return True
    if has_side_effects(v.node) or any(
        not i.is_parameter and order.get(i.node, -1) >= order[first] for i in v.node.inputs
    ):
        return False
    v.node.move_before(first)
    return True
