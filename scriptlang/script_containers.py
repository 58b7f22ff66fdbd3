"""ScriptList and ScriptDict: what `jit.script` makes of a list or dict of Python.

Programs that get one change it itself, where they get a copy of a plain list or dict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .types import DictType, ListType, Type

Fit = Callable[[Any, Type], Any]
"""Converts a value to a run-time value of a type; raises TypeError if it does not fit."""


class ScriptList:
    """A list that programs change in place. Its elements have one type."""

    def __init__(self, values: Iterable[Any], type: ListType, fit: Fit) -> None:
        self._type, self._fit = type, fit
        self._values = [self._element(v) for v in values]

    def _element(self, value: Any) -> Any:
        return self._fit(value, self._type.element)

    def __repr__(self) -> str:
        return repr(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return map(self._element, self._values)

    def __getitem__(self, index: Any) -> Any:
        found = self._values[index]
        if isinstance(index, slice):
            return ScriptList(found, self._type, self._fit)
        return self._element(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            given = [self._element(v) for v in value]
            if len(given) != len(self._values[index]):
                raise RuntimeError(
                    "Left and right hand size of slice assignment have different sizes"
                )
            self._values[index] = given
        else:
            self._values[index] = self._element(value)

    def __delitem__(self, index: int) -> None:
        del self._values[index]

    def __contains__(self, value: Any) -> bool:
        return self._element(value) in self._values

    def count(self, value: Any) -> int:
        return self._values.count(self._element(value))

    def remove(self, value: Any) -> None:
        self._values.remove(self._element(value))

    def append(self, value: Any) -> None:
        self._values.append(self._element(value))

    def clear(self) -> None:
        self._values.clear()

    def extend(self, values: Iterable[Any]) -> None:
        self._values += [self._element(v) for v in values]

    def insert(self, index: int, value: Any) -> None:
        self._values.insert(index, self._element(value))

    def pop(self, index: int = -1) -> Any:
        return self._values.pop(index)


class ScriptDict:
    """A dict that programs change in place. Its keys have one type, and so have its values."""

    def __init__(self, values: Mapping[Any, Any], type: DictType, fit: Fit) -> None:
        self._type, self._fit = type, fit
        self._values = {self._key(k): self._value(v) for k, v in values.items()}

    def _key(self, key: Any) -> Any:
        return self._fit(key, self._type.key)

    def _value(self, value: Any) -> Any:
        return self._fit(value, self._type.value)

    def _found(self, key: Any) -> Any:
        """A key that is looked up. Raises KeyError if it has another type."""
        try:
            return self._key(key)
        except TypeError:
            raise KeyError(key) from None

    def __repr__(self) -> str:
        return repr(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def keys(self) -> Iterator[Any]:
        return iter(self._values)

    def items(self) -> Iterator[tuple[Any, Any]]:
        return ((k, self._value(v)) for k, v in self._values.items())

    def __getitem__(self, key: Any) -> Any:
        return self._value(self._values[self._found(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[self._key(key)] = self._value(value)

    def __delitem__(self, key: Any) -> None:
        del self._values[self._key(key)]

    def __contains__(self, key: Any) -> bool:
        return self._found(key) in self._values
