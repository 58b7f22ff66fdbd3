"""Sorting of lists of objects by their `__lt__`, and of tuples that contain such objects.

It is a stable merge sort, written in the scripted language.  A function is compiled for each type
that a program sorts.
"""

from __future__ import annotations

import ast
import re
import weakref
from collections.abc import Iterator
from typing import Any

from scriptlang import type_text
from scriptlang import types as T
from scriptlang.ir import Function
from scriptlang.source import Source, Span

from ..whole import whole
from .sugared import FunctionValue

_TEXT = """
def sort_objects(xs: List[C], reverse: bool = False) -> None:
    n = len(xs)
    if reverse:
        xs.reverse()
    width = 1
    while width < n:
        merged: List[C] = []
        start = 0
        while start < n:
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            i = start
            j = middle
            while i < middle and j < end:
                if LESS:
                    merged.append(xs[j])
                    j += 1
                else:
                    merged.append(xs[i])
                    i += 1
            while i < middle:
                merged.append(xs[i])
                i += 1
            while j < end:
                merged.append(xs[j])
                j += 1
            start = end
        for k in range(n):
            xs[k] = merged[k]
        width *= 2
    if reverse:
        xs.reverse()
"""

_SORTED_TEXT = """
def sorted_objects(xs: List[C]) -> List[C]:
    result = list(xs)
    sort(result)
    return result
"""

_ELEMENT_TEXT = """
    a{i}, b{i} = a[{i}], b[{i}]
    if {less}:
        return True
    if not ({same}):
        return False
"""

_Made = weakref.WeakValueDictionary[tuple[Any, ...], Function]

_functions: weakref.WeakKeyDictionary[T.ClassType, _Made] = weakref.WeakKeyDictionary()
"""Class of sorted objects -> (kind of function, type of element) -> the function.

A function knows the class, so it is kept here only as long as a program calls it.
"""

ORDERED = (T.INT, T.FLOAT, T.BOOL, T.STR, T.TENSOR)
"""Types that the operator `<` compares."""


def sorting_function(operator: str, type: T.Type) -> Function | None:
    """The function that replaces `aten::sort` or `aten::sorted` for a list of this type.

    Its elements must be objects that can be compared, or tuples with such objects.  None for other
    operators and types.
    """
    if operator not in ("aten::sort", "aten::sorted") or not isinstance(type, T.ListType):
        return None
    classes = list(_classes(type.element))
    if not classes or not _is_ordered(type.element):
        return None
    return _function(operator, type.element, classes[0])


def _classes(type: T.Type) -> Iterator[T.ClassType]:
    """The type if it is a class; the classes among the elements if it is a tuple."""
    if isinstance(type, T.ClassType):
        yield type
    elif isinstance(type, T.TupleType):
        for element in type.elements:
            yield from _classes(element)


def _is_ordered(type: T.Type) -> bool:
    if isinstance(type, T.TupleType):
        return all(map(_is_ordered, type.elements))
    if not isinstance(type, T.ClassType):
        return type in ORDERED
    less = type.methods.get("__lt__")
    if less is None:
        return False
    less.ensure_defined()
    others = [a.type for a in less.schema.arguments[1:]]
    return others == [type] and less.schema.returns[0].type == T.BOOL


def _function(what: str, type: T.Type, cls: T.ClassType) -> Function:
    """The function of a kind ("aten::sort", "aten::sorted", "less") for elements of a type."""
    made = _functions.setdefault(cls, weakref.WeakValueDictionary())
    key = what, type
    known = made.get(key)
    if known is None:
        known = made[key] = _compiled(what, type, cls)
    return known


def _text(what: str, type: T.Type) -> str:
    if what == "aten::sorted":
        return _SORTED_TEXT
    if what == "aten::sort":
        return _TEXT.replace("LESS", _less(type, "xs[j]", "xs[i]"))
    parts = [
        _ELEMENT_TEXT.format(
            i=i, less=_less(t, f"a{i}", f"b{i}", i), same=_same(t, f"a{i}", f"b{i}")
        )
        for i, t in enumerate(type.elements)
    ]
    return "def less(a: C, b: C) -> bool:" + "".join(parts) + "    return False\n"


def _same(type: T.Type, left: str, right: str) -> str:
    """An expression for whether two values are equal.  Objects are compared by identity."""
    if isinstance(type, T.TupleType):
        return " and ".join(
            _same(t, f"{left}[{i}]", f"{right}[{i}]") for i, t in enumerate(type.elements)
        )
    return f"{left} {'is' if isinstance(type, T.ClassType) else '=='} {right}"


def _less(type: T.Type, left: str, right: str, index: int | None = None) -> str:
    """An expression for `left < right`.  `index` is their position in an outer tuple, if any."""
    if not isinstance(type, T.TupleType):
        return f"{left} < {right}"
    return f"less{'' if index is None else f'_{index}'}({left}, {right})"


def _compiled(what: str, type: T.Type, cls: T.ClassType) -> Function:
    text = _text(what, type)
    definition = ast.parse(text).body[0]
    definition.type_comment = None
    source, names = Source(text, "<language>"), _Names(type, cls)
    held = cls.short_name if type is cls else re.sub(r"\W+", "_", str(type))
    name = f"{cls.name.rpartition('.')[0]}.{definition.name}_of_{held}"
    schema = whole.function_schema(definition, source, names, name)

    def define(function: Function) -> None:
        function.graph = whole.emit_function(definition, source, names, name, schema)

    return Function(name, schema, define=define)


class _Names:
    """Resolves the names in these texts.

    `C` is the type of the elements, `sort` sorts a list of them, `less` compares two of them, and
    `less_1` compares what they have at index 1, if they are tuples.
    """

    def __init__(self, sorted_type: T.Type, cls: T.ClassType) -> None:
        self.sorted_type, self.cls = sorted_type, cls

    def value(self, name: str, span: Span) -> Any:
        if name == "sort":
            return FunctionValue(_function("aten::sort", self.sorted_type, self.cls))
        head, _, index = name.partition("_")
        if head != "less":
            return None
        type = self.sorted_type.elements[int(index)] if index else self.sorted_type
        return FunctionValue(_function("less", type, next(_classes(type), self.cls)))

    def type(self, expr: ast.expr, span: Span) -> T.Type:
        return type_text.parse_annotation(
            ast.unparse(expr), lambda name: self.sorted_type if name == "C" else None
        )
