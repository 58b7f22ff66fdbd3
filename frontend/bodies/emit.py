"""The entry of the front end: compiles the syntax of one function to a graph.

Scripts and the code of archives are compiled in the same way; only the Resolver differs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Graph, Node
from scriptlang.schema import Schema
from scriptlang.source import Source

from ..overloads.conversions import EMPTY_LIST
from ..syntax.definitions import has_result_type
from ..syntax.places import friendly, span_of
from ..values.builder import Builder
from ..values.sugared import Resolver
from . import exits, forks, statements
from .emitter import Emitter
from .signatures import function_schema

if TYPE_CHECKING:
    from ...ir import Block


def emit_function(
    definition: ast.FunctionDef,
    source: Source,
    resolver: Resolver,
    name: str,
    schema: Schema | None = None,
    self_type: T.Type | None = None,
) -> Graph:
    """The graph of a function.

    `definition` is its syntax, with positions in `source`.  `schema` has its types; if it is not
    given, they are read from the annotations.  The type of a result that is not declared is
    inferred.  `self_type` is the type of the first argument of a method, if that has no annotation.
    Raises CompileError.
    """
    if schema is None:
        schema = function_schema(definition, source, resolver, name, self_type)
    result = schema.returns[0].type if has_result_type(definition) else None
    graph = Graph(name)
    e = Emitter(graph, source, resolver, name, result, Builder(graph))
    e.self_type = self_type
    for argument in schema.arguments:
        value = graph.block.add_parameter(argument.type, argument.name)
        e.frame.set(argument.name, e.simple(value))
    try:
        statements.emit_statements(e, definition.body)
    except RecursionError:
        raise CompileError(
            f"{friendly(name)} is nested too deeply",
            span_of(definition, source),
            "break long expressions and chains of elif into parts",
        ) from None
    if not e.frame.exits and not e.errors:
        _fall_off(e, definition)
    if not e.errors:
        try:
            _finish(e)
        except CompileError as error:
            e.report(error)
    if e.errors:
        raise _together(e.errors, name)
    return graph


def _fall_off(e: Emitter, definition: ast.FunctionDef) -> None:
    """Emit the implicit `return None` at the end of the body."""
    span = e.span(definition.body[-1])
    if e.result not in (None, T.NONE):
        e.report(
            CompileError(
                "Function was not annotated as having type None, but does not return along all "
                "paths",
                span,
                "return a value on every path, or raise",
            )
        )
        return
    statements.leave_function(e, e.b.constant(None, span), span)


def _together(errors: list[CompileError], name: str) -> CompileError:
    """Combine the errors of a function to one error that reports all of them."""
    for error in errors:
        if not error.chain:
            error.message = friendly(error.message)
            error.notes = tuple(map(friendly, error.notes))
            error.help = error.help and friendly(error.help)
    first = errors[0]
    if len(errors) > 1:
        first.notes += tuple(
            f"also {line}" if i == 0 else line
            for other in errors[1:]
            for i, line in enumerate(str(other).split("\n"))
        )
    return first.while_compiling(f"compiling {friendly(name)}")


def _finish(e: Emitter) -> None:
    """Add the result to the graph, and replace the constructs that only the emitter uses."""
    type = e.result or join_types(e.returns)
    (value,) = exits.eliminate(e, e.graph.block, e.returns, [type])
    e.graph.block.add_return(value)
    exits.flatten_regions(e.graph)
    for node in list(e.graph.walk()):
        if node.kind == EMPTY_LIST:
            _settle_empty_list(node)
    _sweep(e.graph.block)
    forks.lift(e.graph)


def join_types(returns: list[Node]) -> T.Type:
    """The type of the result of a function with these returns.  Raises CompileError."""
    joined = returns[0].inputs[0].type if returns else T.NONE
    for node in returns[1:]:
        type = node.inputs[0].type
        unified = T.unify(joined, type)
        if unified is None:
            raise CompileError(
                f"Previous return statement returned a value of type {joined.annotation} but this "
                f"return statement returns a value of type {type.annotation}",
                node.span,
                "return values of one type, or declare the result as a Union",
            )
        joined = unified
    return joined


def _settle_empty_list(node: Any) -> None:
    """Make an `[]` whose type was not determined by a use an ordinary list of tensors."""
    new = node.graph.create("prim::ListConstruct", (), (node.output.type,), like=node)
    new.insert_before(node)
    node.replace_with(new.output)


DISPOSABLE = {
    "prim::Constant",
    "prim::ListConstruct",
    "prim::Uninitialized",
    "prim::TupleUnpack",
    "prim::TupleConstruct",
    "prim::TupleIndex",
    "prim::unchecked_cast",
}
"""Kinds of nodes without effects, which are removed if their results are not used."""


def _sweep(block: Block) -> None:
    """Remove nodes of DISPOSABLE kinds that are not used, and casts that are not needed."""
    for node in block.nodes_reversed:
        for inner in node.blocks:
            _sweep(inner)
        if node.kind in DISPOSABLE and not any(v.uses for v in node.outputs):
            node.destroy()
        elif node.kind == "prim::unchecked_cast" and _is_widening(node):
            node.output.replace_all_uses_with(node.inputs[0])
            node.destroy()


def _is_widening(node: Node) -> bool:
    """Whether a cast is to a wider type, and every use accepts the value without it."""
    before, after = node.inputs[0].type, node.output.type
    if isinstance(before, T.TupleType) and not all(
        user.kind == "prim::Return"
        and user.block.owner is not None
        and user.block.owner.kind == "prim::If"
        for user, _ in node.output.uses
    ):
        return False
    return (
        T.is_subtype(before, after)
        and before != T.NONE
        and all(
            user.kind not in ("prim::TupleConstruct", "prim::ListConstruct", "prim::DictConstruct")
            for user, _ in node.output.uses
        )
    )
