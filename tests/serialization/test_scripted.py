"""Programs that were compiled here survive save and load, and run in PyTorch as they run in
Python.
"""

import copy
import io
import warnings

import pytest

import scriptlang
from tests.frontend import programs

RUNS = {f.__name__: (f, runs) for f, runs in programs.RUNS}


def saved(function) -> bytes:
    file = io.BytesIO()
    scriptlang.save(scriptlang.script(function, engine="python"), file)
    return file.getvalue()


@pytest.mark.parametrize("name", RUNS)
def test_loads_and_runs(name):
    function, runs = RUNS[name]
    module = scriptlang.load(saved(function), engine="python")
    for args in runs:
        assert module(*copy.deepcopy(args)) == function(*copy.deepcopy(args))


@pytest.mark.oracle
@pytest.mark.parametrize("name", [n for n in RUNS if n != "factorial"])
def test_runs_in_pytorch(name):
    """All but the recursive one, which PyTorch does not compile."""
    import torch

    function, runs = RUNS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.jit.load(io.BytesIO(saved(function)))
    for args in runs:
        assert str(module(*copy.deepcopy(args))) == str(function(*copy.deepcopy(args)))


def test_a_class_and_its_methods():
    text = scriptlang.script(uses_a_class)
    module = scriptlang.load(saved(uses_a_class), engine="python")
    assert module(5) == uses_a_class(5) == text(5)
    assert "Tally" in str(module.graph)


class Tally:
    """Counts, with a list and a method that calls another."""

    def __init__(self, start: int):
        self.total = start
        self.steps = [start]

    def add(self, n: int) -> None:
        self.total += n
        self.steps.append(n)

    def twice(self, n: int) -> int:
        self.add(n)
        self.add(n)
        return self.total


def uses_a_class(n: int) -> int:
    tally = Tally(n)
    for i in range(n):
        tally.add(i)
    return tally.twice(3) + len(tally.steps)
