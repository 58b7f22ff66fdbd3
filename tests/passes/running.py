"""Graphs run as they are, without optimisation, and results compared to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scriptlang.interpreter.compiler import compile_graph
from scriptlang.interpreter.prepare import CODE
from scriptlang.interpreter.python_engine import PythonEngine

from scriptlang.ir import Function, Graph, schema_of_graph
from scriptlang.tensors import Tensor


def run_graph(graph: Graph, args) -> Any:
    """What a graph gives for arguments, on the python engine, node by node as it stands."""
    schema = schema_of_graph("f", graph)
    function = Function("f", schema, graph)
    function.attributes[CODE] = compile_graph(graph.copy(), "f", schema)
    return PythonEngine().run(function, list(args))


def outcome(graph: Graph, args) -> tuple:
    """What can be seen of a run: the value or the exception, what the arguments have become, and
    which of all these share memory."""
    args = list(args)
    try:
        value = run_graph(graph, args)
        result = "value", plain(value)
    except Exception as e:
        value, result = None, ("error", type(e).__name__, str(e).split("\n")[0])
    return *result, plain(args), sharing([value, args])


def sharing(value: Any) -> tuple:
    """Pairs of positions, in order of discovery, of tensors and lists that share memory."""
    found: list = []

    def walk(v: Any) -> None:
        if isinstance(v, (Tensor, list)):
            found.append(v)
        if isinstance(v, (list, tuple)):
            for part in v:
                walk(part)

    walk(value)
    return tuple(
        (i, j)
        for i, a in enumerate(found)
        for j, b in enumerate(found[:i])
        if a is b
        and isinstance(a, list)
        or isinstance(a, Tensor)
        and isinstance(b, Tensor)
        and np.shares_memory(a.numpy(), b.numpy())
    )


def plain(value: Any) -> Any:
    """A value as nested tuples that compare by type and bits: NaN is NaN, 0.0 is not -0.0."""
    if isinstance(value, Tensor):
        array = value.numpy()
        return "tensor", str(array.dtype), array.shape, array.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(map(plain, value))
    if isinstance(value, dict):
        return "dict", tuple((plain(k), plain(v)) for k, v in value.items())
    return type(value).__name__, repr(value)
