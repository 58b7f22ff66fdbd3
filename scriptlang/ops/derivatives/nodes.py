"""The nodes of the autograd graph: each stands for one recorded operation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import MissingOperatorError
from ...tensors import Tensor
from ..calling.current import mode
from .accumulate import accumulate
from .hooks import Handle
from .state import Edge, later, numbers

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)


NODE = 2048
"""The bytes that a node counts for in a program's memory budget, besides tensors."""


class Node:
    """One recorded operation.

    edges: for each input, where its gradient goes; None for an input that requires none.
    number: greater than those of earlier nodes.
    results: how many outputs it has.
    tensor_hooks: output number -> hooks of that output tensor, called with its gradient.
    kept: output number -> a function that stores the gradient of a non-leaf tensor.
    before, after: hooks of the node itself.
    """

    __slots__ = (
        "__weakref__",
        "after",
        "before",
        "edges",
        "kept",
        "metadata_",
        "number",
        "results",
        "tensor_hooks",
    )

    def __init__(self, edges: Sequence[Edge | None], results: int = 1) -> None:
        self.edges = edges
        self.number = next(numbers)
        self.results = results
        self.tensor_hooks: dict[int, dict[int, Callable[..., Any]]] | None = None
        self.kept: dict[int, Callable[..., Any]] | None = None
        self.before: dict[int, Callable[..., Any]] | None = None
        self.after: dict[int, Callable[..., Any]] | None = None
        self.metadata_: dict[Any, Any] | None = None
        if mode.program is not None and mode.program.meter is not None:
            mode.program.meter.hold(self, NODE)
        if mode.anomaly is not None:
            later.note(self)

    def name(self) -> str:
        return type(self).__name__

    def place(self) -> str:
        """Where in a program the operation was called; "" if unknown."""
        return ""

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for users' own data."""
        if self.metadata_ is None:
            self.metadata_ = {}
        return self.metadata_

    def register_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(gradients of inputs, gradients of outputs)` after the node has run."""
        if self.after is None:
            self.after = {}
        return Handle(self.after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(gradients of outputs)` before the node runs."""
        if self.before is None:
            self.before = {}
        return Handle(self.before, hook)

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        """The gradients of the inputs from those of the outputs; unwanted ones may be None."""
        raise NotImplementedError

    def release(self) -> None:
        """Free what is saved for the backward pass."""

    def __call__(self, *grads: Tensor | None) -> Any:
        if len(grads) != self.results:
            raise TypeError(f"expected {self.results} arguments, got {len(grads)} instead")
        made = self.apply(list(grads), [edge is not None for edge in self.edges])
        return made[0] if len(made) == 1 else tuple(made)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class AccumulateGrad(Node):
    """The node of a leaf, which accumulates the leaf's gradient."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        super().__init__(())
        self.number = 1 << 62  # highest priority: it runs as soon as it is ready
        self.variable = variable

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        accumulate(self.variable, grads[0])
        return ()


later.make_accumulator = AccumulateGrad


class Undefined(Node):
    """An operation without a known derivative: its backward raises MissingOperatorError."""

    __slots__ = ("text", "title")

    def __init__(
        self, edges: Sequence[Edge | None], title: str, text: str, results: int = 1
    ) -> None:
        super().__init__(edges, results)
        self.title, self.text = title, text

    def name(self) -> str:
        return self.title

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        raise MissingOperatorError(self.text)


def short_name(node: Node) -> str:
    """The name of a node's operation, as error messages show it."""
    return re.sub(r"Backward\d*$", "", node.name())
