"""Functions that are defined inside functions.

A function that reads no variables of the outer function is compiled separately.  One that does is a
closure: its body is emitted anew at each call.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang.errors import CompileError
from scriptlang.ir import Function
from scriptlang.schema import Schema

from ..syntax.definitions import has_result_type
from ..syntax.questions import walk_scope
from ..values.environment import Consequence, Frame
from ..values.sugared import FunctionValue, SugaredValue
from ..values.variadic import VariadicValue, is_variadic
from ..whole import whole
from . import exits
from .signatures import function_schema, infer_schema

if TYPE_CHECKING:
    from ...source import Span
    from ...types import Type
    from ..values.builder import Builder
    from ..values.sugared import Arg
    from .emitter import Emitter


class _Inner:
    """Resolves the names of an inner function that is compiled separately."""

    def __init__(self, outer: Emitter) -> None:
        self.outer, self.frame = outer, outer.frame

    def value(self, name: str, span: Span) -> SugaredValue | None:
        found = self.frame.find(name)
        return found or self.outer.resolver.value(name, span)

    def type(self, expr: ast.Name, span: Span) -> Type:
        return self.outer.resolver.type(expr, span)


def define_nested(e: Emitter, node: ast.FunctionDef) -> None:
    """Emit a `def` inside a function."""
    if node.decorator_list:
        raise CompileError(
            "a decorator inside a function is not part of the language",
            e.span(node.decorator_list[0]),
            "define the function outside",
        )
    reads = any(_is_variable(e, name) for name in names_read(node))
    if is_variadic(node):
        if reads:
            raise CompileError(
                "an inner function with *args or **kwargs reads variables of the "
                "function around it",
                e.span(node),
                "pass them as arguments",
            )
        e.frame.set(node.name, VariadicValue(node, e.source, _Inner(e), f"{e.name}.{node.name}"))
    elif reads:
        e.frame.set(node.name, ClosureValue(e, node))
    else:
        e.frame.set(node.name, FunctionValue(_function(e, node)))


def _is_variable(e: Emitter, name: str) -> bool:
    found = e.frame.find(name)
    return found is not None and (e.b.is_simple(found) or isinstance(found, ClosureValue))


def names_read(node: ast.FunctionDef) -> set[str]:
    """The names that occur in a function and are neither its parameters nor assigned in it."""
    a = node.args
    stars = [s for s in (a.vararg, a.kwarg) if s is not None]
    own = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *stars)}
    names = [n for n in walk_scope(node.body) if isinstance(n, ast.Name)]
    own |= {n.id for n in names if not isinstance(n.ctx, ast.Load)}
    deep = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return deep - own


def _function(e: Emitter, node: ast.FunctionDef) -> Function:
    """An inner function that is compiled separately; at once if its result type is inferred."""
    resolver, name = _Inner(e), f"{e.name}.{node.name}"
    schema = function_schema(node, e.source, resolver, name)
    if not has_result_type(node):
        graph = whole.emit_function(node, e.source, resolver, name, None)
        return Function(name, infer_schema(schema, graph), graph)
    return Function(
        name,
        schema,
        define=lambda f: setattr(
            f, "graph", whole.emit_function(node, e.source, resolver, name, schema)
        ),
    )


class ClosureValue(SugaredValue):
    """An inner function that reads variables of the outer function.

    `is_open` is true while its body is being emitted, to detect recursion.
    """

    def __init__(self, e: Emitter, node: ast.FunctionDef) -> None:
        self.e, self.node, self.frame = e, node, e.frame
        self.is_open = False
        self.kind = f"inner function '{node.name}'"

    def schema(self) -> Schema:
        return function_schema(self.node, self.e.source, self.e.resolver, self.node.name)

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        schema = self.schema()
        inputs, _ = b.bind(schema, args, kwargs, span, None)
        result = schema.returns[0].type if has_result_type(self.node) else None
        frame = Frame(self.frame, is_scope=True)
        for argument, value in zip(schema.arguments, inputs):
            frame.set(argument.name, b.simple(value))
        if self.is_open:
            self.fail("calls itself", span, "define it outside of the function")
        region = b.insert(exits.WITH, (), (), span)
        body = region.add_block()
        region.add_block()
        with self.e.block(body, frame):
            self.is_open = True
            try:
                value = self._body(result, span)
            finally:
                self.is_open = False
            body.add_return(value)
        return b.simple(region.add_output(value.type))

    def _body(self, result: Any, span: Span) -> Any:
        """Emit the body into the current block; returns its result."""
        e = self.e
        saved = e.loops, e.returns, e.result
        e.loops, e.returns, e.result = [], [], result
        try:
            known = len(e.errors)
            whole.emit_statements(e, self.node.body)
            if len(e.errors) > known:
                raise Consequence("an error in the inner function", span)
            if not e.frame.exits:
                whole.leave_function(e, e.b.constant(None, span), span)
            type = result or whole.join_types(e.returns)
            return exits.eliminate(e, e.graph.insert_point.block, e.returns, [type])[0]
        finally:
            e.loops, e.returns, e.result = saved
