"""From a Function to Code that can run: optimised and compiled once, kept on the function."""

from __future__ import annotations

from ..building import uncollected
from ..ir import Function, schema_of_graph
from ..passes.optimize import OPTIMIZED
from ..passes.pipeline import optimize
from .code import Code
from .compiler import compile_graph

CODE = "code"
"""Attribute of a Function that holds its Code.  Functions read from bytecode come with it."""


def code_of(function: Function) -> Code:
    """The optimised code of a function.  The function's own graph stays as it is."""
    return function.attributes.get(CODE) or make_code(function)


@uncollected
def make_code(function: Function) -> Code:
    """Compile a function and keep its code on it."""
    graph = function.graph.copy()
    optimize(graph)
    schema = function.schema or schema_of_graph(function.name, graph)
    code = function.attributes[CODE] = compile_graph(graph, function.name, schema)
    return code


RUNNING = "running_code"
"""Attribute of a Function that holds the Code of its OPTIMIZED graph."""


def running_code(function: Function) -> Code:
    """What engines run: the code of the graph that `optimize` made, else that of the function."""
    graph = function.attributes.get(OPTIMIZED)
    if graph is None:
        return code_of(function)
    code = function.attributes.get(RUNNING)
    if code is None:
        schema = function.schema or schema_of_graph(function.name, graph)
        code = function.attributes[RUNNING] = compile_graph(graph, function.name, schema)
    return code
