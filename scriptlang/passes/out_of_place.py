"""Replaces in-place operators on tensors that nothing else holds by out-of-place operators.

    %y = aten::conv2d(...)                     %y = aten::conv2d(...)
    %z = aten::relu_(%y)                ->     %z = aten::relu(%y)

The tensor has to be fresh: made in the same block by an operator whose result is no alias, and
before the write only used by operators whose results are no aliases either. Its dtype has to be
known, since the out-of-place operator may return another one. Later uses get the new tensor. This
helps fusion, which only handles operators without effects.
"""

from __future__ import annotations

from .. import logs
from ..ir import Graph, Node, Value
from ..ops import table
from .known_types import floating_type, others_deciding


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.walk()):
        if node.schema is not None and node.kind.endswith("_") and node.schema.is_mutable:
            changed |= replace(node)
    return changed


def replace(node: Node) -> bool:
    target = node.inputs[0]
    form = other_form(node)
    if form is None:
        why: str | None = f"no operator gives what {node.kind} writes"
    else:
        why = why_not_fresh(target, node) or why_other_type(node, form)
    if logs.missed(node, "out_of_place", why) or form is None:
        return False
    with node.graph.at(node):
        new = node.graph.insert(
            form.name, node.inputs, [node.output.type], schema=form.schema, like=node
        )
    new.output.name = node.output.name
    later = [
        (user, i)
        for user, i in target.uses
        if user is not new and user is not node and not user.is_before(node)
    ]
    for user, i in later:
        user.replace_input(i, new.output)
    node.output.replace_all_uses_with(new.output)
    node.destroy()
    return True


def why_other_type(node: Node, form: table.Operator) -> str | None:
    """Why the out-of-place operator may return another dtype than that of the written tensor."""
    if form.facts.keeps_type == "any":
        return None
    known = floating_type(node.inputs[0])
    if known is None:
        return "the element type of what it writes is not known"
    if all(floating_type(v) is known for v in others_deciding(node)):
        return None
    return "what it reads may have another element type than what it writes"


def other_form(node: Node) -> table.Operator | None:
    """The out-of-place variant of an operator, if its result dtype is known and it takes the same
    arguments; else None."""
    assert node.schema is not None, "the node writes"
    operator = table.find(node.kind[:-1], node.schema.overload)
    if operator is None or not operator.facts.keeps_type or operator.kernel is None:
        return None
    names = [a.name for a in operator.schema.arguments]
    return operator if names == [a.name for a in node.schema.arguments] else None


def why_not_fresh(v: Value, before: Node) -> str | None:
    """Why another tensor may share the value's memory right before a node of its block."""
    if v.is_parameter:
        return "what it writes comes in from outside"
    if v.node.block is not before.block:
        return "what it writes is made in another block"
    if not gives_fresh(v.node):
        return f"what it writes may be memory that {v.node.kind} was given"
    for user, _ in v.uses:
        if user is not before and user.is_before(before) and not gives_fresh(user):
            return f"{user.kind} before it may share the memory that it writes"
    if sum(user is before for user, _ in v.uses) != 1:
        return "it reads what it writes as another argument, too"
    return None


def gives_fresh(node: Node) -> bool:
    """Whether a node is an operator that neither writes memory nor returns memory of its inputs."""
    schema = node.schema
    return (
        schema is not None
        and not node.blocks
        and not schema.is_mutable
        and node.kind.startswith(("aten::", "scriptlang::"))
        and not table.facts_of(schema).may_share
        and not any(r.alias for r in schema.returns)
    )
