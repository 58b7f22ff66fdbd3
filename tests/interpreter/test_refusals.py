"""Asking what else is wrong with a refused call has no effects of its own."""

from __future__ import annotations

import pytest

import scriptlang
from scriptlang import Tensor, library
from scriptlang.jit import CompilationUnit


@pytest.mark.parametrize("program", ["x.bernoulli()", "x.multinomial(2)", "torch.normal(x, 1.0)"])
def test_refused_random_calls_draw_no_numbers(program):
    unit = CompilationUnit(f"def f(x: Tensor):\n    return {program}\n")
    run = type(unit.f)(unit.f._function, "python")
    scriptlang.manual_seed(3)
    want = scriptlang.rand(4).tolist()
    scriptlang.manual_seed(3)
    with pytest.raises(RuntimeError):
        run(scriptlang.ones(3, dtype=scriptlang.int64))
    assert scriptlang.rand(4).tolist() == want


def test_functions_of_users_are_called_once():
    calls = []

    @library.custom_op("refusals::odd", mutates_args=())
    def odd(x: Tensor) -> Tensor:
        calls.append(x)
        raise NotImplementedError("\"odd\" not implemented for 'Float'")

    @scriptlang.script
    def program(x: Tensor) -> Tensor:
        return scriptlang.ops.refusals.odd(x)

    run = type(program)(program._function, "python")
    with pytest.raises(NotImplementedError, match="odd"):
        run(scriptlang.ones(2))
    assert len(calls) == 1
