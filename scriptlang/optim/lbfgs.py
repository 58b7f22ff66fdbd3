"""LBFGS: steps that use an estimate of the inverse Hessian from past steps and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..grad_mode import enable_grad
from ..ops.calling import functions as torch
from ..ops.derivatives.state import count_write
from ..tensors import Tensor
from . import updates
from .algorithms.shared import checked_lr
from .line_search import Point, strong_wolfe
from .optimizer import Optimizer, Params
from .updates.at_once import compiled_at_once

LEAST_CURVATURE = 1e-10
"""A step is only remembered if the change of the gradient along it is larger than this."""


class LBFGS(Optimizer):
    """Limited-memory BFGS; each step calls the closure up to about `max_eval` times.

    line_search_fn: None or "strong_wolfe". Raises ValueError for more than one group of
    parameters.
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        checked_lr(lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _step(self, closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            raise TypeError("LBFGS.step() takes a function that computes the loss and gradients")

        def evaluated() -> Any:
            with enable_grad():
                return closure()

        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluated()
        run = _Run(self, group, state, evaluated, float(first_loss))
        if not run.is_flat():
            run.go()
        return first_loss

    # Parameters as one vector

    def gathered(self) -> Tensor:
        """The gradients of all parameters, concatenated to one vector."""
        parts = []
        for p in self._params:
            grad = torch.zeros_like(p).detach() if p.grad is None else p.grad
            parts.append(updates.real(grad).reshape(-1))
        return torch.cat(parts)

    def move(self, by: float, direction: Tensor) -> None:
        """Add a multiple of a vector to the parameters, in place."""
        start = 0
        for p in self._params:
            target = updates.real(p.detach())
            count = target.numel()
            part = direction[start : start + count].view_as(target)
            target.add_(part, alpha=by)
            count_write(p)
            start += count

    def put(self, values: list[Tensor]) -> None:
        """Copy values into the parameters."""
        for p, value in zip(self._params, values):
            p.detach().copy_(value)
            count_write(p)


class _Run:
    """One step of LBFGS: it iterates until convergence, or until a limit is reached."""

    def __init__(
        self,
        owner: LBFGS,
        group: dict[str, Any],
        state: dict[str, Any],
        evaluated: Callable[[], Any],
        loss: float,
    ) -> None:
        self.owner, self.group, self.state, self.evaluated = owner, group, state, evaluated
        self.loss, self.grad = loss, owner.gathered()
        self.evaluations = 0
        self.count(1)

    def count(self, evaluations: int) -> None:
        self.evaluations += evaluations
        self.state["func_evals"] += evaluations

    def is_flat(self) -> bool:
        return bool(self.grad.abs().max() <= self.group["tolerance_grad"])

    def go(self) -> None:
        state, group = self.state, self.group
        lr = float(group["lr"])
        for left in range(group["max_iter"] - 1, -1, -1):
            state["n_iter"] += 1
            direction = self.direction()
            state["d"] = direction
            state["prev_flat_grad"], state["prev_loss"] = self.grad.clone(), self.loss
            size = lr
            if state["n_iter"] == 1:
                total = float(self.grad.abs().sum())
                size = min(1.0, 1.0 / total if total else 1.0) * lr
            slope = float(self.grad.dot(direction))
            state["t"] = size
            if slope > -group["tolerance_change"]:
                break
            state["t"] = size = self.search(size, direction, slope, left == 0)
            if self.is_over(size, direction):
                break

    def direction(self) -> Tensor:
        """The next search direction, after the last step was added to the history."""
        state = self.state
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -self.grad
        change = self.grad - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        curvature = change.dot(step)
        if curvature > LEAST_CURVATURE:
            for name, value in (("old_dirs", change), ("old_stps", step), ("ro", 1.0 / curvature)):
                state[name].append(value)
                del state[name][: -self.group["history_size"]]
            state["H_diag"] = curvature / change.dot(change)
        scale = torch.as_tensor(state["H_diag"], dtype=self.grad.dtype)
        made, coefficients = compiled_at_once(updates.quasi_newton)(
            self.grad, state["old_dirs"], state["old_stps"], state["ro"], scale
        )
        unused = [None] * (self.group["history_size"] - len(coefficients))
        state["al"] = [*coefficients, *unused]
        return made

    def search(self, size: float, direction: Tensor, slope: float, is_last: bool) -> float:
        """Move the parameters along a direction; returns the distance."""
        owner, name = self.owner, self.group["line_search_fn"]
        if name is None:
            owner.move(size, direction)
            if not is_last:
                self.loss, self.grad = float(self.evaluated()), owner.gathered()
                self.count(1)
            return size
        if name != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [p.detach().clone() for p in owner._params]

        def at(t: float) -> Point:
            owner.move(t, direction)
            loss, grad = float(self.evaluated()), owner.gathered()
            owner.put(start)
            return Point(t, loss, grad, float(grad.dot(direction)))

        reach = float(direction.abs().max())
        here = Point(0.0, self.loss, self.grad, slope)
        left = self.group["max_eval"] - self.evaluations
        found, count = strong_wolfe(at, size, here, reach, left)
        owner.move(found.t, direction)
        self.loss, self.grad = found.loss, found.grad
        self.count(count)
        return found.t

    def is_over(self, size: float, direction: Tensor) -> bool:
        least = self.group["tolerance_change"]
        return (
            self.evaluations >= self.group["max_eval"]
            or self.is_flat()
            or float((direction * size).abs().max()) <= least
            or abs(self.loss - self.state["prev_loss"]) < least
        )
