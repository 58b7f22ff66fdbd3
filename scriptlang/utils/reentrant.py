"""Checkpoints as an operator whose backward runs another backward pass (use_reentrant=True)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..grad_mode import enable_grad
from ..ops.calling.current import mode
from ..ops.derivatives.api import backward as run_backward
from ..ops.derivatives.function import Function
from ..tensor_types import get_rng_state, set_rng_state
from ..tensors import Tensor


class CheckpointFunction(Function):
    """`apply(function, keeps_random, *args)` calls the function, and again in backward."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], keeps_random: bool, *args: Any) -> Any:
        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None", UserWarning, 4
            )
        ctx.call = function
        ctx.state = get_rng_state() if keeps_random else None
        ctx.places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.args = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[k] for k in ctx.places))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if mode.walk is None or not mode.walk.accumulates or mode.walk.useful is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        args = list(ctx.args)
        for k, tensor in zip(ctx.places, ctx.saved_tensors):
            args[k] = tensor.detach().requires_grad_(tensor.requires_grad)
        now = get_rng_state()
        try:
            if ctx.state is not None:
                set_rng_state(ctx.state)
            with enable_grad():
                result = ctx.call(*args)
        finally:
            set_rng_state(now)
        results = result if isinstance(result, tuple) else (result,)
        chosen = [
            (y, g) for y, g in zip(results, grads) if isinstance(y, Tensor) and y.requires_grad
        ]
        if not chosen:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        run_backward([y for y, _ in chosen], [g for _, g in chosen])
        return (None, None, *(a.grad if isinstance(a, Tensor) else None for a in args))
