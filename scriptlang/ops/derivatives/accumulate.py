"""Accumulates gradients in the `grad` of leaves."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..calling.current import mode
from .state import later, state_of


def _counted(held: object) -> int:
    return sys.getrefcount(held)


def _owned(held: object) -> int:
    return _counted(held)


def _accumulated(held: object) -> int:
    return _owned(held)


def _own_count() -> int:
    """The reference count of an object in `is_own` that only the caller of `accumulate` holds.

    It is measured, by as many calls as lead there: how many references a call adds depends on the
    version of Python.
    """
    held = object()
    return _accumulated(held)


OWN = _own_count()
"""The reference count of a gradient that only the backward pass holds; see `is_own`."""

turn = threading.RLock()
"""Protects leaves from two backward passes in different threads.

Reentrant, since a signal handler may run a backward pass, too.
"""


def accumulate(leaf: Tensor, grad: Tensor | None, others: int = 0) -> None:
    """Add a gradient to the `grad` of a leaf, then call its post-accumulate hooks.

    others: how many references there are besides that of the backward pass, which do not keep the
    leaf from taking over the gradient's memory.
    """
    if grad is None:
        return
    if mode.levels:
        later.refuse_batches((grad,))
    state = state_of(leaf)
    with turn:
        if mode.enabled:  # create_graph: the sum is recorded
            state.grad = functions.clone(grad) if state.grad is None else state.grad + grad
        elif state.grad is None:
            state.grad = owned(grad, leaf, others)
        else:
            functions.add_(state.grad, grad)
    if state.after_hooks:
        for hook in list(state.after_hooks.values()):
            if hook(leaf) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def owned(grad: Tensor, leaf: Tensor, others: int) -> Tensor:
    """The gradient in memory that nothing else uses, with the strides of the leaf if that is dense.

    Takes over the memory if only the backward pass holds it, and copies otherwise.
    """
    wanted: Any = leaf._stride
    if list(wanted) != dense(leaf._size, wanted):
        wanted = grad._stride if list(grad._stride) == dense(grad._size, grad._stride) else None
    if wanted is None:
        return functions.clone(grad.detach(), memory_format=0)
    if is_own(grad, others) and tuple(grad._stride) == tuple(wanted) and not grad._offset:
        return grad.detach()
    made = functions.empty_strided(list(leaf._size), list(wanted), dtype=grad.dtype)
    return functions.copy_(made, grad.detach())


def is_own(grad: Tensor, others: int) -> bool:
    """Whether only the backward pass holds the tensor and its memory, besides the others."""
    return sys.getrefcount(grad) <= OWN + others and sys.getrefcount(grad._storage) <= 2


def dense(size: Sequence[int], stride: Sequence[int]) -> list[int]:
    """Contiguous strides with the same order of dimensions."""
    made, step = [1] * len(size), 1
    for d in sorted(range(len(size)), key=lambda d: (stride[d], -d)):
        made[d] = step
        step *= max(size[d], 1)
    return made
