"""From a Function to Code that can run: optimised and compiled once, and stored on the function.

The passes are only imported when a function needs them; those of a compiled archive do not.
"""

from __future__ import annotations

from .. import budgets
from ..building import alone, kept, uncollected
from ..ir import OPTIMIZED, Function, Graph, schema_of_graph
from .code import CODE, FUSED, Code


def code_of(function: Function) -> Code:
    """The code of a function after the passes that all functions get, made once.  The function's
    own graph is not changed."""
    return function.attributes.get(CODE) or make_code(function)


@uncollected
@alone
def make_code(function: Function) -> Code:
    """Compile a function and keep its code on it."""
    known = function.attributes.get(CODE)
    if known is not None:
        return known
    from ..passes.pipeline import optimize

    with budgets.use(function.budget, function.name):
        graph = function.graph.copy()
        optimize(graph)
        code = function.attributes[CODE] = compiled(graph, function)
    return code


def compiled(graph: Graph, function: Function) -> Code:
    """The code of a graph that is run in place of the function's own graph."""
    from .compiler import compile_graph

    schema = function.schema or schema_of_graph(function.name, graph)
    return compile_graph(graph, function.name, schema)


RUNNING = "running_code"
"""Attribute of a Function that holds the Code of its OPTIMIZED graph, or that of a compiled
archive."""


def is_compiled(function: Function) -> bool:
    """Whether engines run code that `optimize` or a compiled archive gave the function, not that of
    its own graph."""
    return RUNNING in function.attributes or OPTIMIZED in function.attributes


def running_code(function: Function) -> Code:
    """The code that engines run: that of the graph from `optimize` or of the compiled archive, if
    there is one, else that of the function's own graph."""
    attributes = function.attributes
    code = attributes.get(RUNNING)
    if code is None:
        graph = attributes.get(OPTIMIZED)
        if graph is None:
            return code_of(function)

        def make() -> Code:
            with budgets.use(function.budget, function.name):
                return compiled(graph, function)

        code = kept(attributes, RUNNING, make)
    return code


def fused_code(function: Function) -> Code:
    """`running_code` with pointwise operators in fused groups, for the native engine."""

    def make() -> Code:
        with budgets.use(function.budget, function.name):
            return make_fused(function)

    return kept(function.attributes, FUSED, make)


@uncollected
@alone
def make_fused(function: Function) -> Code:
    attributes = function.attributes
    if is_compiled(function) or CODE in attributes and not function.is_defined:
        return running_code(function)
    from ..passes.pipeline import optimize

    graph = function.graph.copy()
    optimize(graph)
    if fuse(graph):
        return compiled(graph, function)
    code = attributes.get(CODE)
    if code is None:
        code = attributes[CODE] = compiled(graph, function)
    return code


def fuse(graph: Graph) -> bool:
    """Put pointwise operators of an optimised graph in fused groups; return whether the graph
    changed."""
    from ..passes import fuse_pointwise, out_of_place, peephole

    changed = peephole.run_unrecorded(graph)
    if not fuse_pointwise.applies(graph):
        return changed
    out_of_place.run(graph)
    fuse_pointwise.run(graph)
    return True


@uncollected
@alone
def running_graph(function: Function, fused: bool) -> Graph:
    """A copy of the graph that an engine runs for a function.

    fused: with fused groups, as on the native engine.  A compiled archive holds only code, so the
    graph is made again from the function's own.
    """
    from ..passes import optimize as speed
    from ..passes.pipeline import optimize

    attributes = function.attributes
    if OPTIMIZED in attributes:
        return attributes[OPTIMIZED].copy()
    with budgets.use(function.budget, function.name):
        graph = function.graph.copy()
        optimize(graph)
        if RUNNING in attributes:
            speed.run(graph)
        elif fused:
            fuse(graph)
    return graph
