"""`trace` records what ran, keeps sizes symbolic, and warns if a recording differs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scriptlang.frontend.tracing.trace import TracerWarning, trace_function
from scriptlang.frontend.tracing.trace_checks import TracingCheckError

import scriptlang
from scriptlang.errors import CompileError
from scriptlang.irverify import verify


def tensor(*shape: int, start: float = 0.0):
    count = int(np.prod(shape))
    return scriptlang.from_numpy(np.arange(start, start + count, dtype=np.float32).reshape(shape))


def kinds(function) -> list[str]:
    return [node.kind for node in function.graph.walk() if node.kind != "prim::Constant"]


def test_operators_are_recorded_in_order():
    def f(x, y):
        return (x + y).relu() * 2

    function = trace_function(f, (tensor(2, 2), tensor(2, 2)))
    verify(function.graph)
    assert kinds(function) == ["aten::add", "aten::relu", "aten::mul"]
    assert [a.name for a in function.schema.arguments] == ["x", "y"]


def test_sizes_stay_symbolic():
    def f(x):
        return x.reshape(x.size(0) * 2, -1) + x.shape[1] / 2

    traced = scriptlang.trace(f, tensor(2, 4), engine="python")
    wider = tensor(3, 6)
    assert traced(wider).tolist() == f(wider).tolist()


def test_tensors_from_outside_are_constants():
    weight = tensor(3)

    def f(x):
        return x * weight

    function = trace_function(f, (tensor(2, 3),))
    constants = [n.attributes["value"] for n in function.graph.walk() if n.kind == "prim::Constant"]
    assert any(value is weight for value in constants)


def test_in_place_and_views():
    def f(x):
        y = x.clone()
        y[0] = 1
        y[:, 1].add_(5)
        y += x
        return y

    traced = scriptlang.trace(f, tensor(2, 3), engine="python")
    other = tensor(2, 3, start=7.0)
    assert traced(other).tolist() == f(other).tolist()


def test_the_example_is_left_as_it_was():
    x = tensor(2)
    trace_function(lambda x: x.add_(1), (x,))
    assert x.tolist() == [0.0, 1.0]


def test_containers_go_in_and_out():
    def f(pair, named):
        a, (b, c) = pair
        return {"sum": a + b, "more": named["k"]}, [c, a], (b, (c,))

    args = ((tensor(2), (tensor(2), tensor(2, start=3.0))), {"k": tensor(1)})
    traced = scriptlang.trace(f, args, engine="python", strict=False)
    found, expected = traced(*args), f(*args)
    assert found[0]["sum"].tolist() == expected[0]["sum"].tolist()
    assert [t.tolist() for t in found[1]] == [t.tolist() for t in expected[1]]
    assert found[2][1][0].tolist() == expected[2][1][0].tolist()


def test_lists_of_results_are_taken_apart():
    def f(x):
        a, b = x.split(1)
        first, second = x.unbind(0)
        return a + b, first - second

    traced = scriptlang.trace(f, tensor(2, 3), engine="python")
    x = tensor(2, 3, start=4.0)
    assert [t.tolist() for t in traced(x)] == [t.tolist() for t in f(x)]


def scale(x: scriptlang.Tensor, by: int) -> scriptlang.Tensor:
    if by > 2:
        return x * by
    return x


def test_scripted_functions_are_calls():
    scripted = scriptlang.script(scale, engine="python")
    function = trace_function(lambda x: scripted(x, 3) + scripted(x, by=1), (tensor(2),))
    assert kinds(function) == ["prim::CallFunction", "prim::CallFunction", "aten::add"]


def test_control_flow_is_not_recorded_and_the_check_says_so():
    def f(x):
        return x * 2 if scriptlang.jit.is_tracing() else x

    with pytest.warns(TracerWarning, match="does not match"):
        scriptlang.trace(f, tensor(2), engine="python")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scriptlang.trace(f, tensor(2), engine="python", check_trace=False)


def test_a_number_that_changes_from_call_to_call_is_refused():
    calls = []

    def f(x):
        calls.append(1)
        return x * len(calls)

    with pytest.raises(TracingCheckError, match="Graphs differed across invocations"):
        scriptlang.trace(f, tensor(2), engine="python")


def test_places_are_those_of_the_traced_function():
    def f(x):
        return x.relu()

    node = next(n for n in trace_function(f, (tensor(2),)).graph.walk() if n.kind == "aten::relu")
    assert node.span.text == "return x.relu()"
    assert node.span.source.name == __file__


def test_refused_inputs_and_outputs():
    with pytest.raises(TypeError, match="cannot be traced"):
        scriptlang.trace(lambda x: x, (3,))
    with pytest.raises(CompileError, match="output from traced functions"):
        trace_function(lambda x: "text", (tensor(2),))


def test_a_failed_trace_leaves_no_tracer_behind():
    from scriptlang.ops.calling import dispatch

    def f(x):
        raise KeyError("inside")

    with pytest.raises(KeyError):
        trace_function(f, (tensor(2),))
    assert dispatch.calls.tracer is None
    assert type(tensor(2).shape[0]) is int


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda x: x + len(x), "Using len to get tensor shape"),
        (lambda x: sum(row for row in x), "Iterating over a tensor"),
        (lambda x: x + scriptlang.rand(2), "Trace had nondeterministic nodes"),
        (lambda x: x * int(x[0]), "Converting a tensor to a Python"),
    ],
)
def test_warnings_have_pytorchs_words(function, words):
    with pytest.warns(TracerWarning, match=words):
        scriptlang.trace(function, scriptlang.ones(2), engine="python")
