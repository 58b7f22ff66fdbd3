"""Graphs run as they are, without optimisation, and results compared to the bit."""

from __future__ import annotations

from typing import Any

from scriptlang.interpreter.compiler import compile_graph
from scriptlang.interpreter.prepare import CODE
from scriptlang.interpreter.python_engine import PythonEngine
from scriptlang.ir import Function, Graph, schema_of_graph
from scriptlang.tensor import Tensor


def run_graph(graph: Graph, args) -> Any:
    """What a graph gives for arguments, on the python engine, node by node as it stands."""
    schema = schema_of_graph("f", graph)
    function = Function("f", schema, graph)
    function.attributes[CODE] = compile_graph(graph.copy(), "f", schema)
    return PythonEngine().run(function, list(args))


def outcome(graph: Graph, args) -> tuple:
    """The value of a run, or the class and text of the exception that it raised, comparable."""
    try:
        return "value", plain(run_graph(graph, args))
    except Exception as e:
        return "error", type(e).__name__, str(e).split("\n")[0]


def plain(value: Any) -> Any:
    """A value as nested tuples that compare by type and bits (NaN equals NaN, 0.0 differs from -0.0)."""
    if isinstance(value, Tensor):
        array = value.numpy()
        return "tensor", str(array.dtype), array.shape, array.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(map(plain, value))
    if isinstance(value, dict):
        return "dict", tuple((plain(k), plain(v)) for k, v in value.items())
    return type(value).__name__, repr(value)
