"""Hooks for gradients of a module: `register_full_backward_hook` and its pre-hook.

The tensor arguments of `forward` and the tensors in its result each pass through an identity node.
The backward pass reaches the node of the results first, and then the node of the arguments; they
call the hooks with the gradients.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...autograd import Function
from ...grad_mode import is_grad_enabled
from ...tensors import Tensor

Gradients = tuple[Any, ...]


class BackwardHookFunction(Function):
    """An identity function.
    `ctx.meet` is called with the gradients and returns those to pass on."""

    @staticmethod
    def forward(
        ctx: Any, meet: Callable[[Gradients], Gradients], fills: bool, *tensors: Tensor
    ) -> Any:
        """fills: whether `meet` gets zeros instead of None for missing gradients."""
        ctx.meet = meet
        ctx.set_materialize_grads(fills)
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, *ctx.meet(gradients)


class HookedCall:
    """One call of a module with hooks of gradients."""

    def __init__(self, module: Any, hooks: list[Callable], pre_hooks: list[Callable]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.inputs = 0
        self.has_inputs = False  # whether an input requires a gradient
        self.outputs: Gradients | None = None  # the gradients of the results, once known

    def arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.inputs = len(args)
        made, self.has_inputs = stepped(args, self.meet_inputs, True)
        return made

    def results(self, result: Any) -> Any:
        parts = result if isinstance(result, tuple) else (result,)
        made, found = stepped(parts, self.meet_outputs, False)
        if not found:
            if not isinstance(result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(result)}",
                    stacklevel=4,
                )
            return result
        if parts is not result:
            return made[0]
        return type(result)(*made) if hasattr(result, "_fields") else made

    def meet_outputs(self, gradients: Gradients) -> Gradients:
        self.outputs = gradients
        for hook in self.pre_hooks:
            given = hook(self.module, self.outputs)
            if given is not None:
                self.outputs = whole(given, len(gradients), "pre hook", "grad_output")
        changed = self.outputs
        if not self.has_inputs:
            if self.hooks:
                warnings.warn(
                    "Full backward hook is firing when gradients are computed with respect to "
                    "module outputs since no inputs require gradients.",
                    stacklevel=2,
                )
            self.call_hooks((None,) * self.inputs)
            self.outputs = None
        return changed

    def meet_inputs(self, gradients: Gradients) -> Gradients:
        if self.outputs is None:  # the results' node was not reached
            return gradients
        found = self.call_hooks(gradients)
        self.outputs = None
        return found

    def call_hooks(self, gradients: Gradients) -> Gradients:
        for hook in self.hooks:
            given = hook(self.module, gradients, self.outputs)
            if given is None:
                continue
            if not self.has_inputs and any(g is not None for g in whole_or_one(given)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
            gradients = whole(given, len(gradients), "hook", "grad_input")
        return gradients


def whole_or_one(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)


def whole(given: Any, count: int, what: str, name: str) -> Gradients:
    """Check that a hook returned one gradient for each. Raises RuntimeError otherwise."""
    if len(given) != count:
        raise RuntimeError(
            f"Backward {what} returned an invalid number of {name}, got {len(given)}, but expected "
            f"{count}"
        )
    return tuple(given)


def stepped(
    values: tuple[Any, ...], meet: Callable[[Gradients], Gradients], fills: bool
) -> tuple[tuple[Any, ...], bool]:
    """Return (the values, with tensors passed through an identity node; whether there is one).

    `meet` gets one gradient for each value: None for values that are no tensors.
    """
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    if not is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return values, False

    def meet_all(gradients: Gradients) -> Gradients:
        every: list[Any] = [None] * len(values)
        for i, g in zip(places, gradients):
            every[i] = g
        found = meet(tuple(every))
        return tuple(found[i] for i in places)

    made = list(values)
    passed = BackwardHookFunction.apply(meet_all, fills, *[values[i] for i in places])
    for i, t in zip(places, passed if isinstance(passed, tuple) else (passed,)):
        made[i] = t
    return tuple(made), True
