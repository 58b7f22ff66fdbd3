"""The programs of programs.py give on the python engine what CPython says."""

from __future__ import annotations

import copy

import pytest

import scriptlang
from scriptlang.frontend.script import script_function
from scriptlang.ir import verify
from tests.frontend import programs

RUNS = [pytest.param(f, args, id=f"{f.__name__}-{i}")
        for f, runs in programs.RUNS for i, args in enumerate(runs)]


@pytest.mark.parametrize("function, args", RUNS)
def test_equals_python(function, args):
    scripted = scriptlang.script(function, engine="python")
    expected = function(*copy.deepcopy(args))
    found = scripted(*copy.deepcopy(args))
    assert found == expected
    assert type(found) is type(expected) or isinstance(found, tuple)


@pytest.mark.parametrize("function", [f for f, _ in programs.RUNS], ids=lambda f: f.__name__)
def test_graph_is_legal_and_placed(function):
    graph = script_function(function).graph
    verify(graph)
    for node in graph.walk():
        assert node.span is not None and node.span.source.name.endswith("programs.py")


@pytest.mark.parametrize("function, args, error", [
    (programs.raises, (-2,), ValueError("negative: -2")),
    (programs.raises, (0,), RuntimeError("zero")),
    (programs.asserts, (0,), AssertionError("must be positive")),
    (programs.optional_asserted, (None,), AssertionError("")),
])
def test_raises_as_python(function, args, error):
    scripted = scriptlang.script(function, engine="python")
    with pytest.raises(type(error)) as caught:
        scripted(*args)
    assert str(error) in str(caught.value)

