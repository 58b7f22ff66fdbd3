"""What every type is: its parts, its size, and the mark by which equal ones are known.

What is equal is known by one mark, so that comparing is one step also where types share parts, and
would be huge if they were written out; how large that may be is bounded (`MAX_SIZE`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any as PyAny

from . import budgets
from .errors import LimitError

MAX_SIZE = 100_000
"""Parts that one type may have, written out; honest ones have dozens."""

MAX_DEPTH = 200
"""Types inside types."""


class Mark:
    """What equal types have in common."""

    __slots__ = ("__weakref__",)


_marks: weakref.WeakValueDictionary[tuple[PyAny, ...], Mark] = weakref.WeakValueDictionary()
_making_marks = threading.Lock()


class Type:
    """A type.  Subclasses are frozen; `contained` are the types inside it, in order.

    size: how many parts it has, written out (a long name counts as several); depth: how deep they
    lie.  mark: one object for all types that are equal; a nominal type's is the type itself.
    """

    depth = 0

    @property
    def contained(self) -> tuple[Type, ...]:
        return ()

    @property
    def size(self) -> int:
        return 1 + len(getattr(self, "name", "")) // 16

    @property
    def mark(self) -> PyAny:
        return self

    @property
    def annotation(self) -> str:
        """The Python spelling, as in the code/ of an archive."""
        raise NotImplementedError(type(self).__name__)

    def __str__(self) -> str:
        return self.annotation

    def map(self, f: Callable[[Type], Type]) -> Type:
        """The same type with every contained type replaced by `f` of it."""
        return self

    def walk(self) -> Iterator[Type]:
        """This type and everything inside it, each part once, outermost first."""
        return iter((self,))


class Structural(Type):
    """A type that is equal to all others of the same structure.

    Raises LimitError where it would have over MAX_SIZE parts, or lie over MAX_DEPTH deep.
    """

    def __post_init__(self) -> None:
        size, depth = 1 + len(getattr(self, "name", None) or "") // 16, 0
        for t in self.contained:
            size += t.size
            depth = max(depth, t.depth + 1)
        if size > MAX_SIZE or depth > MAX_DEPTH:
            raise LimitError(
                f"a type of the program has {size:,} parts, {depth} deep, once it is written out; "
                f"at most {MAX_SIZE:,} parts, {MAX_DEPTH} deep, can be compiled: use a class "
                "where types hold each other"
            )
        values, key = self.__dict__, self._key()
        mark = _marks.get(key)
        if mark is None:
            with _making_marks:  # two of them would be two types
                mark = _marks.get(key)
                if mark is None:
                    mark = _marks[key] = Mark()
        budget = budgets.current()
        if budget is not None:
            budget.add_type(mark, size)
        values["size"], values["depth"], values["mark"] = size, depth, mark
        values["_hash"] = hash(key)

    # Plain attributes of instances, not the properties of other types.
    size: int = 1
    mark: PyAny = None
    _hash: int

    def _key(self) -> tuple[PyAny, ...]:
        """Equal keys mean equal types."""
        return (self.__class__, *[t.mark for t in self.contained])

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, Structural) and self.mark is other.mark

    def __hash__(self) -> int:
        return self._hash

    def walk(self) -> Iterator[Type]:
        parts: tuple[Type, ...] | None = self.__dict__.get("_parts")
        if parts is None:
            found: dict[Type, None] = {self: None}
            pending = [*reversed(self.contained)]
            while pending:
                t = pending.pop()
                if t not in found:
                    found[t] = None
                    pending += reversed(t.contained)
            parts = self.__dict__["_parts"] = tuple(found)
        return iter(parts)

    def __copy__(self) -> Structural:
        return self

    def __deepcopy__(self, memo: PyAny) -> Structural:
        return self

    def __reduce__(self) -> tuple[PyAny, ...]:
        fields = vars(type(self))["__record_fields__"]
        return type(self), tuple(getattr(self, name) for name in fields)
