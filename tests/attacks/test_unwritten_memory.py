"""Under limits, tensors that nobody has written to hold zeros, not what the process had there."""

from __future__ import annotations

from typing import Callable

import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import Limits

SECRET = 7.5


def leave_secrets(size: int) -> None:
    """Memory of the sizes that are asked for next, written and given back."""
    blocks = [scriptlang.full([n], SECRET) for n in (size, 4 * size) for _ in range(8)]
    del blocks


def empty(x: scriptlang.Tensor):
    return scriptlang.empty([64])


def empty_like(x: scriptlang.Tensor):
    return scriptlang.empty_like(x)


def new_empty(x: scriptlang.Tensor):
    return x.new_empty([64])


def empty_strided(x: scriptlang.Tensor):
    return scriptlang.empty_strided([8, 8], [1, 8])


def new_empty_strided(x: scriptlang.Tensor):
    return x.new_empty_strided([8, 8], [1, 8])


def empty_permuted(x: scriptlang.Tensor):
    return scriptlang.empty_permuted([8, 8], [1, 0])


def resized(x: scriptlang.Tensor):
    y = scriptlang.zeros([1])
    y.resize_([64])
    return y


def resized_as(x: scriptlang.Tensor):
    y = scriptlang.zeros([1])
    y.resize_as_(x)
    return y


MAKERS = (
    empty,
    empty_like,
    new_empty,
    empty_strided,
    new_empty_strided,
    empty_permuted,
    resized,
    resized_as,
)


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
def test_nothing_of_the_process_is_seen(make: Callable, engine: str):
    if engine not in available():
        pytest.skip(f"the {engine} engine is not there")
    program = scriptlang.script(make, engine=engine, limits=Limits(memory=1 << 20))
    x = scriptlang.zeros([64])
    for _ in range(5):
        leave_secrets(64)
        assert not program(x).numpy().any()


@pytest.mark.parametrize("engine", ["python", "native"])
def test_bools_that_nobody_wrote_are_bools(engine: str):
    if engine not in available():
        pytest.skip(f"the {engine} engine is not there")

    def grown(x: scriptlang.Tensor):
        y = scriptlang.zeros([1], dtype=scriptlang.bool)
        y.resize_([4096])
        return y

    leave_secrets(1024)
    bits = scriptlang.script(grown, engine=engine)(scriptlang.zeros([1])).numpy()
    assert set(bits.view("uint8")) <= {0, 1}
