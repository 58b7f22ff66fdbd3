"""Which nodes may be fused in one group.

These are the nodes of operators with the fact `fusible`: all they do is to compute each element, or
each row, of a new tensor. `cpp_loader/tools/generate_ops_def.py` lists them for the native
engine.
"""

from __future__ import annotations

from .. import types as T
from ..ir import Node, Value
from ..ops.table import facts_of
from ..rewrite import argument_of

NUMBERS = (T.INT, T.FLOAT, T.BOOL)


def is_fusible(node: Node) -> bool:
    """Whether a node may be part of a fused group."""
    return facts_of(node.schema).fusible and why_not_fusible(node) is None


def why_not_fusible(node: Node) -> str | None:
    """Why a node of an operator that may be fused cannot be part of a group."""
    if len(node.outputs) != 1 or node.output.type != T.TENSOR:
        return "its result is no tensor"
    for i, v in enumerate(node.inputs):
        if not may_enter(v):
            return f"{argument_of(node, i)} has the type {v.type}, and is no constant number"
    if not any(v.type == T.TENSOR for v in node.inputs):
        return "no input is a tensor"
    return None


def may_enter(v: Value) -> bool:
    """Whether a value may be an input of a group, or a constant inside it."""
    return v.type == T.TENSOR or v.type in NUMBERS or is_inner_constant(v)


def is_inner_constant(v: Value) -> bool:
    """Whether a value is a constant that a group holds itself."""
    return v.is_constant and (v.constant is None or is_plain(v.constant))


def is_plain(constant: object) -> bool:
    """Whether a constant is a number, a string, or a nonempty list of numbers."""
    if isinstance(constant, list):
        return bool(constant) and all(isinstance(x, (int, float)) for x in constant)
    return isinstance(constant, (bool, int, float, str))
