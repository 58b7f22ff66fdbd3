"""Literals of every kind survive an archive, to the bit, here and in PyTorch."""

from __future__ import annotations

import io
import itertools
import math
import struct
from typing import Any, List, Optional

import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang import nn

ENGINES = engines.available()

PARTS = (0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan, 1e300, 5e-324, -1e-7, 123456789.0)
COMPLEX = list(itertools.starmap(complex, itertools.product(PARTS, PARTS)))
NUMBERS = [*PARTS, 2**63 - 1, -(2**63), -(2**63) + 1, 0, -1, 1 << 62, True, False, None]
TEXTS = [
    "",
    "\0",
    "a\0b",
    "\x7f",
    "\x80\xff",
    "\u2028\u2029",
    "日本語😀",
    "'\"\\",
    "\\n\n\r\t\v\f",
    "\x1b[0m",
    "'''",
    '"""',
    "{}%s",
    "#",
    "\\x00",
    "\\",
    "a\\",
    " ",
]
CHARACTERS = list(map(chr, range(256)))


def in_rows(values: list, count: int) -> list[tuple]:
    """Many values of one kind, some in each program (PyTorch takes no tuple of complex numbers)."""
    return [tuple(values[k : k + count]) for k in range(0, len(values), count)]


LITERALS = {
    "numbers": [*NUMBERS, *COMPLEX[:3], *in_rows(COMPLEX, len(PARTS))],
    "texts": [*TEXTS, *in_rows(CHARACTERS, 16)],
}


def bits(value: Any) -> Any:
    """What is equal for equal values only: zeros have signs, NaN is one number."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("d", value)
    if isinstance(value, complex):
        return "complex", bits(value.real), bits(value.imag)
    if isinstance(value, (list, tuple)):
        return type(value), [bits(v) for v in value]
    return type(value), value


class Holder(nn.Module):
    __constants__ = ["single", "pair"]

    def __init__(self, value):
        super().__init__()
        self.single, self.pair = value, (value, 1)

    def forward(self):
        return self.single, self.pair


class State(nn.Module):
    """Its attributes become constants of the code when it is frozen."""

    def __init__(self, value):
        super().__init__()
        self.value, self.several = value, [value, value]

    def forward(self):
        return self.value, self.several[1], [self.value]


def saved(program) -> bytes:
    buffer = io.BytesIO()
    scriptlang.save(program, buffer)
    return buffer.getvalue()


def programs(value):
    yield scriptlang.script(Holder(value))
    if value is not None:
        yield scriptlang.freeze(scriptlang.script(State(value)).eval())


@pytest.mark.parametrize("values", LITERALS.values(), ids=LITERALS)
@pytest.mark.parametrize("engine", ENGINES)
def test_literals_load_as_they_were_saved(engine, values):
    for value in values:
        for program in programs(value):
            loaded = scriptlang.load(saved(program), engine=engine)
            assert bits(loaded()) == bits(program()), (value, program.code)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "values", [NUMBERS + COMPLEX, TEXTS + CHARACTERS], ids=["numbers", "texts"]
)
def test_pytorch_loads_the_same_literals(values):
    import torch

    for value in values:
        for program in programs(value):
            there = torch.jit.load(io.BytesIO(saved(program)))
            assert bits(there()) == bits(program()), (value, program.code)


@pytest.mark.oracle
def test_literals_that_pytorch_saved_load_as_there():
    import torch

    class Kept(torch.nn.Module):
        def __init__(self, value):
            super().__init__()
            self.value, self.several = value, [value, value]

        def forward(self):
            return self.value, self.several[1], [self.value]

    for value in [v for v in NUMBERS if v is not None] + COMPLEX[:40] + TEXTS + CHARACTERS[:6]:
        frozen = torch.jit.freeze(torch.jit.script(Kept(value)).eval())
        buffer = io.BytesIO()
        torch.jit.save(frozen, buffer)
        try:
            expected = torch.jit.load(io.BytesIO(buffer.getvalue()))()
        except RuntimeError as error:  # it cannot read all that it writes
            assert "ill formed octal" in str(error)
            expected = frozen()
        assert bits(scriptlang.load(buffer.getvalue())()) == bits(expected), (value, frozen.code)


@pytest.mark.oracle
def test_complex_defaults_that_pytorch_saved():
    import torch

    def f(
        a: complex = complex(math.inf, 1),
        b: complex = complex(1, -math.inf),
        c: complex = complex(-1.5, -2),
        d: complex = complex(2, math.nan),
    ):
        return [a, b, c, d]

    unit = torch.jit.script(f)
    assert scriptlang.script(f).schema.arguments[1].default == complex(1, -math.inf)
    assert bits(scriptlang.script(f)()) == bits(unit())


# Optional[Any] is a type of its own: PyTorch takes it that Any is never None


def is_nothing(x: Optional[Any]):
    if x is None:
        return 1
    return 2


def any_is_nothing(x: Any):
    if x is None:
        return 1
    return 2


def elements(x: List[Optional[Any]]):
    count = 0
    for v in x:
        if v is not None:
            count += 1
    return count


@pytest.mark.parametrize("engine", ENGINES)
def test_optional_any_stays_optional(engine):
    for f, schema in ((is_nothing, "Any? x"), (elements, "Any?[] x")):
        function = scriptlang.script(f, engine=engine)
        assert schema in str(function.schema)
        assert schema in str(scriptlang.load(saved(function)).forward.schema)
    for make in (
        lambda f: scriptlang.script(f, engine=engine),
        lambda f: scriptlang.load(saved(scriptlang.script(f)), engine=engine),
    ):
        assert [make(is_nothing)(v) for v in (None, 3)] == [1, 2]
        assert make(elements)([None, 1, "a", None]) == 2
        assert make(any_is_nothing)(None) == 2


@pytest.mark.oracle
def test_optional_any_means_the_same_in_pytorch():
    import torch

    for f, values in ((is_nothing, [None, 3]), (any_is_nothing, [None, 3])):
        ours, theirs = scriptlang.script(f), torch.jit.script(f)
        there = torch.jit.load(io.BytesIO(saved(ours)))
        for value in values:
            assert ours(value) == theirs(value) == there(value)
    assert str(scriptlang.script(is_nothing).schema) == str(torch.jit.script(is_nothing).schema)
