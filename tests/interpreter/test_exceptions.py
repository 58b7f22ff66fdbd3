"""How errors of programs come out of a run: their classes, their script stack, on both engines."""

from __future__ import annotations

import io
import pickle

import pytest
from scriptlang.interpreter import engine as engines

import scriptlang as torch
from scriptlang.errors import script_stack
from scriptlang.jit import Error

ENGINES = engines.available()


class TooLoud(Exception):
    """An exception class of a program; a run makes none of its instances by its own `__init__`."""

    def __init__(self, volume: int, *, limit: int):
        raise AssertionError("no code of the class runs")


def scream(kind: int, xs: list[int]) -> int:
    if kind == 0:
        raise ValueError(f"kind {kind}")
    if kind == 1:
        raise TooLoud("very")
    if kind == 2:
        assert kind > 2, "too small"
    if kind == 3:
        return xs[7]
    if kind == 4:
        raise NotImplementedError
    return torch.ones([2, 3]).view([7]).dim()


def outer(kind: int, xs: list[int]) -> int:
    return scream(kind, xs) + 1


def failure(program, kind: int) -> Exception:
    with pytest.raises(Exception) as e:
        program(kind, [1, 2])
    return e.value


@pytest.fixture(params=ENGINES)
def programs(request):
    """The function as it was scripted, and after save and load."""
    scripted = torch.script(outer, engine=request.param)
    buffer = io.BytesIO()
    torch.save(scripted, buffer)
    return scripted, torch.load(buffer.getvalue(), engine=request.param)


@pytest.mark.parametrize(
    "kind, cls, name, text",
    [
        (0, ValueError, "builtins.ValueError", "kind 0"),
        (1, TooLoud, f"{__name__}.TooLoud", "very"),
        (2, AssertionError, "builtins.AssertionError", "too small"),
        (4, NotImplementedError, "builtins.NotImplementedError", ""),
    ],
)
def test_what_a_program_raises_is_its_class_and_an_error_of_scripts(
    programs, kind, cls, name, text
):
    for program in programs:
        error = failure(program, kind)
        assert isinstance(error, cls) and isinstance(error, Error)
        assert isinstance(error, RuntimeError)
        assert error.class_name == name and str(error) == text
        assert type(error).__name__ == cls.__name__


def test_what_an_operator_raises_is_its_class_and_a_runtime_error(programs):
    for program in programs:
        error = failure(program, 3)
        assert isinstance(error, IndexError) and isinstance(error, RuntimeError)
        assert not isinstance(error, Error) and "out of range" in str(error)
        assert type(failure(program, 5)) is RuntimeError


@pytest.mark.parametrize(
    "kind, line",
    [(0, 'raise ValueError(f"kind {kind}")'), (3, "xs[7]"), (5, "torch.ones([2, 3]).view([7])")],
)
def test_the_stack_has_the_lines_of_the_source(programs, kind, line):
    for program in programs:
        called, failed = script_stack(failure(program, kind))
        assert called.span.text == "scream(kind, xs)"
        assert failed.span.text == line and failed.function.endswith("scream")
        assert failed.span.source.name == __file__


def test_the_stack_is_shown_once(programs):
    for program in programs:
        error = failure(program, 1)
        shown = "\n".join([str(error), *getattr(error, "__notes__", ())])
        has_notes = hasattr(error, "add_note")  # from Python 3.11 on
        assert shown.count("script stack (outermost first)") == has_notes
        assert not hasattr(error, "__notes__") or 'raise TooLoud("very")' in error.__notes__[0]


def test_errors_are_pickled_with_class_and_stack(programs):
    error = failure(programs[0], 1)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == "very"
    assert [f.function for f in script_stack(again)] == [f.function for f in script_stack(error)]
