"""Sorting of lists of objects by their `__lt__`: a merge sort written in the language.

One function is compiled for each class that a program sorts; it keeps the order of equals.
"""

from __future__ import annotations

import ast
import weakref
from typing import Any

from scriptlang import types as T
from scriptlang.ir import Function
from scriptlang.source import Source, Span

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
                if xs[j] < xs[i]:
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

_functions: weakref.WeakKeyDictionary[T.ClassType, dict[str, Function]] = \
    weakref.WeakKeyDictionary()


def sorting_function(operator: str, type: T.Type) -> Function | None:
    """What `aten::sort` or `aten::sorted` of a list of a type is, where its elements are objects
    that can be compared; None for other types."""
    if operator not in ("aten::sort", "aten::sorted") or not isinstance(type, T.ListType) \
            or not isinstance(type.element, T.ClassType):
        return None
    cls = type.element
    less = cls.methods.get("__lt__")
    if less is None:
        return None
    less.ensure_defined()
    others = [a.type for a in less.schema.arguments[1:]]
    if others != [cls] or less.schema.returns[0].type != T.BOOL:
        return None
    made = _functions.setdefault(cls, {})
    if operator not in made:
        made[operator] = _compiled(operator, cls)
    return made[operator]


def _compiled(operator: str, cls: T.ClassType) -> Function:
    from .emit import emit_function
    from .signatures import function_schema

    text = _TEXT if operator == "aten::sort" else _SORTED_TEXT
    definition = ast.parse(text).body[0]
    definition.type_comment = None
    source, names = Source(text, "<language>"), _Names(cls)
    name = f"{cls.name.rpartition('.')[0]}.{definition.name}_of_{cls.short_name}"
    schema = function_schema(definition, source, names, name)

    def define(function: Function) -> None:
        function.graph = emit_function(definition, source, names, name, schema)

    return Function(name, schema, define=define)


class _Names:
    """Names of the texts: the class that is sorted is C."""

    def __init__(self, cls: T.ClassType):
        self.cls = cls

    def value(self, name: str, span: Span) -> Any:
        from .sugared import FunctionValue

        return FunctionValue(sorting_function("aten::sort", T.ListType(self.cls))) \
            if name == "sort" else None

    def type(self, expr: ast.expr, span: Span) -> T.Type:
        return T.parse_annotation(ast.unparse(expr),
                                  lambda name: self.cls if name == "C" else None)
