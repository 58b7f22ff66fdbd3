"""Which nodes may be fused in one group.

These are the nodes of operators with the fact `fusible`: all they do is to compute each element, or
each row, of a new tensor. `cpp_loader/tools/generate_ops_def.py` lists them for the native
engine.
"""

from __future__ import annotations

from .. import types as T
from ..ir import Node, Value
from ..ops.table import facts_of

NUMBERS = (T.INT, T.FLOAT, T.BOOL)


def is_fusible(node: Node) -> bool:
    """Whether a node may be part of a fused group."""
    return (
        facts_of(node.schema).fusible
        and len(node.outputs) == 1
        and node.output.type == T.TENSOR
        and all(map(may_enter, node.inputs))
        and any(v.type == T.TENSOR for v in node.inputs)
    )


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
