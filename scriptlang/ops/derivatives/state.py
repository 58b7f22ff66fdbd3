"""What a tensor remembers for derivatives: its `State`, versions of memory, and the nodes' edges.

Most tensors have none (`_autograd` is None).  One that requires a gradient and was computed has the
node that computed it; a view knows its base, so that a write through either reaches both; a leaf
keeps the gradient.  An edge is (node, number of its output).
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from ...tensors import Tensor

Edge = tuple[Any, int]

numbers = itertools.count()
"""Nodes are numbered as they are made; those that were made last go first backward."""


class Later:
    """What modules to the right give to this one.

    make_accumulator: the node of a leaf.  renew: sets the node of a view whose base was written.
    """

    make_accumulator: Callable[[Tensor], Any]
    renew: Callable[[Tensor, State], None]


later = Later()


class State:
    """node, output_nr: what computed the tensor; None for a leaf.
    base: of what the tensor is a view; never a view itself.  None for no view.
    made: how the view came about, where it may not be written: "no_grad", "several", "function".
    replay: the calls that make the view of its base, where it has another type; else None.
    version: that of the memory when `node` of a view was set.
    cell: the count of writes, [n], of a tensor that does not share that of its memory (`x.data`).
    grad, hooks, after_hooks: of leaves: the gradient, and what is called with it and after it.
    retains: whether a tensor that is no leaf keeps its gradient, too.
    accumulator: a weak reference to the node of a leaf.
    is_given: whether the tensor is a program's, and Python has been given it.
    """

    __slots__ = (
        "accumulator",
        "after_hooks",
        "base",
        "cell",
        "grad",
        "hooks",
        "is_given",
        "made",
        "node",
        "output_nr",
        "replay",
        "retains",
        "version",
    )

    def __init__(self) -> None:
        self.node: Any = None
        self.output_nr = 0
        self.base: Tensor | None = None
        self.made = ""
        self.replay: tuple[Any, ...] | None = None
        self.version = 0
        self.cell: list[int] | None = None
        self.grad: Tensor | None = None
        self.hooks: dict[int, Any] | None = None
        self.after_hooks: dict[int, Any] | None = None
        self.retains = False
        self.is_given = False
        self.accumulator: weakref.ref[Any] | None = None

    def requires_grad(self, tensor: Tensor) -> bool:
        """Whether a view that required no gradient does as its base does."""
        base = self.base
        return base is not None and tensor.dtype.kind in "fc" and needs(base)


def state_of(tensor: Tensor) -> State:
    """The tensor's state, made where there is none."""
    state = tensor._autograd
    if state is None:
        state = tensor._autograd = State()
    return state


def needs(tensor: Tensor) -> bool:
    """Whether a gradient of the tensor may be asked for."""
    state = tensor._autograd
    return tensor._requires_grad or state is not None and state.requires_grad(tensor)


def version_of(tensor: Tensor) -> int:
    """How often the memory was written since somebody counts."""
    state = tensor._autograd
    if state is not None and state.cell is not None:
        return state.cell[0]
    return getattr(tensor._storage, "version", 0)


def count_write(tensor: Tensor) -> None:
    state = tensor._autograd
    if state is not None and state.cell is not None:
        state.cell[0] += 1
    else:
        tensor._storage.version = getattr(tensor._storage, "version", 0) + 1


# Edges


def node_of(tensor: Tensor) -> Any:
    """The node that computed the tensor; None for a leaf."""
    state = tensor._autograd
    if state is None:
        return None
    if (
        state.base is not None
        and state.version != version_of(tensor)
        and state.requires_grad(tensor)
    ):
        later.renew(tensor, state)
    return state.node


def edge_of(tensor: Tensor) -> Edge | None:
    """Where a gradient of the tensor goes; None where it requires none."""
    node = node_of(tensor)
    if node is not None:
        return node, tensor._autograd.output_nr
    return (accumulator_of(tensor), 0) if tensor._requires_grad else None


def is_leaf(tensor: Tensor) -> bool:
    return node_of(tensor) is None


def set_node(tensor: Tensor, node: Any, output_nr: int = 0) -> None:
    """Let a node be what computed the tensor."""
    state = state_of(tensor)
    state.node, state.output_nr = node, output_nr
    state.version = version_of(tensor)
    tensor._requires_grad = True


def accumulator_of(leaf: Tensor) -> Any:
    """The node that adds to the gradient of a leaf: one, as long as somebody has it."""
    state = state_of(leaf)
    node = None if state.accumulator is None else state.accumulator()
    if node is None:
        node = later.make_accumulator(leaf)
        state.accumulator = weakref.ref(node)
    return node


def alias(tensor: Tensor) -> Tensor:
    """Another tensor over the same memory, which nothing is known of yet."""
    made = Tensor._as_view(tensor, tensor._size, tensor._stride, tensor._offset)
    if tensor._autograd is not None and tensor._autograd.cell is not None:
        state_of(made).cell = tensor._autograd.cell
    return made
