"""The effects of nodes other than computing their outputs; all passes ask here.

Writes to memory (in-place operators, SetAttr) are handled in alias.py. Here are the effects that a
memory analysis does not see: output, errors, calls of unknown code, the random generator's
state.
"""

from __future__ import annotations

from ..ir import Block, Node
from ..ops.facts import RANDOM_SWITCHES
from ..ops.table import DESCRIBED, facts_of

EFFECTS = frozenset(
    {
        "prim::Print",
        "prim::RaiseException",
        "prim::Enter",
        "prim::Exit",
        "prim::CallFunction",
        "prim::CallMethod",
        "prim::fork",
        "prim::awaitable",
        "prim::awaitable_wait",
        "prim::AddStatValue",
        "prim::profile",
        "prim::IgnoredPythonOp",
    }
)
"""IR node kinds that have to run exactly once and in order; operators have the fact `effect`."""

CALLS = frozenset(
    {
        "prim::CallFunction",
        "prim::CallMethod",
        "prim::fork",
        "prim::Enter",
        "prim::Exit",
        "prim::awaitable",
        "prim::awaitable_wait",
        "aten::wait",
        "prim::IgnoredPythonOp",
    }
)
"""Kinds that run code that is not analysed: it may read and write whatever it can reach."""

CONTROL = frozenset({"prim::If", "prim::Loop", "prim::Param", "prim::Return"})

ALLOCATIONS = frozenset(
    {"prim::ListConstruct", "prim::DictConstruct", "prim::TupleConstruct", "prim::CreateObject"}
)
"""Kinds that create a new container from their inputs."""

UNPACKS = frozenset(
    {
        "prim::TupleUnpack",
        "prim::TupleIndex",
        "prim::TupleSlice",
        "prim::ListUnpack",
        "prim::DictIndex",
    }
)
"""Kinds whose result is contained in their first input."""

PASSES_ON = frozenset(
    {"prim::unchecked_cast", "prim::unchecked_unwrap_optional", "prim::TupleCast"}
)
"""Kinds whose output is their first input."""

FUSED = "scriptlang::fused_pointwise"
"""A node with a subgraph of operators, which does nothing but compute new tensors."""

PURE_PRIM = frozenset(
    {
        FUSED,
        "prim::Constant",
        "prim::GetAttr",
        "prim::isinstance",
        "prim::Uninitialized",
        *ALLOCATIONS,
        *UNPACKS,
        *PASSES_ON,
        *CONTROL,
    }
)
"""IR node kinds without a schema or an effect (control flow has the effects of its blocks)."""

VISIBLE = frozenset({"prim::Print", "prim::RaiseException", "prim::SetAttr"})
"""IR node kinds with a known effect: they run no other code."""

NAMESPACES = ("aten::", "prim::", "scriptlang::", "quantized::", "prepacked::")
"""Namespaces whose schemas describe all effects of operators. Registered operators of users share
and write memory as their schemas say, but may have other effects; any others may do anything."""

TOTAL = frozenset(
    {"prim::isinstance", "prim::TupleConstruct", "prim::TupleIndex", "prim::TupleUnpack"}
)
"""IR node kinds that never fail; operators have the fact `total` instead."""


def is_opaque(node: Node) -> bool:
    """Whether the node runs code that is not analysed and may do anything to what it can reach."""
    if is_foreign(node.kind):
        return True
    return node.schema is None and node.kind not in PURE_PRIM and node.kind not in VISIBLE


def is_foreign(kind: str) -> bool:
    """Whether a kind runs code that is not analysed."""
    return kind in CALLS or not kind.startswith(NAMESPACES) and kind not in DESCRIBED


def has_side_effects(node: Node) -> bool:
    """Whether the node, or one inside it, does more than compute outputs and write to memory."""
    if node.blocks:
        return any(has_side_effects(n) for block in node.blocks for n in block.nodes)
    return has_effect(node) or is_random(node) or is_opaque(node) or gives_nothing(node)


def has_effect(node: Node) -> bool:
    """Whether a node has to run exactly once and in its place."""
    return node.kind in EFFECTS or facts_of(node.schema).effect in ("ordered", "repeatable")


def gives_nothing(node: Node) -> bool:
    """Whether an operator has no results and writes nothing. It must then have an unknown effect.

    The exception are some checks, which PyTorch's JIT removes from programs too.
    """
    schema = node.schema
    return (
        schema is not None
        and not schema.returns
        and not schema.is_mutable
        and not schema.is_varret
        and facts_of(schema).effect != "check"
    )


def always_raises(block: Block) -> bool:
    """Whether an exception always ends the block, if its nodes are run."""
    return any(n.kind == "prim::RaiseException" for n in block.nodes)


def is_random(node: Node) -> bool:
    """Whether the node draws from the random number generator."""
    schema = node.schema
    if schema is None or not (facts_of(schema).random or schema.takes_generator):
        return False
    for name, off in RANDOM_SWITCHES.items():
        i = schema.index(name)
        if i is not None:
            v = node.inputs[i]
            if v.is_constant and v.constant == off:
                return False
    return True


def may_fail(node: Node) -> bool:
    """Whether running the node can raise an error.

    A cast counts: it may only be valid because of a check before it.
    """
    if node.kind in ("prim::Constant", "prim::GetAttr", "prim::Uninitialized", *ALLOCATIONS):
        return False
    if node.blocks:
        return any(may_fail(n) for block in node.blocks for n in block.nodes)
    return node.kind not in TOTAL and not facts_of(node.schema).total
