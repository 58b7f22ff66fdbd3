"""Compiles the expressions of derivative rules to functions."""

from __future__ import annotations

import ast

from scriptlang.ir import Function
from scriptlang.ops.derivatives.rules import Expression
from scriptlang.source import Source

from ..bodies.emit import emit_function
from .resolver import PythonResolver


def compile_expression(expression: Expression) -> Function:
    """The expression as a function whose arguments are the values that it names, in this order.

    Raises CompileError.
    """
    text = expression.source
    definition = ast.parse(text).body[0]
    source = Source(text, expression.place)
    resolver = PythonResolver.of(expression.function)
    schema = expression.schema
    graph = emit_function(definition, source, resolver, schema.name, schema)
    return Function(schema.name, schema, graph)
