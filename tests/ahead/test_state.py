"""Functions made ahead do not lose what a program does to containers of its module."""

from __future__ import annotations

from typing import Dict, List

import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import nn, value_and_grad


class Keeping(nn.Module):
    sizes: List[int]
    nested: List[List[int]]
    named: Dict[str, int]
    tensors: List[scriptlang.Tensor]

    def __init__(self, which: str):
        super().__init__()
        self.which = which
        self.weight = nn.Parameter(scriptlang.ones(2))
        self.sizes = [1]
        self.nested = [[1]]
        self.named = {"a": 1}
        self.tensors = [scriptlang.ones(2)]

    def forward(self, x):
        if self.which == "list":
            self.sizes.append(1)
        elif self.which == "nested":
            self.nested[0].append(1)
        elif self.which == "dict":
            self.named["a"] += 1
        else:
            self.tensors.append(self.tensors[0])
        count = len(self.sizes) + len(self.nested[0]) + self.named["a"] + len(self.tensors)
        return (x * self.weight * count).sum()


@pytest.mark.parametrize("which", ["list", "nested", "dict", "tensors"])
@pytest.mark.parametrize("engine", available())
def test_containers_that_the_program_changes(which, engine):
    module = scriptlang.script(Keeping(which), engine=engine)
    step = value_and_grad(module)
    x = scriptlang.ones(2)
    assert [step(x)[0].item() for _ in range(3)] == [10, 12, 14]
    assert "list of a module is changed" in step.why(x)
    assert module(x).item() == 16


@pytest.mark.parametrize("engine", available())
def test_containers_that_the_program_only_reads(engine):
    class Reading(Keeping):
        def forward(self, x):
            sizes = list(self.sizes)
            sizes.append(1)
            return (x * self.weight * self.tensors[0] * len(sizes)).sum()

    step = value_and_grad(scriptlang.script(Reading(""), engine=engine))
    x = scriptlang.ones(2)
    assert step(x)[0].item() == 4 and step.why(x) == ""
