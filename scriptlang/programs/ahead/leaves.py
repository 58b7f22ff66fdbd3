"""The tensors that a straight graph is given, and those that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops.derivatives.state import alias
from ...tensors import Tensor


def plain(leaf: Any) -> Any:
    """The tensor itself, or an alias of it without gradient if it requires one."""
    if type(leaf) is float or leaf._autograd is None and not leaf._requires_grad:
        return leaf
    return alias(leaf)


def apart_from(held: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """The results of a graph, with other tensors in place of those that every call is given: a
    caller may give its results another shape, or a history."""
    ids = {id(t) for t in held}
    return [alias(r) if isinstance(r, Tensor) and id(r) in ids else r for r in results]
