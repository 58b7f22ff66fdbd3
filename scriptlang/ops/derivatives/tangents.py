"""Tangents: the derivatives that forward mode carries with tensors, by level.

A Level is one run of forward mode (`forward_ad.dual_level`, `func.jvp`).  Levels nest: a tangent of
an inner level may have a tangent of an outer one itself.  What is computed for a level must not see
its own tangents, or those of levels inside it: `mode.below` hides them (`hidden`).

A tensor *holds* its tangent, or it is a view of a tensor that does (`State.source`): then its
tangent is the same view of that one, made when it is asked for.  So a write through either reaches
both.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..calling.current import mode
from .slices import replay_of, view_maker
from .state import State, alias, later, needs, state_of

EVERY, OFF = 1 << 30, -(1 << 30)
"""`mode.below` where tangents of all levels are seen, and where forward mode is off."""


class NotMapped(BaseException):
    """What a function does cannot be done for a whole batch: it is called for each example."""


class Level:
    """One run of forward mode.

    depth: how many levels were open when it was entered.  holders: the states of tensors with
    tangents of it.  maps: whether it is a batch instead (ops/batching/level.py): then what tensors
    carry is what they are for all of its examples.
    """

    __slots__ = ("depth", "holders")
    maps = False

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.holders: weakref.WeakSet[State] = weakref.WeakSet()


@contextmanager
def hidden(level: Level) -> Iterator[None]:
    """Hide the tangents of a level, and of those inside it."""
    was, mode.below = mode.below, level.depth
    try:
        yield
    finally:
        mode.below = was


def visible() -> Sequence[Level]:
    """The open levels whose tangents may be seen here, the outermost first."""
    return mode.levels[: mode.below]


def top_level(tensors: Iterable[Any]) -> Level | None:
    """The innermost level of which one of the tensors has a tangent."""
    known = [t for t in tensors if t is not None and t._autograd is not None]
    if known:
        for level in reversed(visible()):
            if any(tangent_of(t, level) is not None for t in known):
                return level
    return None


def refuse_batches(values: Iterable[Any]) -> None:
    """Raise NotMapped if one of the tensors differs between examples that are seen here."""
    if not mode.levels:
        return
    for level in visible():
        if level.maps and any(tangent_of(t, level) is not None for t in values):
            raise NotMapped


def carry_batches(tensor: Tensor, made: Tensor) -> Tensor:
    """Give `made` the batches that `tensor` has, without history."""
    if tensor._autograd is not None:
        for level in mode.levels:
            batch = tangent_of(tensor, level) if level.maps else None
            if batch is not None:
                keep(made, level, batch.detach(), None)
    return made


def is_dual(tensor: Tensor) -> bool:
    """Whether the tensor has a tangent that may be seen here."""
    return bool(mode.levels) and top_level((tensor,)) is not None


# Reading


def tangent_of(tensor: Tensor, level: Level) -> Tensor | None:
    """The tensor's tangent of a level; None stands for zero."""
    state = tensor._autograd
    if state is None:
        return None
    found = None if state.tangents is None else state.tangents.get(level)
    if state.source is None or found is not None and found[1] is None:
        return None if found is None else found[0]
    of_source = tangent_of(state.source, level)
    if of_source is None:
        return None
    if found is None or found[1] is not of_source:
        return derived(tensor, state.source, level)
    return found[0]


def derived(view: Tensor, source: Tensor, level: Level) -> Tensor:
    """The tangent of a view: the same view of the tangent of its source."""
    if level.maps:
        raise NotMapped
    if replay_of(view) is not None and not is_like(view._autograd.base, source):
        raise RuntimeError(
            "forward mode does not follow a view of another element type of a part of a tensor "
            "whose primal requires a gradient: clone the part before make_dual"
        )
    with recording(level):
        of_source = laid_out(source, level)
        tangent = view_maker(source, view)(of_source)
    keep(view, level, tangent, of_source)
    return tangent


