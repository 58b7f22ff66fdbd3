"""Functions defined inside functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from scriptlang.errors import CompileError
from scriptlang.ir import Function

from .sugared import SugaredValue

if TYPE_CHECKING:
    from .emitter import Emitter


class _Inner:
    """The names of an inner function: compile-time names around it, then those of the outer one."""

    def __init__(self, outer: Emitter):
        self.outer, self.frame = outer, outer.frame

    def value(self, name: str, span) -> SugaredValue | None:
        found = self.frame.find(name)
        if found is not None and self.outer.b.is_simple(found):
            raise CompileError(f"{name!r} is a variable of the function around", span,
                               "pass it as an argument")
        return found or self.outer.resolver.value(name, span)

    def type(self, expr, span):
        return self.outer.resolver.type(expr, span)


def nested_function(e: Emitter, node: ast.FunctionDef) -> Function:
    """Compile an inner function on its own; it may not read variables of the outer one."""
    from .emit import emit_function, function_schema, has_result_type

    if node.decorator_list:
        raise CompileError("a decorator inside a function is not part of the language",
                           e.span(node.decorator_list[0]))
    resolver, name = _Inner(e), f"{e.name}.{node.name}"
    schema = function_schema(node, e.source, resolver, name)
    if not has_result_type(node):
        from .emit import infer_schema

        graph = emit_function(node, e.source, resolver, name, None)
        return Function(name, infer_schema(schema, graph), graph)
    return Function(name, schema, define=lambda f: setattr(
        f, "graph", emit_function(node, e.source, resolver, name, schema)))

