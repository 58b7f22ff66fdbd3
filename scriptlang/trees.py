"""Nested containers: what transforms take and give, in any structure of tuples, lists and dicts.

A leaf is what is no container.  As in PyTorch, dicts, OrderedDicts, defaultdicts, tuples, named
tuples and lists are containers, and what is made in the structure of one is of its type.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any


def keys(value: Any) -> list[Any]:
    """The keys of a container: those of a dict, or places."""
    return list(value) if isinstance(value, dict) else list(range(len(value)))


def is_container(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict))


def like(value: Any, part: Callable[[Any], Any]) -> Any:
    """A container of the same kind, with part(key) in each position."""
    if isinstance(value, dict):
        made = {key: part(key) for key in value}
        if isinstance(value, defaultdict):
            return defaultdict(value.default_factory, made)
        return OrderedDict(made) if isinstance(value, OrderedDict) else made
    parts = [part(key) for key in range(len(value))]
    if hasattr(value, "_fields"):
        return type(value)(*parts)
    return parts if isinstance(value, list) else tuple(parts)


def mapped(value: Any, part: Callable[[Any], Any]) -> Any:
    """What a function makes of each leaf, in the same structure."""
    if is_container(value):
        return like(value, lambda key: mapped(value[key], part))
    return part(value)


def flat(value: Any) -> list[Any]:
    """The leaves, those of containers in others included."""
    if not is_container(value):
        return [value]
    return [t for key in keys(value) for t in flat(value[key])]


def filled(structure: Any, found: Iterator[Any]) -> Any:
    """What an iterator gives, in the structure of a value."""
    return mapped(structure, lambda leaf: next(found))


class _Star:
    def __repr__(self) -> str:
        return "*"


def shown(value: Any) -> str:
    """How containers are nested in a value, a leaf as a star: `(*, [*])`."""
    return repr(mapped(value, lambda leaf: _Star()))


def spec(value: Any, indent: int = 0) -> str:
    """The structure of a value, as PyTorch writes it in errors; equal for equal structures."""
    if not is_container(value):
        return "*"
    context: Any = None
    if isinstance(value, defaultdict):
        context = [value.default_factory, list(value)]
    elif isinstance(value, dict):
        context = list(value)
    elif hasattr(value, "_fields"):
        context = type(value)
    name = "namedtuple" if hasattr(value, "_fields") else type(value).__name__
    parts = [spec(value[key], indent + 2) for key in keys(value)]
    return f"TreeSpec({name}, {context}, [" + f",\n{' ' * (indent + 2)}".join(parts) + "])"