def is_like(a: Tensor, b: Tensor) -> bool:
    return (a._offset, a._size, a._stride) == (b._offset, b._size, b._stride)


@contextmanager
def recording(level: Level) -> Iterator[None]:
    """Compute something for a level, also while a kernel is running."""
    quiet, mode.is_quiet = mode.is_quiet, False
    try:
        with hidden(level):
            yield
    finally:
        mode.is_quiet = quiet


def laid_out(source: Tensor, level: Level) -> Tensor:
    """The tangent of a tensor with the strides of the tensor, so that it has the same views."""
    tangent: Any = tangent_of(source, level)
    if tangent._stride != source._stride:
        size, stride = list(source._size), list(source._stride)
        made = functions.new_empty_strided(tangent, size, stride)
        tangent = functions.copy_(made, tangent)
        keep(source, level, tangent, None)
    return tangent


# Setting


def keep(tensor: Tensor, level: Level, tangent: Tensor, of_source: Tensor | None) -> None:
    """Store a tangent; of_source: for a view, the tangent of its source that it is a view of."""
    state = state_of(tensor)
    if state.tangents is None:
        state.tangents = {}
    state.tangents[level] = tangent, of_source
    level.holders.add(state)


def fitted(tangent: Tensor, tensor: Tensor) -> Tensor:
    """A tangent with the size and type of the tensor that gets it."""
    if tangent.dtype is not tensor.dtype:
        if tangent.dtype.kind == "c" and tensor.dtype.kind != "c":
            tangent = functions.real(tangent)
        tangent = functions.to(tangent, tensor.dtype)
    if tangent._size != tensor._size:
        tangent = functions.expand(tangent, list(tensor._size))
    return tangent


def give(tensor: Tensor, level: Level, tangent: Tensor, others: Iterable[Tensor] = ()) -> None:
    """Give a tensor its tangent.  Runs with the level hidden.

    others: the tangents that it was computed from.  It does not share memory with them, unless the
    tensor is a view: a later write to one of the tensors must not change that of the other.
    """
    tangent = fitted(tangent, tensor)
    state = tensor._autograd
    if state is not None and state.source is not None:
        of_source = tangent_of(state.source, level)
        if of_source is not None:
            if tangent._storage is of_source._storage:
                keep(tensor, level, tangent, of_source)
            return  # else it is made when it is asked for
    if any(tangent._storage is other._storage for other in others):
        tangent = functions.clone(tangent)
    keep(tensor, level, tangent, None)


def write(
    tensor: Tensor, level: Level, tangent: Tensor | None, others: Iterable[Tensor] = ()
) -> None:
    """Set the tangent of a tensor that was written; None: zero.  Runs with the level hidden."""
    state = state_of(tensor)
    found = None if state.tangents is None else state.tangents.get(level)
    if state.source is None or found is not None and found[1] is None:
        if tangent is not None:
            tangent = fitted(tangent, tensor)
        if found is not None and can_overwrite(found[0], tensor, tangent):
            overwrite(found[0], tangent)
        elif tangent is not None:
            if any(tangent._storage is other._storage for other in others):
                tangent = functions.clone(tangent)
            keep(tensor, level, tangent, None)
        elif state.tangents is not None:
            state.tangents.pop(level, None)
        return
    source = state.source
    if tangent_of(source, level) is None:
        if tangent is None:
            return
        size, stride = list(source._size), list(source._stride)
        zeros = functions.zero_(functions.empty_strided(size, stride, dtype=source.dtype))
        keep(source, level, zeros, None)
    part: Any = tangent_of(tensor, level)
    if part._storage is not tangent_of(source, level)._storage:
        part = derived(tensor, source, level)
    overwrite(part, None if tangent is None else fitted(tangent, tensor))


def can_overwrite(old: Tensor, tensor: Tensor, new: Tensor | None) -> bool:
    """Whether a tangent is written in place.

    One that is recorded is not: what the new one was computed of is needed to go back.
    """
    return old._size == tensor._size and not needs(old) and (new is None or not needs(new))


def overwrite(old: Tensor, new: Tensor | None) -> None:
    """Write a tangent in place, as the tensor was; None: zero."""
    if new is None:
        functions.zero_(old)
    elif new is not old:
        functions.copy_(old, functions.clone(new) if new._storage is old._storage else new)


def follows(tensor: Tensor, level: Level) -> bool:
    """Whether a tensor's tangent is a view of that of another tensor."""
    state = tensor._autograd
    if state is None or state.source is None or tangent_of(state.source, level) is None:
        return False
    found = None if state.tangents is None else state.tangents.get(level)
    return found is None or found[1] is not None


# Tensors with the same tangents


def suited(primal: Tensor, tangent: Tensor) -> Tensor:
    """A tangent that a user gives, in the type of its tensor.  Raises RuntimeError if it does not
    fit."""
    if primal._size != tangent._size:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(primal._size)} while the "
            f"given forward gradient is of size {list(tangent._size)}."
        )
    if primal.dtype is tangent.dtype:
        return tangent
    if tangent.dtype.kind == "c" and primal.dtype.kind != "c":
        raise RuntimeError("the tangent of a real tensor is real: take torch.real of it")
    return functions.to(tangent, primal.dtype)


def carry(tensor: Tensor, made: Tensor, copied: bool = False) -> Tensor:
    """Give `made` the tangents of all levels that `tensor` has, or copies of them; return it."""
    if tensor._autograd is not None:
        for level in mode.levels:
            tangent = tangent_of(tensor, level)
            if tangent is not None:
                if copied:
                    with recording(level):
                        tangent = functions.clone(tangent)
                keep(made, level, tangent, None)
    return made


def plain(tensor: Tensor) -> Tensor:
    """The tensor without history, but with its tangents."""
    made = functions.detach(tensor)
    return carry(tensor, made) if mode.levels else made


def dual(primal: Tensor, level: Level, tangent: Tensor) -> Tensor:
    """A new tensor over the memory of `primal`, with this tangent and those of outer levels."""
    with hidden(level):
        made = functions.alias(primal)
        if made is primal:
            made = alias(primal)
        keep(made, level, laid_as(primal, tangent), None)
    return made


def laid_as(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent, or a copy of it, that lies in its memory as the tensor does.

    So writes and views do to it what they do to the tensor; a copy, as in PyTorch, where it does
    not lie so. Writes to a tensor reach a tangent of a user that does.
    """
    if is_laid_as(primal, tangent):
        return tangent
    if any(step == 0 and n > 1 for step, n in zip(primal._stride, primal._size)):
        return functions.clone(tangent)  # writes to such a tensor are refused
    count = primal._storage.data.nbytes // primal.dtype.itemsize
    whole = functions.zeros([count], dtype=primal.dtype)
    part = functions.as_strided(whole, list(primal._size), list(primal._stride), primal._offset)
    return functions.copy_(part, tangent)


def is_laid_as(primal: Tensor, tangent: Tensor) -> bool:
    if tangent.dtype is not primal.dtype:
        return False
    if tangent._storage.data.nbytes != primal._storage.data.nbytes:
        return False
    if not primal.numel():
        return True
    steps = zip(primal._stride, tangent._stride, primal._size)
    return tangent._offset == primal._offset and all(a == b or n == 1 for a, b, n in steps)


def primal_of(tensor: Tensor, level: Level) -> Tensor:
    """The tensor without its tangent of a level."""
    with hidden(level):
        made = functions.alias(tensor)
    state_of(made).source = None
    return carry_outer(tensor, made, level)


def carry_outer(tensor: Tensor, made: Tensor, level: Level) -> Tensor:
    """Give `made` the tangents of the levels outside of one."""
    for outer in mode.levels[: level.depth]:
        tangent = tangent_of(tensor, outer)
        if tangent is not None:
            keep(made, outer, tangent, None)
    return made


later.is_dual, later.refuse_batches = is_dual, refuse_batches
