"""Numbers beside tensors of half types: which operators of programs round them first."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

from scriptlang import bfloat16, float16, float32, from_numpy
from scriptlang.jit import CompilationUnit

ROUNDING = {
    "sum": "return x + c",
    "sum from the left": "return c + x",
    "sum in place": "x = x.clone()\n    x += c\n    return x",
    "sum of a multiple": "return torch.add(x, c, alpha=2)",
    "difference": "return x - c",
    "difference in place": "x = x.clone()\n    x -= c\n    return x",
    "difference from the left": "return c - x",
    "product in place": "x = x.clone()\n    x *= c\n    return x",
    "power": "return x ** c",
    "power of a number": "return torch.pow(c, x)",
    "power in place": "return x.clone().pow_(c)",
    "remainder": "return x % c",
    "remainder of a number": "return torch.remainder(c, x)",
    "fmod": "return torch.fmod(x, c)",
    "a chain": "return torch.relu((x + c) * 2.0 - c)",
}
EXACT = {"product": "return x * c", "quotient": "return x / c"}
ENGINES = sorted(available())


def source(body: str) -> str:
    return f"def f(x, c: float):\n    {body}\n"


def tensor(dtype, n: int):
    values = np.random.default_rng(1).uniform(0.1, 4, n).astype(np.float32)
    return from_numpy(values).to(dtype)


def run(body: str, engine: str, x, c: float) -> np.ndarray:
    f = CompilationUnit(source(body)).f
    return type(f)(f._function, engine, None, None)(x, c).to(float32).numpy()


def rounded(c: float, dtype) -> float:
    return from_numpy(np.array(c, np.float32)).to(dtype).item()


@pytest.mark.parametrize("n", [7, 40, 40_000])
@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ROUNDING)
def test_number_is_rounded(name, engine, dtype, n):
    x = tensor(dtype, n)
    once, twice = (run(ROUNDING[name], engine, x, c) for c in (2.02, rounded(2.02, dtype)))
    np.testing.assert_array_equal(once, twice)


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", EXACT)
def test_number_is_not_rounded(name, engine, dtype):
    x = tensor(dtype, 40)
    once, twice = (run(EXACT[name], engine, x, c) for c in (2.02, rounded(2.02, dtype)))
    assert (once != twice).any()


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
@pytest.mark.parametrize("name", [*ROUNDING, *EXACT])
def test_pytorch(name, dtype):
    import torch

    body, x = {**ROUNDING, **EXACT}[name], tensor(dtype, 40_000)
    beside = torch.from_numpy(x.to(float32).numpy()).to(getattr(torch, dtype.name))
    want = torch.jit.CompilationUnit(source(body)).f(beside, 2.02).float().numpy()
    for engine in ENGINES:
        np.testing.assert_array_equal(run(body, engine, x, 2.02), want)


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_uniform_numbers_stay_below_the_end(engine, dtype):
    body = "torch.manual_seed(0)\n    return torch.empty_like(x).uniform_(1.0, c)"
    drawn = run(body, engine, tensor(dtype, 20_000), 2.0)
    assert drawn.min() == 1 and drawn.max() < 2
