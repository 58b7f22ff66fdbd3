"""`once_differentiable`: backward functions of users that cannot be differentiated themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...tensors import Tensor
from ..calling.current import mode
from .nodes import Node
from .state import alias, edge_of, needs, required, set_node


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward as not differentiable: going back through its results raises RuntimeError."""

    @functools.wraps(backward)
    def run(ctx: Any, *grads: Any) -> Any:
        was = mode.turn(False)
        try:
            made = backward(ctx, *grads)
        finally:
            mode.turn(was)
        if not (was and any(isinstance(g, Tensor) and needs(g) for g in grads)):
            return made
        parts = made if isinstance(made, tuple) else (made,)
        node = Error([edge_of(new_leaf(part)) if follows(part) else None for part in parts])
        again = []
        for k, part in enumerate(parts):
            if isinstance(part, Tensor):
                part = alias(part)
                set_node(part, node, k)
            again.append(part)
        return tuple(again) if isinstance(made, tuple) else again[0]

    return run


def follows(part: Any) -> bool:
    return isinstance(part, Tensor) and part.dtype.kind in "fc"


def new_leaf(part: Tensor) -> Tensor:
    """What stands behind the node: as in PyTorch not what the gradient was computed of."""
    return required(alias(part))


class Error(Node):
    """The node of a backward marked with once_differentiable: its own backward raises."""

    __slots__ = ()

    def __init__(self, edges: Sequence[Any]) -> None:
        super().__init__(edges, len(edges))

    def name(self) -> str:
        return "torch::autograd::Error"

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )
