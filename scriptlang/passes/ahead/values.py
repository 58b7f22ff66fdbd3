"""The evaluator's representation of values while it makes a straight graph.

A known value is represented by itself: numbers, strings, None, and lists, tuples and dicts of any
values, which the evaluator changes as the program does. The classes here stand for what only a run
computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...ir import Value
from ...objects import ScriptObject


class NotStraight(Exception):
    """Raised for a program that has no straight graph; the text says why."""


class NotFollowed(NotStraight):
    """Raised where a gradient by tensors of objects is asked for, which are not followed yet."""

    def __init__(self, tensors: set[int]) -> None:
        super().__init__("a gradient is asked for by a parameter that is not followed")
        self.tensors = tensors


class Unknown:
    """A value of the graph about which nothing is known: a number or an object."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"<{self.value!r}>"


class Module(Unknown):
    """An object with known attributes; `found` is the object that the program is compiled for."""

    __slots__ = ("found",)

    def __init__(self, value: Value, found: ScriptObject) -> None:
        super().__init__(value)
        self.found = found


class Object(Unknown):
    """An object whose attributes are only read when the graph runs."""

    __slots__ = ()


class Tensor:
    """A tensor of the program; a view shares its memory with its base.

    value: the value of the graph that now holds its elements. active: whether it requires a
    gradient.
    base: the tensor that it is a view of. again: makes the view of a base. back: returns the new
    base, given the old base and the new view.
    writes: how often the memory has been written (counted in the tensor that is no view). seen:
    that number when `value` was made. is_outside: whether others hold its memory. is_doubtful:
    whether unknown tensors may share its memory.
    """

    __slots__ = (
        "active",
        "again",
        "back",
        "base",
        "is_doubtful",
        "is_outside",
        "seen",
        "value",
        "writes",
    )

    def __init__(self, value: Value, active: bool = False, is_outside: bool = False) -> None:
        self.value, self.active, self.is_outside = value, active, is_outside
        self.base: Tensor | None = None
        self.again: Callable[[Tensor], Tensor] | None = None
        self.back: Callable[[Tensor, Tensor], Tensor] | None = None
        self.writes = self.seen = 0
        self.is_doubtful = False

    @property
    def root(self) -> Tensor:
        """The tensor that owns the memory and is no view."""
        tensor = self
        while tensor.base is not None:
            tensor = tensor.base
        return tensor

    def __repr__(self) -> str:
        return f"<tensor {self.value!r}>"


def parts(value: Any) -> Iterator[Any]:
    """The leaves of a value: it without its containers."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from parts(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from parts(key)
            yield from parts(part)
    else:
        yield value


def is_known(value: Any) -> bool:
    """Whether a value contains nothing that only a run computes."""
    if isinstance(value, (list, tuple, dict)):
        return not any(isinstance(part, (Unknown, Tensor)) for part in parts(value))
    return not isinstance(value, (Unknown, Tensor))


def tensors_in(value: Any) -> Iterator[Tensor]:
    return (part for part in parts(value) if isinstance(part, Tensor))


def mapped(value: Any, f: Callable[[Any], Any]) -> Any:
    """A value with each leaf replaced by f(leaf); the containers are new ones."""
    if isinstance(value, list):
        return [mapped(part, f) for part in value]
    if isinstance(value, tuple):
        parts_ = [mapped(part, f) for part in value]
        return type(value)(*parts_) if hasattr(value, "_fields") else tuple(parts_)
    if isinstance(value, dict):
        return {key: mapped(part, f) for key, part in value.items()}
    return f(value)
