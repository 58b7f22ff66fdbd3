"""Every graph that a test compiles is lawful, and prints as a text that reads back as it was.

`watch()` is called once, by conftest.py: from then on the graph of each function that is made into
code, as it was written and as the passes left it, goes through `check`.  A text that was checked
before is not read again, one of more than MOST lines only with SCRIPTLANG_ROUND_TRIP=all.
"""

from __future__ import annotations

import os

from scriptlang import types as T
from scriptlang.ir import Graph
from scriptlang.irverify import verify

MOST = 120
"""Lines of the longest graph that is read back; a long one shows little that short ones do not."""

_checked: set[int] = set()


class NoRoundTrip(AssertionError):
    """The text of a graph reads as something else."""


def watch() -> None:
    """Check the graphs of every function that is compiled from here on."""
    from scriptlang.interpreter import compiler, prepare

    def make_code(function):
        check(function.graph)
        return inner(function)

    def compile_graph(graph, name, schema):
        check(graph)
        return compile(graph, name, schema)

    inner, compile = prepare.make_code, compiler.compile_graph
    prepare.make_code, compiler.compile_graph = make_code, compile_graph


def check(graph: Graph) -> None:
    """Verify a graph, and that its text reads back as a graph with the same text."""
    from scriptlang.irtext import parse_graph
    from scriptlang.ops import table

    verify(graph)
    text = str(graph)
    if hash(text) in _checked:
        return
    if text.count("\n") > MOST and os.environ.get("SCRIPTLANG_ROUND_TRIP") != "all":
        return
    _checked.add(hash(text))
    named = named_types(graph)
    again = parse_graph(
        text,
        overloads=lambda kind: [o.schema for o in table.overloads(kind)],
        resolve=dict(named).get,
    )
    # The text does not tell types of one name apart, and leaves out the names of named tuples.
    if len(dict(named)) == len(set(named)) and not any(is_named_tuple(t) for _, t in named):
        verify(again)
    if str(again) != text:
        raise NoRoundTrip(f"this graph\n{text}reads back as\n{again}")


def is_named_tuple(t: T.Type) -> bool:
    return isinstance(t, T.TupleType) and t.name is not None


def named_types(graph: Graph) -> list[tuple[str, T.Type]]:
    """(name, type) of the classes, interfaces, enums and named tuples of a graph."""
    values = [v for n in graph.walk() for v in (*n.inputs, *n.outputs)] + list(graph.inputs)
    return [
        (part.name, part)
        for v in values
        for part in v.type.walk()
        if getattr(part, "name", None) and not isinstance(part, T.VarType)
    ]
