"""From a Function to Code that can run: optimised and compiled once, kept on the function."""

from __future__ import annotations

from ..building import uncollected
from ..ir import Function, Graph, schema_of_graph
from ..passes import fuse_pointwise, out_of_place
from ..passes.optimize import OPTIMIZED
from ..passes.pipeline import optimize
from .code import CODE, FUSED, Code
from .compiler import compile_graph


def code_of(function: Function) -> Code:
    """The optimised code of a function.  The function's own graph stays as it is."""
    return function.attributes.get(CODE) or make_code(function)


@uncollected
def make_code(function: Function) -> Code:
    """Compile a function and keep its code on it."""
    graph = function.graph.copy()
    optimize(graph)
    code = function.attributes[CODE] = compiled(graph, function)
    return code


def compiled(graph: Graph, function: Function) -> Code:
    """The code of a graph that stands for a function's own."""
    schema = function.schema or schema_of_graph(function.name, graph)
    return compile_graph(graph, function.name, schema)


RUNNING = "running_code"
"""Attribute of a Function that holds the Code of its OPTIMIZED graph."""


def running_code(function: Function) -> Code:
    """What engines run: the code of the graph that `optimize` made, else that of the function."""
    graph = function.attributes.get(OPTIMIZED)
    if graph is None:
        return code_of(function)
    code = function.attributes.get(RUNNING)
    if code is None:
        code = function.attributes[RUNNING] = compiled(graph, function)
    return code


def fused_code(function: Function) -> Code:
    """`running_code` with pointwise operators in groups, for an engine that does these at once."""
    code = function.attributes.get(FUSED)
    if code is None:
        code = function.attributes[FUSED] = make_fused(function)
    return code


@uncollected
def make_fused(function: Function) -> Code:
    attributes = function.attributes
    if OPTIMIZED in attributes or CODE in attributes and not function.is_defined:
        return running_code(function)
    graph = function.graph.copy()
    optimize(graph)
    if not fuse_pointwise.applies(graph):
        code = attributes.get(CODE)
        if code is None:
            code = attributes[CODE] = compiled(graph, function)
        return code
    out_of_place.run(graph)
    fuse_pointwise.run(graph)
    return compiled(graph, function)
