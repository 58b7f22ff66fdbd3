"""Convolutions of integers are exact and wrap, on both engines."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

from scriptlang import from_numpy
from scriptlang.jit import CompilationUnit

ENGINES = sorted(available())
CASES = {
    "conv1d": ("conv1d(x, w, b, [2], [1], [2], 2)", (2, 4, 9), (6, 2, 2), 6),
    "conv2d": ("conv2d(x, w, b, [1, 2], [1, 0], [1, 1], 1)", (1, 3, 5, 6), (2, 3, 3, 2), 2),
    "conv3d": ("conv3d(x, w, b, [1, 1, 1], [0, 1, 1])", (2, 2, 3, 4, 3), (3, 2, 2, 2, 3), 3),
    "transposed 1d": ("conv_transpose1d(x, w, b, [2], [1], [1], 2)", (2, 4, 5), (4, 3, 3), 6),
    "transposed 2d": ("conv_transpose2d(x, w, b, [2, 1])", (1, 3, 4, 3), (3, 2, 2, 3), 2),
    "simple": ("conv1d(x, w, b)", (1, 1, 2), (1, 1, 1), 1),
}


def source(case: str) -> str:
    return f"def f(x, w, b):\n    return torch.{CASES[case][0]}\n"


def operands(case: str, dtype: str) -> list[np.ndarray]:
    random, info = np.random.default_rng(2), np.iinfo(dtype)
    _, x, w, b = CASES[case]
    return [random.integers(info.min, info.max, size, dtype) for size in (x, w, b)]


def run(case: str, engine: str, arrays: list[np.ndarray]) -> np.ndarray:
    f = CompilationUnit(source(case)).f
    return type(f)(f._function, engine, None, None)(*map(from_numpy, arrays)).numpy()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8"])
def test_engines_agree(case, dtype):
    results = [run(case, engine, operands(case, dtype)) for engine in ENGINES]
    for one, other in itertools.pairwise(results):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("engine", ENGINES)
def test_sums_of_one_number_each(engine):
    x, w, b = (np.array(v) for v in ([[[2**62 + 1, 3]]], [[[3]]], [7]))
    np.testing.assert_array_equal(run("simple", engine, [x, w, b]), [[[10 - 2**62, 16]]])


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES)
def test_pytorch(case):
    torch = pytest.importorskip("torch")
    arrays = operands(case, "int64")
    want = torch.jit.CompilationUnit(source(case)).f(*map(torch.from_numpy, arrays)).numpy()
    for engine in ENGINES:
        np.testing.assert_array_equal(run(case, engine, arrays), want)
