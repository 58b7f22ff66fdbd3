"""Compiles the bodies of composite operators.  Importing this module sets the table's hook."""

from __future__ import annotations

from scriptlang import types as T
from scriptlang.ir import Function, Graph
from scriptlang.ops import table
from scriptlang.records import replace
from scriptlang.schema import Argument, Schema

from ..bodies.emit import emit_function
from ..syntax.definitions import source_of
from ..values.builder import Builder
from .resolver import PythonResolver


def compile_composite(operator: table.Operator) -> Function:
    """The body of a composite operator as a function with the schema of the operator.

    It is compiled when it is first used.
    """
    definition, source = source_of(operator.kernel)
    resolver = PythonResolver.of(operator.kernel)
    names = [
        a.arg
        for a in (*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs)
    ]
    arguments = tuple(
        replace(a, name=name) for a, name in zip(operator.schema.arguments, names, strict=True)
    )
    schema = replace(operator.schema, arguments=arguments)
    name = operator.qualified_name

    result = _result(operator.schema)
    one = replace(schema, returns=(result,))

    def define(function: Function) -> None:
        graph = emit_function(definition, source, resolver, name, one)
        if len(operator.schema.returns) != 1:
            _spread(graph)
        function.graph = graph

    return Function(name, operator.schema, define=define)


def _result(schema: Schema) -> Argument:
    """The result of a function for an operator: its only result, a tuple of several, or None."""
    if len(schema.returns) == 1:
        return schema.returns[0]
    types = tuple(r.type for r in schema.returns)
    return Argument("", T.TupleType(types) if types else T.NONE)


def _spread(graph: Graph) -> None:
    """Make a graph that returns a tuple return its elements, and one that returns None nothing."""
    value = graph.block.returns[0]
    graph.block.end.remove_inputs()
    if isinstance(value.type, T.TupleType):
        for part in Builder(graph).unpack_tuple(value, value.node.span):
            graph.block.add_return(part)


table.set_composite_compiler(compile_composite)
