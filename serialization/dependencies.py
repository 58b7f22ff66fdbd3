"""Finds what a program consists of: its classes, enums, named tuples, interfaces and functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import types as T
from ..ir import Function, Graph
from ..objects import EnumValue, ScriptObject
from ..schema import Schema

NAMED = (T.ClassType, T.InterfaceType, T.EnumType)


class Dependencies:
    """Collects the named types and functions that types and functions refer to, in the order in
    which they are found.

    Bodies are compiled on the way, since only a compiled body shows what it refers to.
    """

    def __init__(self) -> None:
        self.types: list[T.Type] = []
        self.functions: list[Function] = []
        self._seen: set[Any] = set()
        self._pending: list[Any] = []

    def add(self, roots: Iterable[Any]) -> None:
        """Add types and functions, and all that they refer to."""
        self._pending += reversed(list(roots))
        while self._pending:
            item = self._pending.pop()
            if isinstance(item, Function):
                self._function(item)
            else:
                self._type(item)

    def _type(self, t: T.Type) -> None:
        if t in self._seen:
            return
        self._seen.add(t)
        self._later(t.contained)
        if isinstance(t, T.FunctionType):
            self._later([t.function])
        if isinstance(t, T.TupleType) and t.name:
            self.types.append(t)
        if not isinstance(t, NAMED):
            return
        self.types.append(t)
        if isinstance(t, T.ClassType):
            self._later([a.type for a in t.attributes])
            for method in t.methods.values():
                self._body(method)
        elif isinstance(t, T.InterfaceType):
            for schema in t.methods.values():
                self._later(types_of_schema(schema))

    def _function(self, function: Function) -> None:
        if function in self._seen or is_method(function):
            return
        self._seen.add(function)
        self.functions.append(function)
        self._body(function)

    def _body(self, function: Function) -> None:
        graph = function.graph
        self._later(types_of_schema(function.schema))
        self._later(contents_of_graph(graph))

    def _later(self, items: Iterable[Any]) -> None:
        self._pending += [i for i in reversed(list(items)) if i not in self._seen]


def is_method(function: Function) -> bool:
    """Whether a function is a method of the class of its first argument."""
    arguments = function.schema.arguments if function.schema else ()
    owner = arguments[0].type if arguments else None
    return isinstance(owner, T.ClassType) and any(m is function for m in owner.methods.values())


def types_of_schema(schema: Schema) -> list[T.Type]:
    return [a.type for a in (*schema.arguments, *schema.returns)]


def contents_of_graph(graph: Graph) -> list[Any]:
    """The types and functions that the nodes of a graph name.  Those of constants come last, since
    the position of a constant among the nodes has no meaning and may differ between equal
    programs."""
    found: dict[Any, None] = {}
    constants: list[Any] = []
    for node in graph.walk_all():
        if node.kind == "prim::Constant":
            constants += [node.output.type, *named_in(node.attributes["value"])]
            continue
        for v in node.outputs:
            if not isinstance(v.type, T.AtomType):
                found[v.type] = None
        called = node.attributes.get("function")
        if called is not None:
            found[called] = None
        for t in node.attributes.get("types", ()):
            found[t] = None
    return list(dict.fromkeys([*found, *constants]))


def named_in(value: Any) -> list[Any]:
    """The functions and types that a constant refers to."""
    if isinstance(value, Function):
        return [value]
    if isinstance(value, (EnumValue, ScriptObject)):
        return [value.type]
    if isinstance(value, (list, tuple)):
        return [item for v in value for item in named_in(v)]
    return []


def recursive_functions(types: Iterable[T.Type], functions: Iterable[Function]) -> list[Function]:
    """The methods and functions that call themselves, directly or through others."""
    methods = [m for t in types if isinstance(t, T.ClassType) for m in t.methods.values()]
    calls = {f: callees(f) for f in (*methods, *functions)}
    found = []
    for function in calls:
        seen, pending = set(), list(calls[function])
        while pending:
            called = pending.pop()
            if called not in seen:
                seen.add(called)
                pending += calls.get(called, ())
        if function in seen:
            found.append(function)
    return found


def callees(function: Function) -> list[Function]:
    """The functions and methods that a function calls."""
    found = []
    for node in function.graph.walk_all():
        if isinstance(node.attributes.get("function"), Function):
            found.append(node.attributes["function"])
        elif node.kind == "prim::CallMethod":
            method = getattr(node.inputs[0].type, "methods", {}).get(node.attributes["name"])
            found += [method] if isinstance(method, Function) else []
    return found
