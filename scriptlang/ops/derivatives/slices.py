"""Writes through views, as operations on the base of the view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from .nodes import FREED, Node
from .state import Edge


class CopySlices(Node):
    """A write through a view, as an operation on the base: old base -> new base.

    The first edge is that of the base.  The others are the edges of `step`, the same write as an
    operation on the view, without its first edge, which is that of the view.
    """

    __slots__ = ("base", "step", "view")

    def __init__(self, base_edge: Edge | None, base: Tensor, view: Tensor, step: Node) -> None:
        super().__init__([base_edge, *step.edges[1:]])
        self.step = step
        self.base = base._size, base._stride, base.dtype
        self.view = view_maker(base, view)

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        grad = grads[0]
        if grad is None:
            return [None] * len(self.edges)
        if self.step is None:
            raise RuntimeError(FREED)
        size, stride, dtype = self.base
        result = functions.new_empty_strided(grad, list(size), list(stride), dtype=dtype)
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


def replay_of(view: Tensor) -> tuple[Any, ...] | None:
    return None if view._autograd is None else view._autograd.replay


def view_maker(base: Tensor, view: Tensor) -> Callable[[Tensor], Tensor]:
    """A function that makes the same view of another tensor with the shape of the base."""
    calls = replay_of(view)
    if calls is not None:

        def again(x: Tensor) -> Tensor:
            for run, values in calls:
                x = run(x, *values)
            return x

        return again
    size, stride, offset = view._size, view._stride, view._offset - base._offset
    return lambda x: functions.as_strided(x, list(size), list(stride), x.storage_offset() + offset)
