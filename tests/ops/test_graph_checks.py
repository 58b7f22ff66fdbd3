"""What straight graphs of archives ask of a call, on both engines: are_like and others."""

from __future__ import annotations

import pytest
from scriptlang.interpreter.engine import available, engine

import scriptlang
from scriptlang import types as T
from scriptlang.ir import Function, Graph, schema_of_graph
from scriptlang.ops import table

ENGINES = available()


def asked(which: str, name: str, *groups, expected: list[int] | None = None):
    """The answer about lists of tensors, and a list of ints."""
    graph = Graph("f")
    given = [t for group in groups for t in group]
    parameters = iter([graph.block.add_parameter(T.TENSOR) for _ in given])
    lists = [
        graph.insert(
            "prim::ListConstruct", [next(parameters) for _ in group], [T.ListType(T.TENSOR)]
        ).output
        for group in groups
    ]
    if expected is not None:
        lists.append(graph.constant(expected, T.ListType(T.INT)))
    operator = table.find(f"scriptlang::{name}")
    node = graph.insert(f"scriptlang::{name}", lists, [T.BOOL], schema=operator.schema)
    graph.block.add_return(node.output)
    return engine(which).run(Function("f", schema_of_graph("f", graph), graph), given)


@pytest.mark.parametrize("which", ENGINES)
def test_are_like(which):
    x, y = scriptlang.zeros(2, 3), scriptlang.zeros(3, dtype=scriptlang.int64)
    for expected, answer in (
        ([6, 2, 2, 3, 4, 1, 3], True),
        ([6, 2, -1, -2, 4, 1, -2], True),
        ([6, 2, -1, -2, 4, 1, -1], False),
        ([7, 2, 2, 3, 4, 1, 3], False),
        ([6, 2, 2, 4, 4, 1, 3], False),
        ([6, 2, 2, 3, 4, 2, 3, 1], False),
        ([6, 2, 2, 3], False),
        ([], False),
    ):
        assert asked(which, "are_like", [x, y], expected=expected) is answer, expected
    assert asked(which, "are_like", [], expected=[]) is True
    one = scriptlang.zeros(1)
    assert asked(which, "are_like", [one], expected=[6, 1, -1]) is False
    assert asked(which, "are_like", [one], expected=[6, 1, 1]) is True


@pytest.mark.parametrize("which", ENGINES)
def test_are_apart(which):
    x, y = scriptlang.zeros(6), scriptlang.zeros(6)
    assert asked(which, "are_apart", [x], [y, y[:3]]) is True
    assert asked(which, "are_apart", [x, y], []) is True
    assert asked(which, "are_apart", [x], [x[5:]]) is False
    assert asked(which, "are_apart", [x, x[2:4]], [y]) is False
    assert asked(which, "are_apart", [x[:3]], [x[3:]]) is True
    assert asked(which, "are_apart", [x[:3]], [x[2:]]) is False
    assert asked(which, "are_apart", [x], [x[:0]]) is True
    assert asked(which, "are_apart", [x[:1].expand(4)], []) is False
    assert asked(which, "are_apart", [], [x, x]) is True


@pytest.mark.parametrize("which", ENGINES)
def test_are_equal(which):
    for values, answer in (
        ((1, 1), True),
        ((1, 2), False),
        ((1, True), False),
        ((1, 1.0), False),
        (("a", "a", 2.5, 2.5), True),
        (("a", "a", 2.5, 2.0), False),
        (([1, 2], [1, 2]), True),
        (([1, 2], [1, 3]), False),
        ((None, None), True),
        ((None, 1), False),
        ((), True),
    ):
        graph = Graph("f")
        operator = table.find("scriptlang::are_equal")
        node = graph.insert(
            "scriptlang::are_equal",
            [graph.constant(v) for v in values],
            [T.BOOL],
            schema=operator.schema,
        )
        graph.block.add_return(node.output)
        f = Function("f", schema_of_graph("f", graph), graph)
        assert engine(which).run(f, []) is answer, values
