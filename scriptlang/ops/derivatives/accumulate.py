"""What arrives at a leaf becomes its `grad`, or is added to it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..calling.current import mode
from .state import state_of

OWN = 5
"""References to a gradient that nobody but the walk has; see `is_own`."""


turn = threading.RLock()
"""Two threads may come to one leaf at once; reentrant, as a signal's handler may go backward."""


def accumulate(leaf: Tensor, grad: Tensor | None) -> None:
    """Add a gradient to that of a leaf; hooks that follow are called."""
    if grad is None:
        return
    state = state_of(leaf)
    with turn:
        if mode.enabled:  # a graph is made of it, too
            state.grad = functions.clone(grad) if state.grad is None else state.grad + grad
        elif state.grad is None:
            state.grad = owned(grad, leaf)
        else:
            functions.add_(state.grad, grad)
    if state.after_hooks:
        for hook in list(state.after_hooks.values()):
            hook(leaf)


def owned(grad: Tensor, leaf: Tensor) -> Tensor:
    """The gradient in memory of its own, laid out as the leaf."""
    wanted: Any = leaf._stride
    if list(wanted) != dense(leaf._size, wanted):
        wanted = grad._stride if list(grad._stride) == dense(grad._size, grad._stride) else None
    if wanted is None:
        return functions.clone(grad.detach(), memory_format=0)
    if is_own(grad) and tuple(grad._stride) == tuple(wanted) and not grad._offset:
        return grad.detach()
    made = functions.empty_strided(list(leaf._size), list(wanted), dtype=grad.dtype)
    return functions.copy_(made, grad.detach())


def is_own(grad: Tensor) -> bool:
    """Whether nobody else holds the tensor or its memory."""
    return sys.getrefcount(grad) <= OWN and sys.getrefcount(grad._storage) <= 2


def dense(size: Sequence[int], stride: Sequence[int]) -> list[int]:
    """Strides in the same order without gaps, as memory of its own has them."""
    made, step = [1] * len(size), 1
    for d in sorted(range(len(size)), key=lambda d: (stride[d], -d)):
        made[d] = step
        step *= max(size[d], 1)
    return made
