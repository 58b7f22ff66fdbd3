"""The record scriptlang/names.pkl: names for which PyTorch's format of bytecode has no place.

    (1, enums, classes, defaults)
    enums     ((class, ((member, value), ...)), ...)
    classes   ((class, (attribute, ...)), ...)    by slot
    defaults  ((function, (argument, ...)), ...)  the arguments whose default is None, for functions
              whose schema in bytecode would be read differently

If the record is missing, the names of members of enums are unknown, and using one raises an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import budgets
from .. import types as T
from ..errors import ArchiveError
from ..interpreter.code import Code, with_none_defaults
from ..objects import EnumValue, ScriptObject
from ..records import record, replace
from ..schema import NO_DEFAULT, Argument

RECORD = "scriptlang/names.pkl"
WRITTEN = 1
MAX_ATTRIBUTES = 10_000


def names_of(
    codes: Mapping[str, Code], values: Iterable[Any], renamed: Mapping[T.Type, str]
) -> tuple[Any, ...] | None:
    """The value to pickle for functions, by their name in the archive, and for `values`, the
    archive's objects; None if there are no names to write.

    renamed: types that have another name in the archive.
    """
    found = list(types_in(codes.values(), values))
    enums = {
        renamed.get(t, t.name): tuple(t.members.items())
        for t in found
        if isinstance(t, T.EnumType) and not t.is_unnamed
    }
    classes = {
        renamed.get(t, t.name): tuple(a.name for a in t.attributes)
        for t in found
        if isinstance(t, T.ClassType) and t.attributes and not t.name.startswith(T.CUSTOM_CLASSES)
    }
    defaults = {
        name: kept
        for name, code in codes.items()
        if (kept := lost_defaults(code.schema.arguments)) is not None
    }
    if not enums and not classes and not defaults:
        return None
    return (WRITTEN, *(tuple(sorted(part.items())) for part in (enums, classes, defaults)))


def lost_defaults(arguments: tuple[Argument, ...]) -> tuple[str, ...] | None:
    """The arguments whose default is None; None if `with_none_defaults` finds the same ones from
    the schema in bytecode."""
    written = tuple(replace(a, default=NO_DEFAULT) if a.default is None else a for a in arguments)
    if with_none_defaults(written) == arguments:
        return None
    return tuple(a.name for a in arguments if a.default is None)


def types_in(codes: Iterable[Code], values: Iterable[Any]) -> Iterator[T.Type]:
    """The types in codes and values, and those of their parts and attributes, each once."""
    pending: list[Any] = list(values)
    for code in codes:
        pending += [
            *code.types,
            *code.constants,
            *filter(None, code.register_types),
            *(a.type for a in (*code.schema.arguments, *code.schema.returns)),
        ]
    seen: dict[int, Any] = {}  # holds the values, so that their ids are not used again
    while pending:
        item = pending.pop()
        if isinstance(item, T.AtomType) or id(item) in seen:
            continue
        if isinstance(item, T.Type):
            seen[id(item)] = item
            yield item
            pending += item.contained
            if isinstance(item, T.ClassType):
                pending += [a.type for a in item.attributes]
        elif isinstance(item, EnumValue):
            pending.append(item.type)
        elif isinstance(item, (ScriptObject, list, tuple, dict)):
            seen[id(item)] = item
            pending += (
                [item.type, *item.slots]
                if isinstance(item, ScriptObject)
                else [*item, *item.values()]
                if isinstance(item, dict)
                else item
            )


@record
class Names:
    """The contents of the record: members of enums, attributes of classes, and the arguments of
    functions whose default is None."""

    enums: dict[str, dict[str, Any]]
    classes: dict[str, list[str]]
    defaults: dict[str, tuple[str, ...]]


NONE = Names({}, {}, {})


def read_names(tree: Any) -> Names:
    """The names in an unpickled record.  Raises ArchiveError if it is malformed."""
    if not isinstance(tree, tuple) or len(tree) != 4:
        fail("it is no tuple of four")
    if tree[0] != WRITTEN:
        raise ArchiveError(
            f"version {str(tree[0])[:20]}; {WRITTEN} can be read",
            RECORD,
            "a newer scriptlang may read it",
        )
    enums = {name: members(name, rows) for name, rows in pairs(tree[1]).items()}
    classes = {name: texts(rows) for name, rows in pairs(tree[2]).items()}
    defaults = {name: tuple(texts(rows)) for name, rows in pairs(tree[3]).items()}
    for name, attributes in classes.items():
        if name in enums or len(attributes) > MAX_ATTRIBUTES:
            fail(f"{name} has too many attributes, or is an enum")
    return Names(enums, classes, defaults)


def pairs(rows: Any) -> dict[str, Any]:
    """A table of (name, value) pairs as a dict.  Raises ArchiveError if a name occurs twice."""
    if not isinstance(rows, tuple) or not all(isinstance(r, tuple) and len(r) == 2 for r in rows):
        fail("a table is no tuple of pairs")
    texts(tuple(r[0] for r in rows))
    return dict(rows)


def texts(names: Any) -> list[str]:
    """A list of distinct names.  They count towards the budget, since a small pickle may contain
    the same tuple many times."""
    if not isinstance(names, tuple) or not all(isinstance(n, str) and n for n in names):
        fail("a name is no text")
    budgets.spend("graph_nodes", len(names))
    if len(set(names)) != len(names):
        fail("it has one name twice")
    return list(names)


def members(name: str, rows: Any) -> dict[str, Any]:
    found = pairs(rows)
    kinds = {type(v) for v in found.values()}
    if len(kinds) != 1 or not kinds <= {int, float, str} or len(set(found.values())) < len(found):
        fail(f"{name} has members that are no numbers or texts, or the same")
    return found


def fail(what: str) -> None:
    raise ArchiveError(what, RECORD, "the file is damaged, or was not made by scriptlang")
