"""Finds the submodule of an operator: the attribute names from the called module to it.

    module_path(function, node.callers)         "layer1.0.conv1"

An inlined node knows the calls through which it was inlined. Each call is a node in the graph of
its function, where its object is read from `self` by attribute names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ir import Function, Graph, Value
from ..passes.inline import callee

CALLS = "observed_calls"
"""Attribute of a Function: {(callee's name, id of the call's span): (path from self, callee)}."""

Callers = tuple[tuple[str, Any], ...]


def module_path(function: Function, callers: Callers) -> str:
    """The path from the object of `function` to the node; "" for the object itself.

    If a call can no longer be found, as in a frozen module, class names stand for the rest of the
    path."""
    path: list[str] = []
    for depth, (name, span) in enumerate(callers):
        found = calls_of(function).get((name, id(span)))
        if found is None:
            return ".".join([*path, *class_names(callers[depth:])])
        relative, function = found
        path += [relative] if relative else []
    return ".".join(path)


def class_names(callers: Callers) -> Iterable[str]:
    """The class names of calls: `Block` for `__torch__.models.___torch_mangle_3.Block.forward`."""
    for name, _ in callers:
        owner, _, method = name.rpartition(".")
        short = owner.rpartition(".")[2]
        if short and not short.startswith("__") and short[:1].isupper():
            yield short if method == "forward" else f"{short}.{method}"


def calls_of(function: Function) -> dict[tuple[str, int], tuple[str, Function]]:
    known = function.attributes.get(CALLS)
    if known is None:
        known = function.attributes[CALLS] = find_calls(function.graph)
    return known


def find_calls(graph: Graph) -> dict[tuple[str, int], tuple[str, Function]]:
    paths: dict[Value, str] = dict.fromkeys(graph.inputs[:1], "")
    found: dict[tuple[str, int], tuple[str, Function]] = {}
    for node in graph.walk():
        if node.kind == "prim::GetAttr" and node.inputs[0] in paths:
            path = paths[node.inputs[0]]
            name = str(node.attributes["name"])
            paths[node.output] = f"{path}.{name}" if path else name
        elif node.kind in ("prim::CallMethod", "prim::CallFunction"):
            called = callee(node)
            owner = paths.get(node.inputs[0], "") if node.inputs else ""
            if called is not None:
                path = owner if node.kind == "prim::CallMethod" else ""
                found[called.name, id(node.span)] = path, called
    return found
