"""The element type of a tensor, if constants before it determine it.

A layer takes only inputs of its weights' type and gives that type (the fact `weight`); pooling,
activations and views keep it (`keeps_type`).
"""

from __future__ import annotations

from .. import types as T
from ..dtypes import DType
from ..ir import Node, Value
from ..ops.table import facts_of
from ..tensors import Tensor


def floating_type(v: Value, known: dict[Value, DType | None] | None = None) -> DType | None:
    """The floating point type that a tensor certainly has, or None.

    known: what was found for values met before, so that shared ones are looked at once.
    """
    known = {} if known is None else known
    if v not in known:
        known[v] = None  # a chain that is too long ends here
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
    """The tensors besides the first on which the type of a new pointwise result depends."""
    return [w for w in node.inputs[1:] if w.type not in NO_TENSORS]


NO_TENSORS = (T.NUMBER, T.INT, T.FLOAT, T.BOOL, T.STR, T.NONE)


MOST = 200
"""How many values back an answer is looked for."""


def takes_own_type(node: Node) -> bool:
    assert node.schema is not None
    i = node.schema.index("dtype")
    return i is None or node.inputs[i].is_constant and node.inputs[i].constant is None
