"""The names of torch.autograd.forward_ad: tensors that carry a derivative forward.

    with forward_ad.dual_level():
        x = forward_ad.make_dual(primal, tangent)
        y, derivative = forward_ad.unpack_dual(f(x))

The derivative is that of `f` in the direction of the tangent.  There is one level at a time;
`func.jvp` nests.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ..ops.calling import current
from ..ops.derivatives import forward, tangents
from ..tensors import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

entered: list[tangents.Level] = []
"""The level that `enter_dual_level` opened; [] if there is none."""


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: a tensor without its tangent, and the tangent, None for zero."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open the level of forward mode, and return its number, 0.

    Raises RuntimeError if it is open already.
    """
    if entered:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment; scriptlang.func.jvp nests"
        )
    entered.append(forward.enter())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level of forward mode: all tangents are gone.

    Raises RuntimeError if it is not the last level that was opened.
    """
    last = len(entered) - 1
    if level is not None and level != last or not entered:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    forward.leave(entered.pop())


class dual_level:
    """A context, and a decorator of functions, in which the level of forward mode is open."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *raised: Any) -> None:
        exit_dual_level()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return function(*args, **kwargs)

        return run


class _set_fwd_grad_enabled:
    """A context, also a call, that turns forward mode on or off: tangents are seen, or not."""

    def __init__(self, mode: bool) -> None:
        self.before = current.mode.below
        current.mode.below = tangents.EVERY if mode else tangents.OFF

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: Any) -> None:
        current.mode.below = self.before


def _is_fwd_grad_enabled() -> bool:
    return current.mode.below != tangents.OFF


def level_of(level: int | None) -> tangents.Level | None:
    """The level of a number; by default the last one, which `func.jvp` or `gradcheck` may have
    opened."""
    if level is None or level == 0 and not entered:
        found = entered or tangents.visible()
        return found[-1] if found else None
    return entered[level] if 0 <= level < len(entered) else None


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A new tensor over the memory of `tensor` that carries the tangent.

    tangent: of the same shape; it is converted to the same dtype.  Going backward through the
    result reaches both.  Raises RuntimeError if no level is open or the tangent does not fit,
    ValueError for integers.
    """
    opened = level_of(level)
    if opened is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, given in (("primal", tensor), ("tangent", tangent)):
        if given.dtype.kind not in "fc":
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {given.dtype}"
            )
    if tangents.tangent_of(tensor, opened) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported."
        )
    if tangents.tangent_of(tangent, opened) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not "
            "supported."
        )
    return tangents.dual(tensor, opened, tangents.suited(tensor, tangent))


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, which shares its memory, and the tangent, None for zero."""
    opened = level_of(level)
    if opened is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(
        tangents.primal_of(tensor, opened), tangents.tangent_of(tensor, opened)
    )
