"""Hooks: functions of users that are called with gradients."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from ...tensors import Tensor
from ..calling.current import mode
from .state import is_leaf, needs, node_of, state_of

_numbers = itertools.count()


class Handle:
    """A handle that removes a hook."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self.hooks, self.id = hooks, next(_numbers)
        hooks[self.id] = hook

    def remove(self) -> None:
        self.hooks.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def register_hook(self: Tensor, hook: Callable[..., Any]) -> Handle:
    """Call `hook(gradient)` when the gradient is computed; its result replaces the gradient.

    Raises RuntimeError if the tensor requires no gradient.
    """
    if not needs(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = node_of(self)
    if node is None:
        state = state_of(self)
        if state.hooks is None:
            state.hooks = {}
        return Handle(state.hooks, hook)
    if node.tensor_hooks is None:
        node.tensor_hooks = {}
    return Handle(node.tensor_hooks.setdefault(self._autograd.output_nr, {}), hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[..., Any]) -> Handle:
    """Call `hook(tensor)` after a gradient has been accumulated in a leaf's `grad`."""
    if not needs(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not is_leaf(self):
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    state = state_of(self)
    if state.after_hooks is None:
        state.after_hooks = {}
    return Handle(state.after_hooks, hook)


def retain_grad(self: Tensor) -> None:
    """Also store the gradient of a non-leaf tensor in its `grad`."""
    if not needs(self):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if mode.transforms:
        raise RuntimeError(
            "You are attempting to call Tensor.retain_grad() inside of a function being "
            "transformed by a functorch transform. This is unsupported, please attempt to use the "
            "functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call retain_grad() "
            "outside of a function being transformed instead."
        )
    node = node_of(self)
    if node is None:
        return
    state = state_of(self)
    state.retains = True
    retain(self, node, state.output_nr)


def retain(tensor: Tensor, node: Any, output_nr: int) -> None:
    """Let a node accumulate the gradient of one of its outputs in the tensor's `grad`."""
    to = weakref.ref(tensor)

    def keep(grad: Tensor) -> None:
        found = to()
        if found is not None:
            state = state_of(found)
            if state.grad is None:
                state.grad = grad.clone()
            else:
                state.grad = state.grad + grad

    if node.kept is None:
        node.kept = {}
    node.kept[output_nr] = keep


def move_hooks(tensor: Tensor, node: Any, output_nr: int) -> None:
    """Move retain_grad of a tensor from its previous node to its new one."""
    state = tensor._autograd
    if state is None or not state.retains:
        return
    if state.node is not None and state.node.kept:
        state.node.kept.pop(state.output_nr, None)
    retain(tensor, node, output_nr)


def run_hooks(hooks: dict[int, Callable[..., Any]] | None, grad: Tensor | None) -> Tensor | None:
    """Run the hooks of a tensor in order of registration; return the gradient that results.

    As in PyTorch, they are called with None where other results of the node have gradients alone.
    """
    for hook in list(hooks.values()) if hooks else ():
        result = hook(grad)
        if result is not None:
            if grad is None:
                raise RuntimeError("can't replace a None gradient with a non-None value")
            check_result(result, grad, getattr(hook, "__name__", "<unknown>"))
            grad = result
    return grad


def gradients_of(result: Any, count: int, hook: Callable[..., Any]) -> list[Any]:
    """What a hook of a node gives in place of so many gradients.

    More may be given if they are None: operators on numbers have an input less than PyTorch's.
    """
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) < count or any(g is not None for g in result[count:]):
        raise RuntimeError(
            f"hook '{getattr(hook, '__name__', '<unknown>')}' has returned an incorrect number of "
            f"values (got {len(result)}, but expected {count})"
        )
    return list(result[:count])


def check_result(result: Any, grad: Tensor, name: str) -> None:
    """Raise if a hook's result cannot replace the gradient."""
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if result.dtype is not grad.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {grad.type()} got {result.type()})"
        )
    if result._size != grad._size:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
