"""Autograd metadata of tensors: their `State`, version counters, and edges to nodes.

Most tensors have none (`_autograd` is None).  A tensor that was computed and requires a gradient
has the node that computed it; a view has its base, so that a write through either reaches both; a
leaf has its gradient.  An edge is (node, number of its output).
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from ...tensors import Tensor
from ..calling.current import mode

Edge = tuple[Any, int]

numbers = itertools.count()
"""Nodes are numbered in order of creation; the backward pass runs the latest first."""


class Later:
    """Functions of modules that import this one, which they set.

    make_accumulator: makes the node of a leaf.  renew: sets the node of a view whose base was
    written.  is_dual: whether a tensor has a tangent that may be seen.  refuse_batches: raises if a
    tensor differs between the examples of a batch.  note: keeps where a node is made.  give: notes
    that a tensor of a program, which Python has, begins to require a gradient.
    """

    make_accumulator: Callable[[Tensor], Any]
    renew: Callable[[Tensor, State], None]
    is_dual: Callable[[Tensor], bool]
    refuse_batches: Callable[[Iterable[Any]], None]
    note: Callable[[Any], None]
    give: Callable[[Tensor], None]


later = Later()


turned: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()
"""By id, leaves of objects of the native engine whose `requires_grad` has been turned off or on at
some time."""


class State:
    """Autograd metadata of one tensor.

    node, output_nr: the node that computed the tensor, and which output; None for a leaf.
    base: the tensor that it is a view of, which is never a view itself; None if it is no view.
    made: for a view that must not be written, how it was made: "no_grad", "several", "function".
    replay: the calls that make the view from its base, if it has another type; else None.
    version: the version of the memory when `node` of a view was set.
    cell: a write counter, [n], for a tensor that does not use that of its memory (`x.data`).
    grad, hooks, after_hooks: for leaves, the gradient, its hooks and the post-accumulate hooks.
    retains: whether a non-leaf tensor stores its gradient, too.
    accumulator: a weak reference to the node of a leaf.
    is_inference: whether it was made in inference_mode, so that it is never part of a graph.
    is_given: whether a program has the tensor, and Python does, too, or has one that it depends on.
    tangents: by level of forward mode, (tangent, for a view the tangent of its source); else None.
    source: the tensor whose tangents this one, a view of it, shares; None if it has its own.
    """

    __slots__ = (
        "__weakref__",
        "accumulator",
        "after_hooks",
        "base",
        "cell",
        "grad",
        "hooks",
        "is_given",
        "is_inference",
        "made",
        "node",
        "output_nr",
        "replay",
        "retains",
        "source",
        "tangents",
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
        self.is_inference = False
        self.accumulator: weakref.ref[Any] | None = None
        self.tangents: dict[Any, tuple[Tensor, Tensor | None]] | None = None
        self.source: Tensor | None = None

    def requires_grad(self, tensor: Tensor) -> bool:
        """Whether a tensor requires a gradient because it is a view of a base that does."""
        base = self.base
        return base is not None and tensor.dtype.kind in "fc" and needs(base)

    def is_dual(self, tensor: Tensor) -> bool:
        """Whether a tensor has a tangent that may be seen here."""
        return bool(mode.levels) and later.is_dual(tensor)

    def hands_on(self) -> Tensor | None:
        """The source of views of this tensor; None if this tensor is that itself."""
        of_own = self.tangents and any(entry[1] is None for entry in self.tangents.values())
        return None if of_own else self.source


def state_of(tensor: Tensor) -> State:
    """The tensor's state, created if it has none."""
    state = tensor._autograd
    if state is None:
        state = tensor._autograd = State()
    return state


def needs(tensor: Tensor) -> bool:
    """Whether the tensor requires a gradient."""
    state = tensor._autograd
    return tensor._requires_grad or state is not None and state.requires_grad(tensor)


def version_of(tensor: Tensor) -> int:
    """How often the memory was written since writes have been counted."""
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
    """The node that computed the tensor; None for a leaf.

    The node of a view is renewed if its base was written.
    """
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
    """The edge that a gradient of the tensor flows along; None if it requires none.

    A GradientEdge, which stands for a tensor, is one itself.
    """
    if not isinstance(tensor, Tensor):
        return tensor.node, tensor.output_nr
    node = node_of(tensor)
    if node is not None:
        return node, tensor._autograd.output_nr
    return (accumulator_of(tensor), 0) if tensor._requires_grad else None


def required(tensor: Tensor) -> Tensor:
    """A new leaf, which requires a gradient from now on."""
    tensor.requires_grad = True
    return tensor


def is_leaf(tensor: Tensor) -> bool:
    return node_of(tensor) is None


def set_node(tensor: Tensor, node: Any, output_nr: int = 0) -> None:
    """Set the node that computed the tensor."""
    state = state_of(tensor)
    state.node, state.output_nr = node, output_nr
    state.version = version_of(tensor)
    tensor._requires_grad = True


def set_edge(tensor: Tensor, edge: Edge) -> None:
    """Let gradients of the tensor flow along an edge, which may be that of another leaf."""
    node, number = edge
    if hasattr(node, "variable"):
        state_of(tensor).accumulator = weakref.ref(node)
        tensor._requires_grad = True
    else:
        set_node(tensor, node, number)


def accumulator_of(leaf: Tensor) -> Any:
    """The node that accumulates the gradient of a leaf; the same one as long as it is alive."""
    state = state_of(leaf)
    node = None if state.accumulator is None else state.accumulator()
    if node is None:
        node = later.make_accumulator(leaf)
        state.accumulator = weakref.ref(node)
    return node


def alias(tensor: Tensor) -> Tensor:
    """Another tensor over the same memory, without autograd history."""
    made = Tensor._as_view(tensor, tensor._size, tensor._stride, tensor._offset)
    if tensor._autograd is not None and tensor._autograd.cell is not None:
        state_of(made).cell = tensor._autograd.cell
    return made


def alias_with_tangents(tensor: Tensor) -> Tensor:
    """`alias`, with the tangents that the tensor has now or gets later in the open levels."""
    made = alias(tensor)
    if mode.levels:
        state, of_made = state_of(tensor), state_of(made)
        if state.tangents is None:
            state.tangents = {}
        of_made.tangents, of_made.source = state.tangents, state.source
    return made
