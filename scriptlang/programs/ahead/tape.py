"""Calls of `value_and_grad` that use the tape."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...grad_mode import enable_grad
from ...interpreter.engine import engine as engine_named
from ...interpreter.gradients import give
from ...ops.derivatives.api import grad
from ...ops.derivatives.recorder import activate
from ...ops.derivatives.state import alias, needs, required
from ...ops.derivatives.tangents import carry, plain
from ...passes.ahead.values import mapped
from ...tensors import Tensor
from ..calling import wrap

if TYPE_CHECKING:
    from .straight import ValueAndGrad


def by_tape(owner: ValueAndGrad, values: list[Any]) -> Any:
    """Return (result, gradients), computed with the tape."""
    sources = owner.sources
    engine = engine_named(owner.engine)
    activate()
    with enable_grad(), requiring(sources.tensors()) as parameters:
        made = list(values)
        for place in sources.places:
            made[place] = mapped(made[place], leaf)
        result = engine.run(owner.function, made)
        value = result[0] if isinstance(result, tuple) else result
        if not isinstance(value, Tensor) or value.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        leaves = [*sources.arguments(made), *parameters]
        if leaves and needs(value):
            found = grad([value], leaves, allow_unused=True)
        else:
            found = (None,) * len(leaves)
    grads = {id(t): g for t, g in zip(leaves, found)}
    gradients = sources.structured([*made, parameters], lambda t: grads.get(id(t)))
    return wrap(mapped(result, detached), engine), gradients


def leaf(part: Any) -> Any:
    return required(carry(part, alias(part))) if isinstance(part, Tensor) else part


def detached(part: Any) -> Any:
    return plain(part) if isinstance(part, Tensor) and needs(part) else part


@contextmanager
def requiring(tensors: list[Tensor]) -> Iterator[list[Tensor]]:
    """A context in which the tensors require a gradient; it yields them."""
    changed = [t for t in tensors if not t._requires_grad]
    for t in changed:
        t.requires_grad = True
    try:
        yield [give(t) for t in tensors]
    finally:
        for t in changed:
            t.requires_grad = False
