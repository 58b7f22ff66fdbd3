"""`forward` of an autograd function runs without its context, but with all else that it does.

Where PyTorch is not installed, a class stands for its `torch.autograd.Function`.
"""

from __future__ import annotations

import sys
import types

import pytest

import scriptlang
from scriptlang.errors import CompileError

try:
    from torch.autograd import Function
except ImportError:

    class Function:
        @staticmethod
        def setup_context(ctx, inputs, output):
            pass


@pytest.fixture(autouse=True)
def known(monkeypatch):
    if "torch.autograd" not in sys.modules:
        monkeypatch.setitem(sys.modules, "torch.autograd", types.SimpleNamespace(Function=Function))


class Context:
    """Takes whatever a `forward` gives to its context."""

    def save_for_backward(self, *tensors):
        pass


class Keeps(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.n = x.add_(1)
        return x * 2


class Saves(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.mul_(3), x, y := x + 1)
        return x * y


class KeepsTwice(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = y = x.add_(1)
        ctx.a, ctx.b = (x.add_(1), x.add_(1))
        ctx.later = lambda: x.add_(100)
        ctx.some = (x.add_(100) for _ in [1])
        ctx.sizes = (len(x.size()), type(x), x.sub_(5).shape[0], f"{x.mul_(2).dim()}")
        ctx.k: int = 3
        ctx.list = list(x.add_(i) for i in range(3))
        return x * 2 + y


class InABranch(Function):
    @staticmethod
    def forward(ctx, x):
        if x.dim() > 0:
            ctx.n = -x.add_(1)
        else:
            ctx.n = x.size()
        return x * 2


class Types(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kind = type(x)
        ctx.name = {"kind": type(x).__name__, "set": {1, 2}}
        return x * 2


def keeps(x):
    return Keeps.apply(x)


def saves(x):
    return Saves.apply(x)


def keeps_twice(x):
    return KeepsTwice.apply(x)


def in_a_branch(x):
    return InABranch.apply(x)


def types_of(x):
    return Types.apply(x)


@pytest.mark.parametrize(
    "program, cls",
    [
        (keeps, Keeps),
        (saves, Saves),
        (keeps_twice, KeepsTwice),
        (in_a_branch, InABranch),
        (types_of, Types),
    ],
)
def test_what_the_context_is_given_is_computed(program, cls):
    x, y = scriptlang.ones(2), scriptlang.ones(2)
    found = scriptlang.script(program, engine="python")(x)
    expected = cls.forward(Context(), y)
    assert found.tolist() == expected.tolist()
    assert x.tolist() == y.tolist()


class WritesAfter(Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        output.add_(1)


class KeepsAfter(Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.n = x.dim()
        ctx.save_for_backward(x, output)


def writes_after(x):
    return WritesAfter.apply(x)


def keeps_after(x):
    return KeepsAfter.apply(x)


def test_a_context_set_up_apart_writes_to_no_tensor():
    assert scriptlang.script(keeps_after)(scriptlang.ones(2)).tolist() == [2, 2]
    with pytest.raises(CompileError, match="setup_context of an autograd function writes") as error:
        scriptlang.script(writes_after)
    assert error.value.span.text == "output.add_(1)" and error.value.help
