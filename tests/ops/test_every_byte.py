"""Pointwise operators on every pair of int8 and of uint8, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

from scriptlang import from_numpy
from scriptlang.jit import CompilationUnit

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

EXPRESSIONS = """
a + b; a - b; a * b; a / b; a // c; a % c; torch.fmod(a, c); a & b; a | b; a ^ b; a << b; a >> b
torch.gcd(a, b); torch.lcm(a, b); torch.maximum(a, b); torch.minimum(a, b); a < b; a == b
torch.div(a, c, rounding_mode="trunc"); torch.add(a, b, alpha=3); torch.sub(a, b, alpha=3)
torch.rsub(a, b, alpha=2); torch.addcmul(a, b, a, value=2); torch.heaviside(a, b); torch.abs(a)
torch.neg(a); torch.sign(a); torch.square(a); a ** 2; a ** 3; torch.pow(a, b.abs() % 5); ~a; a << 9
a >> 9; a >> 1; a + 3; a * 300; a - 200; 200 - a; a // 3; a % 3; a // -3; a % -3; a / 3; a * 2.5
a > 100; a == 300; a & 3; torch.clamp(a, -3, 7); torch.clamp(a, 1.5, 7.2); torch.relu(a)
torch.where(a > b, a, b); torch.where(a > 3, a, 2.5); torch.masked_fill(a, a > b, 3)
torch.logical_and(a, b); torch.copysign(a, b); torch.ldexp(a, b); torch.float_power(a, b)
a.to(torch.int16); a.to(torch.uint8); a.to(torch.int8); a.to(torch.bool); a.to(torch.float32)
torch.prod(a.reshape(-1, 4), 1); torch.cumsum(a.reshape(-1, 8), 1); torch.sum(a.reshape(-1, 8), 1)
torch.mm(a.reshape(256, 256)[:20], b.reshape(256, 256)[:, :20]); torch.dot(a[:99], b[-99:])
"""
EXPRESSIONS = [e for line in EXPRESSIONS.strip().splitlines() for e in line.split("; ")]


def source(expression: str) -> str:
    return f"def f(a, b, c):\n    return {expression}\n"


@pytest.mark.parametrize("engine", sorted(available()))
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_pytorch(expression, dtype, engine):
    a, b = (
        x.reshape(-1).copy() for x in np.meshgrid(*[np.arange(256, dtype="u1").view(dtype)] * 2)
    )
    arrays = a, b, np.where(b == 0, 7, b).astype(dtype)  # c divides
    want = torch.jit.CompilationUnit(source(expression)).f(*map(torch.from_numpy, arrays))
    f = CompilationUnit(source(expression)).f
    got = type(f)(f._function, engine, None, None)(*map(from_numpy, arrays))
    assert got.dtype.name == str(want.dtype).partition(".")[2]
    if want.dtype.is_floating_point:
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)
    else:
        np.testing.assert_array_equal(got.numpy(), want.numpy())
