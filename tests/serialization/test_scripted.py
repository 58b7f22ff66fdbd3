"""Programs that were compiled here survive save and load, and run in PyTorch as they run in
Python.
"""

import copy
import io
import warnings
from enum import Enum
from typing import Optional, Tuple

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


class Answer(Enum):
    YES = 1
    NO = 2


def joins(x: int, flag: bool) -> Tuple[int, Optional[int]]:
    """Branches that give one name narrower types than it has."""
    if flag:
        pair = (x, None)
    else:
        pair = (x + 1, x)
    wide: Optional[int] = x
    if flag:
        wide = None
    return (pair[0], pair[1] if wide is None else wide)


def answers(x: int) -> int:
    """An enum that nothing but constants names, and an item of what a call gives."""
    best = Answer.NO if x > 2 else Answer.YES
    return joins(x, best == Answer.NO)[0] + len([Answer.YES, best])


@pytest.mark.parametrize("function", [joins, answers, uses_a_class])
def test_the_second_save_gives_the_same_bytes(function):
    first = saved(function)
    again = io.BytesIO()
    scriptlang.save(scriptlang.load(first, engine="python"), again)
    assert again.getvalue() == first
