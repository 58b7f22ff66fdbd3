"""What is known about values before a graph runs.

A fact is `TensorFacts` for a tensor, a size (sizes.py) for an int, and a tuple of facts for a list
or tuple. The fact of any other value is the value itself if it is known, and UNKNOWN otherwise. The
fact of a value that no run uses is NOTHING.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from .. import dtypes
from ..dtypes import DType
from ..objects import Device
from ..tensors import Tensor
from .sizes import Expression, Size


class Unknown(Exception):
    """Raised by a rule that needs something that is unknown."""


class _Mark:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNKNOWN = _Mark("UNKNOWN")
NOTHING = _Mark("NOTHING")
"""The fact of a value that no run uses, such as a result of a branch that always raises."""

Fact = Any
Shape = tuple[Size, ...]


@dataclass(frozen=True)
class TensorFacts:
    """The facts of a tensor.

    shape: the sizes, or None if the rank is unknown. rank: the number of dimensions, as a size.
    value: the number in a tensor without dimensions, if a size was stored in it.
    """

    shape: Shape | None
    dtype: DType | None
    rank: Size
    value: Size | None = None

    @property
    def is_exact(self) -> bool:
        """Whether every size is a number."""
        return self.shape is not None and all(isinstance(s, int) for s in self.shape)

    def __str__(self) -> str:
        name = "Tensor" if self.dtype is None else dtypes.DISPLAY[self.dtype.name]
        if self.shape is None:
            return name if self.dtype is None else f"{name}(*)"
        return f"{name}({', '.join(map(str, self.shape))})"


def tensor_facts(shape: Iterable[Size], dtype: DType | None = None) -> TensorFacts:
    shape = tuple(shape)
    return TensorFacts(shape, dtype, len(shape))


def fact_of(value: Any) -> Fact:
    """The facts of a constant: everything except the elements of tensors."""
    if isinstance(value, Tensor):
        return tensor_facts(value._size, value.dtype)
    if isinstance(value, (list, tuple)):
        return tuple(map(fact_of, value))
    if value is None or isinstance(value, (bool, int, float, complex, str, Device)):
        return value
    return UNKNOWN


def is_size(fact: Fact) -> bool:
    return isinstance(fact, Expression) or type(fact) is int


def is_known(fact: Fact) -> bool:
    """Whether a fact is a completely known value; never for tensors."""
    if isinstance(fact, tuple):
        return all(map(is_known, fact))
    return not isinstance(fact, (TensorFacts, Expression, _Mark))


def same(a: Fact, b: Fact) -> bool:
    """Whether two facts are the same; 1, 1.0 and True differ."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a is b or a == b and repr(a) == repr(b)


def map_sizes(fact: Fact, f: Callable[[Size], Size]) -> Fact:
    """The fact with f applied to every size in it."""
    if is_size(fact):
        return f(fact)
    if isinstance(fact, tuple):
        return tuple(map_sizes(part, f) for part in fact)
    if isinstance(fact, TensorFacts):
        shape = None if fact.shape is None else tuple(map(f, fact.shape))
        return replace(
            fact,
            shape=shape,
            rank=f(fact.rank),
            value=None if fact.value is None else f(fact.value),
        )
    return fact
