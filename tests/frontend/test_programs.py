"""The programs of programs.py and extension_programs.py give the same results as in CPython."""

from __future__ import annotations

import copy

import pytest
from scriptlang.frontend.python.script import script_function

import scriptlang
from scriptlang.irverify import verify
from tests.frontend import extension_programs, programs

RUNS = [
    pytest.param(f, args, id=f"{f.__name__}-{i}")
    for f, runs in programs.RUNS + extension_programs.RUNS
    for i, args in enumerate(runs)
]


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


@pytest.mark.parametrize(
    "function, args, error",
    [
        (programs.raises, (-2,), ValueError("negative: -2")),
        (programs.raises, (0,), RuntimeError("zero")),
        (programs.asserts, (0,), AssertionError("must be positive")),
        (programs.optional_asserted, (None,), AssertionError("")),
    ],
)
def test_raises_as_python(function, args, error):
    scripted = scriptlang.script(function, engine="python")
    with pytest.raises(type(error)) as caught:
        scripted(*args)
    assert str(error) in str(caught.value)


@pytest.mark.parametrize(
    "function, error",
    [
        (extension_programs.raises_with_keyword, extension_programs.Odd("text: 2", code=2)),
        (extension_programs.raises_with_name, ImportError("text", name="module")),
    ],
)
def test_keywords_are_no_part_of_a_message(function, error):
    scripted = scriptlang.script(function, engine="python")
    with pytest.raises(type(error)) as caught:
        scripted(2)
    assert str(caught.value).splitlines()[0] == str(error)


def test_an_enum_is_matched():
    scripted = scriptlang.script(enum_name, engine="python")
    assert scripted(True) == "r" and scripted(False) == "g"


def enum_name(red: bool) -> str:
    return extension_programs.match_enum(
        extension_programs.Color.RED if red else extension_programs.Color.GREEN
    )


def test_programs_beyond_pytorch_are_saved_as_plain_code(tmp_path):
    for function, runs in extension_programs.RUNS:
        path = tmp_path / f"{function.__name__}.pt"
        scriptlang.save(scriptlang.script(function), path)
        loaded = scriptlang.load(path, engine="python")
        for args in runs:
            assert loaded(*copy.deepcopy(args)) == function(*copy.deepcopy(args))
