"""The base classes of types: parts, size, and the mark that equal types share.

Equal structural types have the same mark object, so comparing them takes constant time, even if
they share parts and would be huge when written out. Their size is limited (`MAX_SIZE`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any as PyAny

from . import budgets
from .errors import LimitError

MAX_SIZE = 100_000
"""The most parts of one type when it is written out; ordinary types have dozens."""

MAX_DEPTH = 200
"""The deepest nesting of types."""


class Mark:
    """An object that all types equal to each other share.

    It does not refer to them: the table of marks keeps the marks of the parts of living types, so
    with types in their place, a class with an attribute `List[itself]` would keep itself alive.
    """

    __slots__ = ("__weakref__",)


MARK = "_mark"
"""The attribute that holds the mark of a type that is only equal to itself."""

_marks: weakref.WeakValueDictionary[tuple[PyAny, ...], Mark] = weakref.WeakValueDictionary()
_making_marks = threading.Lock()


class Type:
    """A type. Subclasses are frozen; `contained` are the types inside it, in order.

    size: the number of its parts when written out (a long name counts as several). depth: how deep
    they are nested. mark: the same object for all equal types.
    """

    depth = 0

    @property
    def contained(self) -> tuple[Type, ...]:
        return ()

    @property
    def size(self) -> int:
        return 1 + len(getattr(self, "name", "")) // 16

    @property
    def mark(self) -> Mark:
        mark: Mark = self.__dict__.setdefault(MARK, Mark())
        return mark

    @property
    def annotation(self) -> str:
        """The Python spelling, as in the code/ of an archive."""
        raise NotImplementedError(type(self).__name__)

    def __str__(self) -> str:
        return self.annotation

    def map(self, f: Callable[[Type], Type]) -> Type:
        """The same type with every contained type t replaced by f(t)."""
        return self

    def walk(self) -> Iterator[Type]:
        """This type and everything inside it, outermost first; each part occurs once."""
        return iter((self,))


class Structural(Type):
    """A type that is equal to all others with the same structure.

    Raises LimitError if it would have more than MAX_SIZE parts, or be nested deeper than
    MAX_DEPTH.
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
            with _making_marks:  # two marks would make two different types
                mark = _marks.get(key)
                if mark is None:
                    mark = _marks[key] = Mark()
        budget = budgets.current()
        if budget is not None:
            budget.add_type(mark, size)
        values["size"], values["depth"], values["mark"] = size, depth, mark
        values["_hash"] = hash(key)

    # Plain attributes of instances, unlike the properties of other types.
    size: int = 1
    mark: Mark = None  # type: ignore[assignment]
    _hash: int

    def _key(self) -> tuple[PyAny, ...]:
        """A key; types are equal if their keys are."""
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
