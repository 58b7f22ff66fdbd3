"""Derivatives forward of what can only go backward: operators of users, native programs.

The gradients of results are linear in those that they are given.  Differentiating them by these,
again backward, gives the derivative in a direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..calling.current import mode
from .api import grad as gradients
from .state import alias, needs, required
from .tangents import Level, carry, give, hidden, plain, tangent_of


def differentiated(
    run: Callable[[dict[int, Tensor]], Any],
    tensors: list[Tensor],
    level: Level,
    records: bool | None = None,
) -> Any:
    """What `run` returns, with the tangents that follow from those of the tensors.

    run: gets the tensors to take in place of the given ones, by their ids.  records: whether a
    gradient of the result is wanted; by default, if one of a tensor is.
    """
    tangents = {id(t): tangent_of(t, level) for t in tensors}
    was = mode.turn(True)
    try:
        with hidden(level):
            made = {id(t): leaf(t) for t in tensors if tangents[id(t)] is not None}
            inputs = list(made.values())
            given: list[Any] = [tangents[k] for k in made]
            result = run(made)
            outputs = [y for y in floating(result) if needs(y)]
            if records is None:
                records = any(map(needs, tensors))
            found = derivatives(outputs, inputs, given, was and (records or any(map(needs, given))))
            if not (was and records):
                apart = {id(y): plain(y) for y in outputs}
                result = replaced(result, apart)
                outputs = [apart[id(y)] for y in outputs]
            for y, tangent in zip(outputs, found):
                if tangent is not None:
                    give(y, level, tangent, given)
            return result
    finally:
        mode.turn(was)


def leaf(tensor: Tensor) -> Tensor:
    """A tensor by which what is computed of it can be differentiated."""
    if needs(tensor):
        return functions.alias(tensor)
    made = alias(tensor)
    return required(carry(tensor, made) if mode.levels else made)


def derivatives(
    outputs: list[Tensor], inputs: list[Tensor], tangents: list[Tensor], records: bool
) -> list[Tensor | None]:
    """The derivatives of recorded outputs in the direction of the tangents of the inputs."""
    if not outputs:
        return []
    weights = [required(functions.ones_like(y.detach())) for y in outputs]
    back = gradients(
        outputs, inputs, weights, retain_graph=True, create_graph=True, allow_unused=True
    )
    chosen = [(g, t) for g, t in zip(back, tangents) if g is not None and needs(g)]
    if not chosen:
        return [None] * len(outputs)
    gs, given = map(list, zip(*chosen))
    return list(gradients(gs, weights, given, create_graph=records, allow_unused=True))


def floating(value: Any) -> Iterator[Tensor]:
    """The tensors of real and complex numbers in nested containers."""
    if isinstance(value, Tensor):
        if value.dtype.kind in "fc":
            yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from floating(part)


def replaced(value: Any, made: dict[int, Tensor]) -> Any:
    """The value with other tensors in place of those with these ids, also inside containers."""
    if isinstance(value, Tensor):
        return made.get(id(value), value)
    if isinstance(value, dict):
        return {k: replaced(v, made) for k, v in value.items()}
    if isinstance(value, list):
        return [replaced(v, made) for v in value]
    if isinstance(value, tuple):
        parts = [replaced(v, made) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
