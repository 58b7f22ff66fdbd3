"""Finds the dtype of a tensor, if the constants that it is computed from determine it.

A layer only takes inputs of the dtype of its weights, and its result has the same dtype (the fact
`weight`). Pooling, activations and views keep the dtype (`keeps_type`).
"""

from __future__ import annotations

from .. import types as T
from ..dtypes import DType
from ..ir import Node, Value
from ..ops.table import facts_of
from ..tensors import Tensor


def floating_type(v: Value, known: dict[Value, DType | None] | None = None) -> DType | None:
    """The floating-point dtype that a tensor certainly has, or None.

    known: the dtypes of values that were visited already, so that shared ones are visited once.
    """
    known = {} if known is None else known
    if v not in known:
        known[v] = None  # result_type stops on long chains
        known[v] = constant_type(v) if v.is_constant else result_type(v, known)
    return known[v]


def constant_type(v: Value) -> DType | None:
    value = v.constant
    floating = isinstance(value, Tensor) and value.dtype.is_floating_point
    return value.dtype if floating else None


def result_type(v: Value, known: dict[Value, DType | None]) -> DType | None:
    node = v.node
    if v.is_parameter or node.schema is None or len(node.outputs) != 1 or len(known) > MOST:
        return None
    facts = facts_of(node.schema)
    if facts.weight >= 0:
        weight = node.inputs[facts.weight]
        adds = node.kind.startswith("scriptlang::") and not node.argument("added").is_constant
        return constant_type(weight) if weight.is_constant and not adds else None
    if not facts.keeps_type or not takes_own_type(node):
        return None
    first = floating_type(node.inputs[0], known)
    others = others_deciding(node) if facts.pointwise and not node.schema.is_mutable else []
    return first if all(floating_type(w, known) is first for w in others) else None


def others_deciding(node: Node) -> list[Value]:
    """The tensors, other than the first, that the dtype of a new pointwise result depends on."""
    return [w for w in node.inputs[1:] if w.type not in NO_TENSORS]


NO_TENSORS = (T.NUMBER, T.INT, T.FLOAT, T.BOOL, T.STR, T.NONE)


MOST = 200
"""The most values that are visited to find a dtype."""


def takes_own_type(node: Node) -> bool:
    assert node.schema is not None
    i = node.schema.index("dtype")
    return i is None or node.inputs[i].is_constant and node.inputs[i].constant is None
