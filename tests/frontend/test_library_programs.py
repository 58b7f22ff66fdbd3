"""Unusual constructs in programs of published libraries, compared with torch.jit."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest
from scriptlang.interpreter import engine

import scriptlang
from scriptlang.errors import CompileError

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.oracle

ENGINES = [name for name in ("python", "native") if name in engine.available()]


def ours(value):
    return scriptlang.from_numpy(value.numpy()) if isinstance(value, torch.Tensor) else value


# tensordot, whose dims torch.functional declares in four ways (e3nn)


def of_tuples(x, y):
    return torch.functional.tensordot(x, y, dims=((1, 2), (1, 0)), out=None)


def of_lists(x, y):
    return torch.tensordot(x, y, [[1, 2], [1, 0]])


def of_pair(x, y):
    return torch.tensordot(x, y, ([1, 2], [1, 0]))


def of_tensor(x, y, dims):
    return torch.tensordot(x, y, dims)


def of_number(x, y, dims: int):
    return torch.tensordot(x, y, dims)


def of_default(x, y):
    return torch.tensordot(x, y)


def with_out(x, y, out):
    torch.tensordot(x, y, ((1, 2), (1, 0)), out=out)
    return out


X, Y = torch.arange(24.0).reshape(2, 3, 4), torch.arange(60.0).reshape(4, 3, 5)
Z = torch.arange(60.0).reshape(3, 4, 5)
TENSORDOTS = [
    (of_tuples, X, Y),
    (of_lists, X, Y),
    (of_pair, X, Y),
    (of_default, X, Z),
    (of_tensor, X, Y, torch.tensor([[1, 2], [1, 0]])),
    (of_tensor, X, Z, torch.tensor(2)),
    (of_tensor, X, Z, torch.tensor([2])),
    (of_number, X, Z, 2),
    (of_number, X, Z, 0),
    (with_out, X, Y, torch.zeros(2, 5)),
]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("case", TENSORDOTS, ids=lambda case: case[0].__name__)
def test_tensordot_takes_dims_in_every_spelling(case, name):
    fn, *args = case
    want = torch.jit.script(fn)(*args)
    got = scriptlang.script(fn, engine=name)(*map(ours, args))
    np.testing.assert_array_equal(got.numpy(), want.numpy())


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "case",
    [
        (of_number, -1),
        (of_number, 4),
        (of_tensor, torch.tensor(-1)),
        (of_tensor, torch.tensor([[1], [0], [2]])),
    ],
    ids=lambda case: f"{case[0].__name__} {case[1]}",
)
def test_tensordot_refuses_what_pytorch_refuses(case, name):
    fn, dims = case
    with pytest.raises(Exception):
        torch.jit.script(fn)(X, Z, dims)
    with pytest.raises((RuntimeError, AssertionError), match="tensordot"):
        scriptlang.script(fn, engine=name)(ours(X), ours(Z), ours(dims))


# Named tuples as attributes whose fields hold something else than they declare (e3nn, smp)


class Declared(NamedTuple):
    a: float
    b: int


class NoType(NamedTuple):
    a: slice
    b: int


Plain = namedtuple("Plain", ["a", "b"])


class Unused(torch.nn.Module):
    def __init__(self, held: Any):
        super().__init__()
        self.held, self.k = held, 3

    def forward(self, x: torch.Tensor):
        return x + self.k


class Returned(Unused):
    def forward(self, x: torch.Tensor):
        return self.held


HELD = [
    Declared(1, 3),
    Declared(None, 3),
    Declared(1.0, 3),
    Declared(True, 3),
    Declared("x", 3),
    Plain(1, 2),
    Plain(1.5, "b"),
    [Plain(1, 2)],
]
NO_TYPE = [NoType(slice(1), 2), [NoType(slice(1), 2)], Plain(slice(1), 2)]


@pytest.mark.parametrize("held", HELD, ids=str)
def test_a_named_tuple_as_attribute_is_what_its_fields_hold(held):
    want = torch.jit.script(Returned(held))(torch.ones(1))
    got = scriptlang.script(Returned(held))(scriptlang.ones(1))
    assert got == want and repr(got).count("True") == repr(want).count("True")


@pytest.mark.parametrize("held", HELD + NO_TYPE, ids=str)
def test_a_named_tuple_that_is_not_used_is_no_error(held):
    assert torch.jit.script(Unused(held))(torch.ones(1)).tolist() == [4]
    assert scriptlang.script(Unused(held))(scriptlang.ones(1)).tolist() == [4]


@pytest.mark.parametrize("held", NO_TYPE, ids=str)
def test_one_that_has_no_type_is_an_error_where_it_is_used(held):
    with pytest.raises(RuntimeError):
        torch.jit.script(Returned(held))
    with pytest.raises(CompileError, match="no type of the language fits a value of slice"):
        scriptlang.script(Returned(held))


# Static methods of autograd functions, which call `forward` with a context (torchaudio)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        if not torch.jit.is_scripting() and not torch.jit.is_tracing():
            ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def in_scripts(x, w):
        if torch.jit.is_scripting() or torch.jit.is_tracing():
            return Scaled.forward(torch.empty(0), x, w)
        else:
            return Scaled.apply(x, w)


class Shifted(torch.autograd.Function):
    number = 3

    @staticmethod
    def forward(ctx, x, w):
        return x + w

    @staticmethod
    def in_scripts(x, w):
        return Shifted.forward(torch.empty(0), x, w)


def scaled_and_shifted(x, w):
    return Shifted.in_scripts(Scaled.in_scripts(x, w), w)


def of_a_number(x):
    return x + Shifted.number


@pytest.mark.parametrize("name", ENGINES)
def test_static_methods_of_autograd_functions_are_functions(name, tmp_path):
    x, w = torch.arange(3.0), torch.full((3,), 5.0)
    program = scriptlang.script(scaled_and_shifted, engine=name)
    want = torch.jit.script(scaled_and_shifted)(x, w).tolist()
    assert program(ours(x), ours(w)).tolist() == want
    scriptlang.save(program, tmp_path / "saved.pt")
    assert scriptlang.load(tmp_path / "saved.pt")(ours(x), ours(w)).tolist() == want
    assert torch.jit.load(tmp_path / "saved.pt")(x, w).tolist() == want


def test_other_members_of_an_autograd_function_are_none_of_a_program():
    with pytest.raises(RuntimeError, match="cannot be used as a value"):
        torch.jit.script(of_a_number)
    with pytest.raises(CompileError, match="has no attribute 'number'"):
        scriptlang.script(of_a_number)


# `self` of an operator is called `input` where Python calls a function of torch (torchaudio)


def added(x):
    return torch.add(input=x, other=x)


def summed(x):
    return torch.sum(dim=0, input=x)


def softened(x):
    return torch.softmax(input=x, dim=0) + torch.relu(input=x)


def with_both(x):
    return torch.add(input=x, self=x)


def as_a_method(x):
    return x.add(input=x)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("fn", [added, summed, softened], ids=lambda fn: fn.__name__)
def test_operators_take_input_by_name(fn, name):
    x = torch.tensor([1.0, -2.0, 3.0])
    want = torch.jit.script(fn)(x).numpy()
    np.testing.assert_allclose(scriptlang.script(fn, engine=name)(ours(x)).numpy(), want, 1e-6)


@pytest.mark.parametrize("fn", [with_both, as_a_method], ids=lambda fn: fn.__name__)
def test_input_by_name_is_no_other_argument(fn):
    with pytest.raises(RuntimeError):
        torch.jit.script(fn)
    with pytest.raises(CompileError, match="no overload of add"):
        scriptlang.script(fn)


# Defaults of an autograd function's forward without annotations (speechbrain)


class Optioned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, labels=None, count=10, flag=True):
        if labels is not None:
            x = x * labels
        if flag:
            x = x + count
        return x


def without_options(x):
    return Optioned.apply(x)


def with_labels(x):
    return Optioned.apply(x, x)


def with_options(x):
    return Optioned.apply(x, x, 3, False)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "fn", [without_options, with_labels, with_options], ids=lambda fn: fn.__name__
)
def test_defaults_of_forward_say_what_it_takes(fn, name):
    x = torch.tensor([1.0, -2.0, 3.0])
    want = torch.jit.script(fn)(x).tolist()
    assert scriptlang.script(fn, engine=name)(ours(x)).tolist() == want
