"""What operators say of operands that share memory with what they write, on both engines."""

from __future__ import annotations

import pytest
from scriptlang.frontend.python.script import compile_text
from scriptlang.interpreter import native

import scriptlang
from scriptlang.programs.module import ScriptFunction

ENGINES = ["python"] if native.why_absent() else ["python", "native"]

REFUSED = [
    "x[1:] += x[:-1]",
    "x.add_(x.t())",
    "x.mul_(x[0])",
    "x[0, 0:1] = x[0, 0]",
    "x[1:] = x[:-1]",
    "x[None] = x",
    "x[x > 0] = x",
    "x.index_put_([k[:2]], x[:2])",
    "k[k] = k",
    "x.copy_(x.t())",
    "torch.add(x[1:], x[:-1], out=x[1:])",
    "torch.mul(x, x.t(), out=x)",
    "torch.exp(x, out=x.t())",
    "torch.cumsum(x, 0, out=x.t())",
    "torch.lerp(x, x, x[0], out=x)",
    "torch.cat([x, x], 0, out=x)",
    "torch.gather(x, 0, k[None], out=x[:1])",
    "torch.take(x, k, out=x[0])",
    "x.scatter_(0, k[None], x)",
    "x.scatter_add_(0, k[None], x)",
    "x.index_add_(0, k, x)",
    "x.index_copy_(0, k, x.t())",
    "x.put_(k, x[0])",
    "k.index_fill_(0, k, 1)",
    "k.scatter_(0, k, 1)",
]
ALLOWED = [
    "x += x",
    "x.add_(x)",
    "x[0] += x[1]",
    "x[:, 0] += x[:, 1]",
    "x = x.copy_(x)",
    "x[1:] = x[:-1].clone()",
    "x[x > 99] = x[0, 0]",
    "x.add_(x[:, :1])",
    "x[0] = x[2]",
    "torch.mul(x, x, out=x)",
    "torch.add(x[1:], 1, out=x[:-1])",
    "torch.cumsum(x, 0, out=x)",
    "torch.sum(x, 0, out=x[0])",
    "torch.add(x[0], x[1], out=x[2])",
    "torch.matmul(x, x, out=x.t())",
]


def function(line: str, engine: str) -> ScriptFunction:
    text = f"def f(x, k):\n    {line}\n    return x\n"
    return ScriptFunction(compile_text(text, {"torch": scriptlang})["f"], engine)


def arguments() -> tuple:
    return scriptlang.arange(9.0).reshape(3, 3), scriptlang.tensor([2, 0, 1])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("line", REFUSED)
def test_parts_that_share_memory_are_refused(line, engine):
    with pytest.raises(RuntimeError, match="single memory location"):
        function(line, engine)(*arguments())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("line", ALLOWED)
def test_what_is_apart_or_the_same_is_written(line, engine):
    function(line, engine)(*arguments())


@pytest.mark.oracle
@pytest.mark.parametrize("line", REFUSED + ALLOWED)
def test_pytorch_says_the_same(line):
    import torch

    unit = torch.jit.CompilationUnit(f"def f(x, k):\n    {line}\n    return x\n")
    given = torch.arange(9.0).reshape(3, 3), torch.tensor([2, 0, 1])
    if line in ALLOWED:
        unit.f(*given)
    else:
        with pytest.raises(RuntimeError, match="single memory location"):
            unit.f(*given)


@pytest.mark.parametrize("engine", ENGINES)
def test_shuffles_by_one_are_copies(engine):
    for line in (
        "torch.pixel_shuffle(y, 1)",
        "torch.channel_shuffle(y, 1)",
        "torch.pixel_unshuffle(y, 1)",
    ):
        run = function(f"y = x[None]\n    z = {line}\n    z.zero_()", engine)
        assert run(*arguments())[1].tolist() == [3, 4, 5]


@pytest.mark.parametrize("engine", ENGINES)
def test_empty_views_may_begin_behind_their_memory(engine):
    x = scriptlang.empty(4, 2, 0)[1:]
    assert function("x = x + 1", engine)(x, scriptlang.tensor([1])).shape == (3, 2, 0)
