"""Edges and saved tensors as users see them: the objects of torch.autograd.graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ...tensors import Tensor
from ..calling import functions
from ..calling.current import mode
from .hooks import Handle, register_hook
from .nodes import AccumulateGrad, Node
from .state import count_write, edge_of


class GradientEdge(NamedTuple):
    """Where a gradient flows: to an output of a node.

    It stands for a tensor in `autograd.grad` and `backward`, without keeping the tensor's memory.
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


shapes: weakref.WeakKeyDictionary[Node, dict[int, Tensor]] = weakref.WeakKeyDictionary()
"""Of nodes whose edges users have got: by output, a tensor without memory of the same size and
type, which says what gradient the edge takes."""


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor's gradient.  Raises RuntimeError if it requires none."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    number = functions.zeros([], dtype=tensor.dtype)
    shapes.setdefault(edge[0], {})[edge[1]] = number.expand(list(tensor._size))
    return GradientEdge(*edge)


def shape_at(edge: GradientEdge) -> Tensor | None:
    """A tensor like the one that an edge stands for; None if it is not known."""
    return shapes.get(edge.node, {}).get(edge.output_nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to tensors, which their memory got in a way that is not seen."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        count_write(t)


class Handles:
    """A handle that removes several hooks."""

    def __init__(self, handles: Sequence[Handle]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> Handles:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


class Together:
    """The gradients of several tensors in one backward pass, of which a hook wants all.

    nodes: for each tensor, the node that its gradient flows to.
    """

    def __init__(self, nodes: Sequence[Node], hook: Callable[..., Any]) -> None:
        self.nodes, self.hook = nodes, hook
        self.passes: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()

    def take(self, place: int, grad: Tensor) -> None:
        """Note one gradient, and call the hook if it is the last one of the pass."""
        walk = mode.walk
        known = self.passes.get(walk)
        if known is None:
            count = sum(walk.runs(node) for node in self.nodes)
            known = self.passes[walk] = [count, [None] * len(self.nodes)]
        known[0] -= 1
        known[1][place] = grad
        if not known[0]:
            del self.passes[walk]
            self.hook(known[1])

    def take_first(self, grad: Tensor) -> None:
        """Call the hook with the first gradient of the pass."""
        if mode.walk not in self.passes:
            self.passes[mode.walk] = []
            self.hook(grad)


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all"
) -> Handles:
    """Call `fn` with the gradients of several tensors, once they are there in a backward pass.

    Tensors that the pass does not come to have None. mode: "any" calls it with the first gradient.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    edges = [edge_of(t) for t in tensors]
    if None in edges:
        raise AssertionError("Expected gradient function to be set")
    together = Together([edge[0] for edge in edges if edge is not None], fn)
    if mode == "any":
        return Handles([register_hook(t, together.take_first) for t in tensors])

    def taker(place: int) -> Callable[[Tensor], None]:
        return lambda grad: together.take(place, grad)

    return Handles([register_hook(t, taker(k)) for k, t in enumerate(tensors)])


def is_leaf_node(node: Node) -> bool:
    return isinstance(node, AccumulateGrad)
