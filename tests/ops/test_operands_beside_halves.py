"""Tensors of other types beside tensors of half types are rounded to these first, as in PyTorch;
a last operand of one element is not, where it is a factor or a divisor."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import float32, from_numpy
from scriptlang.jit import CompilationUnit

ENGINES = sorted(available())
FUNCTIONS = """
add sub rsub mul div floor_divide remainder fmod maximum minimum fmax fmin lt le gt ge eq ne atan2
hypot copysign nextafter xlogy special.xlog1py ldexp true_divide
""".split()
IN_PLACE = "add_ sub_ mul_ div_ floor_divide_ remainder_ fmod_ xlogy_ nextafter_ hypot_".split()
BODIES = {
    **{name: f"return torch.{name}(a, b)" for name in FUNCTIONS},
    **{name: f"return a.clone().{name}(b)" for name in IN_PLACE},
    "sum of a multiple": "return torch.add(a, b, alpha=3)",
    "quotient cut": "return torch.div(a, b, rounding_mode='trunc')",
    "a chain": "return torch.relu((a + b) * 2 - b)",
}
CLOSE = {
    "atan2",
    "hypot",
    "xlogy",
    "xlogy_",
    "hypot_",
    "special.xlog1py",
    "copysign",
    "sum of a multiple",
}
"""What differs by the last bit in a few elements: PyTorch's vectors compute them another way."""
BESIDE = {
    "int16": lambda ints: ints.astype(np.int16),
    "int64": lambda ints: ints,
    "one int": lambda ints: ints[3:4],
    "an int": lambda ints: ints[3],
    "a float": lambda ints: np.float32(3.013),
    "a double": lambda ints: np.float64(3.013),
}
RANDOM = np.random.default_rng(0)
INTS = RANDOM.integers(2000, 9000, 70)
INTS[3] = 4099
HALVES = np.where(RANDOM.random(70) < 0.3, INTS, RANDOM.uniform(0.1, 8, 70)).astype(np.float32)


def source(name: str) -> str:
    return f"def f(a, b):\n    {BODIES[name]}\n"


def run(name: str, engine: str, a, b) -> np.ndarray:
    f = CompilationUnit(source(name)).f
    return type(f)(f._function, engine, None, None)(a, b).to(float32).numpy()


def operands(dtype: str, beside: str, turned: bool) -> tuple:
    a = from_numpy(HALVES).to(getattr(scriptlang, dtype))
    b = from_numpy(np.asarray(BESIDE[beside](INTS)))
    return (b, a) if turned else (a, b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "name", ["add", "sub", "lt", "eq", "remainder", "add_", "sum of a multiple"]
)
def test_integers_are_rounded(name, engine, dtype):
    a, b = operands(dtype, "int64", False)
    once, twice = run(name, engine, a, b), run(name, engine, a, b.to(a.dtype))
    np.testing.assert_array_equal(once, twice)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["mul", "div", "mul_", "div_"])
@pytest.mark.parametrize("beside", ["one int", "an int"])
def test_a_last_number_is_not_rounded(name, beside, engine):
    a, b = operands("float16", beside, False)
    once, twice = run(name, engine, a, b), run(name, engine, a, b.to(a.dtype))
    assert (once != twice).any()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_on_a_tensor_of_nobody_else(name, engine):
    """Its memory may not become the result's while it is written to."""
    a = from_numpy(HALVES)
    source = f"def f(a, b):\n    c = a.clone()\n    return a.clone().{name}(b), c.{name}(b)\n"
    f = CompilationUnit(source).f
    one, other = type(f)(f._function, engine, None, None)(a, a + 1)
    np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_tensors_without_dimensions_stay_tensors():
    a, b = operands("float16", "an int", False)
    want = run("mul_", "python", a, b)
    np.testing.assert_array_equal(a.clone().mul_(b).to(float32).numpy(), want)


@pytest.mark.oracle
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", BODIES)
def test_pytorch(name, dtype, beside, turned):
    torch = pytest.importorskip("torch")
    a, b = operands(dtype, beside, turned)
    if turned and name.endswith("_"):
        pytest.skip("integers do not become halves in place")
    given = [
        torch.from_numpy(
            np.array(
                x.to(float32).numpy()
                if x.dtype.itemsize == 2 and x.dtype.kind == "f"
                else x.numpy()
            )
        )
        for x in (a, b)
    ]
    given = [t.to(getattr(torch, x.dtype.name)) for t, x in zip(given, (a, b))]
    want = torch.jit.CompilationUnit(source(name)).f(*given).float().numpy()
    for engine in ENGINES:
        got = run(name, engine, a, b)
        if name in CLOSE:
            np.testing.assert_allclose(got, want, rtol=2**-7 if dtype == "bfloat16" else 2**-10)
        else:
            np.testing.assert_array_equal(got, want)
