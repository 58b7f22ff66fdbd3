"""Dataclasses: makes the source of the methods that `@dataclass` adds (`__init__`, `__eq__`...)."""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.source import Source

from ..syntax.annotations import hints_of
from .inheritance import Member, class_header
from .resolver import PythonResolver

ORDER = {
    "__lt__": ("<", False),
    "__le__": ("<", True),
    "__gt__": (">", False),
    "__ge__": (">", True),
}
"""Method -> (sign that compares the first fields that differ, result if all fields are equal)."""


def is_record(cls: Any) -> bool:
    """Whether a class is a dataclass itself, not only one of its bases."""
    return "__dataclass_fields__" in cls.__dict__


def field_names(cls: Any) -> list[str]:
    return [f.name for f in dataclasses.fields(cls)]


def _kind(field: Any) -> str:
    """The kind of a field: `_FIELD`, `_FIELD_CLASSVAR` or `_FIELD_INITVAR`."""
    return field._field_type.name


def written_members(cls: Any, own: set[str]) -> list[Member]:
    """The methods that `@dataclass` adds to a class; `own` are the names that it defines itself.

    Raises CompileError.
    """
    parameters = cls.__dataclass_params__
    if parameters.frozen:
        raise CompileError(
            f"the dataclass {cls.__name__} is frozen",
            class_header(cls),
            "leave frozen=True out: the attributes of an object can be set",
        )
    made = []
    if parameters.init and "__init__" not in own:
        made.append(_init(cls))
    if parameters.eq and "__eq__" not in own:
        made.append(_written(cls, "__eq__", _eq_text(cls)))
    if parameters.order:
        made += [_written(cls, name, _order_text(cls, name)) for name in ORDER if name not in own]
    return made


def _init(cls: Any) -> Member:
    """The method `__init__`, whose parameters are the fields, in order."""
    given = {n: f for n, f in cls.__dataclass_fields__.items() if _kind(f) != "_FIELD_CLASSVAR"}
    plain, body, defaults = ["self"], [], {}
    keywords: list[str] = []
    for name, field in given.items():
        if field.default_factory is not dataclasses.MISSING:
            raise CompileError(
                "Default factory initializers are not supported in TorchScript dataclasses: "
                f"{name!r} of {cls.__name__}",
                class_header(cls),
                "take None as the default, and make the value in __post_init__",
            )
        if field.default is not dataclasses.MISSING:
            defaults[name] = field.default
        if field.init:
            text = f"{name}: __type_{name}" + (" = ..." if name in defaults else "")
            (keywords if getattr(field, "kw_only", False) else plain).append(text)
        if _kind(field) == "_FIELD" and (field.init or name in defaults):
            body.append(f"self.{name} = {name if field.init else repr(defaults[name])}")
    if hasattr(cls, "__post_init__"):
        initial = [n for n, f in given.items() if _kind(f) == "_FIELD_INITVAR"]
        body.append(f"self.__post_init__({', '.join(initial)})")
    stars = ["*", *keywords] if keywords else []
    text = f"def __init__({', '.join([*plain, *stars])}) -> None:\n"
    text += "".join(f"    {line}\n" for line in body or ["pass"])
    defaults = {n: v for n, v in defaults.items() if given[n].init}
    return _written(cls, "__init__", text, defaults)


def _eq_text(cls: Any) -> str:
    """The source of `__eq__`.  Fields that may be None are compared only if neither is None."""
    lines = []
    for name, optional in _compared(cls):
        lines += [f"a_{name} = self.{name}", f"b_{name} = other.{name}"]
        same = f"a_{name} == b_{name}"
        if optional:
            lines += [
                f"if a_{name} is not None and b_{name} is not None:",
                f"    if not ({same}):",
                "        return False",
                f"elif (a_{name} is None) != (b_{name} is None):",
                "    return False",
            ]
        else:
            lines += [f"if not ({same}):", "    return False"]
    return _comparison(cls, "__eq__", [*lines, "return True"])


def _order_text(cls: Any, method: str) -> str:
    """The source of a comparison such as `__lt__`, which the first fields that differ decide."""
    sign, otherwise = ORDER[method]
    lines = []
    for name, optional in _compared(cls):
        lines += [f"a_{name} = self.{name}", f"b_{name} = other.{name}"]
        decide = [f"if not (a_{name} == b_{name}):", f"    return bool(a_{name} {sign} b_{name})"]
        if optional:
            lines += [
                f"if a_{name} is not None and b_{name} is not None:",
                *(f"    {line}" for line in decide),
                f"elif (a_{name} is None) != (b_{name} is None):",
                f"    raise TypeError(\"None cannot be ordered: field '{name}'\")",
            ]
        else:
            lines += decide
    return _comparison(cls, method, [*lines, f"return {otherwise}"])


def _compared(cls: Any) -> Iterator[tuple[str, bool]]:
    """The names of the fields that are compared, and whether they may be None."""
    hints = hints_of(cls, class_header)
    for field in dataclasses.fields(cls):
        if field.compare:
            yield field.name, T.may_be_none(hints.get(field.name, T.TENSOR))


def _comparison(cls: Any, name: str, lines: list[str]) -> str:
    return f"def {name}(self, other: {cls.__name__}) -> bool:\n" + "".join(
        f"    {line}\n" for line in lines
    )


def _written(cls: Any, name: str, text: str, defaults: dict[str, Any] | None = None) -> Member:
    """A method from its source text.  Its position, for errors, is the header of the class."""
    place = class_header(cls)
    statement = ast.parse(text).body[0]
    statement.type_comment = None
    if place is not None:
        before = place.source.text[: place.start]
        start = len(before.rpartition("\n")[2].encode())
        for inner in ast.walk(statement):
            if "lineno" in inner._attributes:
                inner.lineno = inner.end_lineno = before.count("\n") + 1
                inner.col_offset, inner.end_col_offset = start, start + len(place.text.encode())
    source = place.source if place else Source(text, f"<dataclass {cls.__name__}>")
    names = {
        **vars(sys.modules[cls.__module__]),
        cls.__name__: cls,
        **{f"__type_{n}": t for n, t in hints_of(cls, class_header).items()},
    }
    return Member(name, statement, source, PythonResolver.of_mapping(names), defaults, None, cls)
