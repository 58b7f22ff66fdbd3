"""The nodes of the graph that going backward walks: what was computed, and of what."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from .hooks import Handle
from .state import Edge, numbers


class Node:
    """One step of a computation.

    edges: for each input where its gradient goes; None for an input that requires none.
    number: greater than those of earlier nodes.
    results: how many outputs it has.
    tensor_hooks: output number -> hooks of the tensor, called with its gradient.
    kept: output number -> a function that keeps the gradient of a tensor that is no leaf.
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

    def __init__(self, edges: Sequence[Edge | None], results: int = 1):
        self.edges = edges
        self.number = next(numbers)
        self.results = results
        self.tensor_hooks: dict[int, dict[int, Callable]] | None = None
        self.kept: dict[int, Callable] | None = None
        self.before: dict[int, Callable] | None = None
        self.after: dict[int, Callable] | None = None
        self.metadata_: dict | None = None

    def name(self) -> str:
        return type(self).__name__

    def place(self) -> str:
        """Where in a program the step was made; "" where that is not known."""
        return ""

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    @property
    def metadata(self) -> dict:
        """What users keep with the node."""
        if self.metadata_ is None:
            self.metadata_ = {}
        return self.metadata_

    def register_hook(self, hook: Callable) -> Handle:
        """Call `hook(gradients of inputs, gradients of outputs)` after the node."""
        if self.after is None:
            self.after = {}
        return Handle(self.after, hook)

    def register_prehook(self, hook: Callable) -> Handle:
        """Call `hook(gradients of outputs)` before the node."""
        if self.before is None:
            self.before = {}
        return Handle(self.before, hook)

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        """The gradients of the inputs, of those of the outputs; what is not wanted may be None."""
        raise NotImplementedError

    def release(self) -> None:
        """Give back what is kept for going backward."""

    def __call__(self, *grads: Tensor | None) -> Any:
        made = self.apply(list(grads), [edge is not None for edge in self.edges])
        return made[0] if len(made) == 1 else tuple(made)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class AccumulateGrad(Node):
    """Adds to the gradient of a leaf."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor):
        super().__init__(())
        self.number = 1 << 62  # as soon as it is ready
        self.variable = variable

    def apply(self, grads, wanted):
        from .accumulate import accumulate

        accumulate(self.variable, grads[0])
        return ()


class Undefined(Node):
    """A step whose derivative nobody knows: going backward through it raises."""

    __slots__ = ("text", "title")

    def __init__(self, edges: Sequence[Edge | None], title: str, text: str, results: int = 1):
        super().__init__(edges, results)
        self.title, self.text = title, text

    def name(self) -> str:
        return self.title

    def apply(self, grads, wanted):
        from ...errors import MissingOperatorError

        raise MissingOperatorError(self.text)


class CopySlices(Node):
    """A write through a view, as a step from the base as it was to the base as it is.

    The first edge is that of the base; the others are those of `step`, the write as a step from the
    view as it was, without its first.
    """

    __slots__ = ("base", "step", "view")

    def __init__(self, base_edge: Edge | None, base: Tensor, view: Tensor, step: Node):
        super().__init__([base_edge, *step.edges[1:]])
        self.step = step
        self.base = base._size, base._stride, base.dtype
        self.view = view_maker(base, view)

    def apply(self, grads, wanted):
        grad = grads[0]
        if grad is None:
            return [None] * len(self.edges)
        if self.step is None:
            from .saved import FREED

            raise RuntimeError(FREED)
        size, stride, dtype = self.base
        result = functions.empty_strided(list(size), list(stride), dtype=dtype)
        functions.copy_(result, grad)
        part = self.view(result)
        of_view, *others = self.step.apply([functions.clone(part)], wanted)
        if not wanted[0]:
            return [None, *others]
        if of_view is None:
            functions.zero_(part)
        else:
            functions.copy_(part, of_view)
        return [result, *others]

    def release(self) -> None:
        self.step.release()


def dense(size: Sequence[int], stride: Sequence[int]) -> list[int]:
    """Strides in the same order without gaps, as memory of its own has them."""
    made, step = [1] * len(size), 1
    for d in sorted(range(len(size)), key=lambda d: (stride[d], -d)):
        made[d] = step
        step *= max(size[d], 1)
    return made


def view_maker(base: Tensor, view: Tensor) -> Callable[[Tensor], Tensor]:
    """What makes the same view of a tensor of the shape of its base."""
    from .views import replay_of

    calls = replay_of(view)
    if calls is not None:

        def again(x: Tensor) -> Tensor:
            for run, values in calls:
                x = run(x, *values)
            return x

        return again
    size, stride, offset = view._size, view._stride, view._offset - base._offset
    return lambda x: functions.as_strided(
        x, list(size), list(stride), x.storage_offset() + offset
    )


def short_name(node: Node) -> str:
    """The name of what a node is the step of, as errors have it."""
    return re.sub(r"Backward\d*$", "", node.name())
