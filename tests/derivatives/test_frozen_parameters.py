"""Parameters whose `requires_grad` changes between calls of a program."""

from __future__ import annotations

import pytest
from scriptlang.interpreter.engine import available

import scriptlang as sl
from scriptlang import nn


class Product(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(sl.ones(3)), nn.Parameter(sl.ones(3))

    def forward(self, x):
        return (x * self.a * self.b).sum()

    @sl.jit.export
    def by_a(self, x: sl.Tensor) -> sl.Tensor:
        found = torch.autograd.grad([(x * self.a * self.b).sum()], [self.a])[0]
        assert found is not None
        return found


def gradients(program, x):
    program.zero_grad()
    program(x).backward()
    return [None if p.grad is None else p.grad.tolist() for p in (program.a, program.b)]


@pytest.mark.parametrize("engine", available())
def test_calls_follow_the_flags(engine):
    program, x = sl.script(Product(), engine=engine), sl.full((3,), 2.0)
    both = [[2.0] * 3] * 2
    list(program.parameters())
    assert gradients(program, x) == both
    program.a.requires_grad_(False)
    assert gradients(program, x) == [None, [2.0] * 3]
    program.a.requires_grad_(True)
    assert gradients(program, x) == both
    program.b.requires_grad = False
    assert gradients(program, x) == [[2.0] * 3, None]


@pytest.mark.parametrize("engine", available())
def test_programs_that_ask_follow_the_flags(engine):
    program, x = sl.script(Product(), engine=engine), sl.full((3,), 2.0)
    for _ in range(2):
        assert program.by_a(x).tolist() == [2.0] * 3
        program.a.requires_grad_(False)
        with pytest.raises(
            RuntimeError, match="One of the differentiated Tensors does not require"
        ):
            program.by_a(x)
        program.a.requires_grad_(True)


@pytest.mark.parametrize("engine", available())
def test_who_has_one_parameter_gets_all_gradients(engine):
    program, x = sl.script(Product(), engine=engine), sl.full((3,), 2.0)
    program.a.requires_grad_(False)
    y = program(x)
    assert y.requires_grad
    y.backward()
    assert program.a.grad is None
    assert program.b.grad.tolist() == [2.0] * 3
