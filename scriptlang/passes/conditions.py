"""Conditions of passes that tell, in plain words, what does not hold.

Each returns None if it holds, else the reason why not. So `a or b or c` is the first reason of
several conditions, and no words are made while all hold. A pass whose first operator is there, and
which then does not apply, gives the reason to `logs.missed`, and the log says where and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import Node, Value
from ..rewrite import argument_of
from ..tensors import Tensor
from .alias import AliasAnalysis


def fixed(node: Node, i: int) -> str | None:
    """Whether an input is a constant."""
    return None if node.inputs[i].is_constant else f"{argument_of(node, i)} is not a constant"


def equal(node: Node, i: int, *wanted: Any) -> str | None:
    """Whether an input is one of some constants."""
    if any(is_constant(node.inputs[i], value) for value in wanted):
        return None
    return fixed(node, i) or f"{argument_of(node, i)} is not {' or '.join(map(str, wanted))}"


def is_constant(v: Value, wanted: Any) -> bool:
    return v.is_constant and type(v.constant) is type(wanted) and v.constant == wanted


def weight(node: Node, i: int, *ranks: int, or_none: bool = False) -> str | None:
    """Whether an input is a constant tensor of one of some ranks, or None where that may be."""
    v = node.inputs[i]
    if or_none and is_constant(v, None):
        return None
    why = fixed(node, i)
    if why is not None:
        return why
    if not isinstance(v.constant, Tensor):
        return f"{argument_of(node, i)} is no tensor"
    if v.constant.dim() in ranks:
        return None
    texts = " or ".join(map(str, ranks))
    return f"{argument_of(node, i)} has {v.constant.dim()} dimensions, not {texts}"


def numbers(node: Node, places: Sequence[int]) -> str | None:
    """Whether inputs are constant lists of one or two numbers."""
    for i in places:
        v = node.inputs[i]
        if not (v.is_constant and isinstance(v.constant, (list, tuple))):
            return fixed(node, i) or f"{argument_of(node, i)} is no list of numbers"
        if len(v.constant) not in (1, 2):
            return f"{argument_of(node, i)} has {len(v.constant)} numbers, not 1 or 2"
    return None


def used_once(v: Value) -> str | None:
    """Whether a single operator uses a value."""
    if len(v.uses) == 1:
        return None
    return "another operator uses the value too" if v.uses else "nothing uses the value"


def same_block(node: Node, other: Node) -> str | None:
    return None if node.block is other.block else f"{other.kind} lies in another block"


def unwritten(analysis: AliasAnalysis, *values: Value) -> str | None:
    """Whether the memory of no value is written anywhere."""
    return "its memory is written" if analysis.is_written(*values) else None
