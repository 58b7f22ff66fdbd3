"""Pointwise operators on every number of float16 and bfloat16, against PyTorch.

What rounds at every step, what once, and which numbers are rounded first, shows in the last bit,
where a tolerance for halves would hide it.
"""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import float32, from_numpy
from scriptlang.jit import CompilationUnit

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

FEW = 20
"""So many of the 65,536 may differ by the last bit: the functions inside are not the same."""

EXPRESSIONS = """
x + 2.02; x - 2.02; 2.02 - x; x * 2.02; x / 2.02; 2.02 / x; x // 2.02; x % 2.02; x ** 2; x ** 3
x ** 0.5; x ** -0.5; x ** -1; x ** 1.7; 2.5 ** x; x == 2.02; x != 2.02; x < 2.02; x <= 2.02
x > 2.02; x >= 2.02; torch.add(x, 1, alpha=3); torch.rsub(x, 2.02); torch.fmod(x, 2.02)
torch.div(x, 2.02, rounding_mode="trunc"); torch.div(x, 2.02, rounding_mode="floor"); x // (x * 3)
torch.clamp(x, -1.1, 2.7); torch.where(x > 0.3, x, 2.02); torch.masked_fill(x, x > 1, 2.02)
torch.xlogy(x, x); torch.xlogy(x, 2.02); torch.xlogy(2.02, x); torch.special.xlog1py(x, x)
torch.logit(x); torch.logit(x, 0.1); torch.special.entr(x); torch.log(x); torch.exp(x)
torch.sqrt(x); torch.rsqrt(x); torch.reciprocal(x); torch.sigmoid(x); torch.tanh(x)
torch.deg2rad(x); torch.frac(x)
torch.addcmul(x, x, x, value=0.3); torch.addcdiv(x, x, x, value=0.3)
torch.lerp(x, x * 2, 0.3); torch.nextafter(x, -x); torch.ldexp(x, x); torch.hypot(x, x + 1)
torch.heaviside(x, x); torch.neg(x)
torch.nn.functional.hardshrink(x, 0.7); torch.nn.functional.softshrink(x, 0.3)
torch.nn.functional.leaky_relu(x, 0.13); torch.nn.functional.elu(x, 0.7); torch.celu(x, 1.3)
torch.nn.functional.hardsigmoid(x); torch.nn.functional.hardswish(x); torch.nn.functional.silu(x)
torch.nn.functional.mish(x); torch.nn.functional.selu(x); torch.nn.functional.softplus(x, 1.5, 3.3)
torch.nn.functional.glu(torch.stack([x, x.flip(0)]), 0); torch.nn.functional.relu6(x)
torch.nn.functional.threshold(x, 0.5, 1.5); torch.nan_to_num(x, 1.1, 2.2, 3.3)
torch.nn.functional.kl_div(x, x, reduction="none")
torch.ops.aten.sigmoid_backward(x, x); torch.ops.aten.tanh_backward(x, x)
torch.ops.aten.silu_backward(x, x); torch.ops.aten.mish_backward(x, x)
torch.ops.aten.elu_backward(x, 1.1, 1.2, 1.3, False, x)
torch.ops.aten.elu_backward(x, 1.1, 1.2, 1.3, True, x)
torch.ops.aten.softplus_backward(x, x, 1.1, 3.3); torch.ops.aten.hardswish_backward(x, x)
torch.ops.aten.hardsigmoid_backward(x, x); torch.ops.aten.log_sigmoid_backward(x, x, torch.exp(x))
torch.ops.aten.logit_backward(x, x, None); torch.ops.aten.logit_backward(x, x, 0.1)
torch.ops.aten.leaky_relu_backward(x, x, 0.13, False)
torch.linspace(0.1, 2.3, 77, dtype=x.dtype); torch.linspace(-3.0, 5.0, 100, dtype=x.dtype)
"""
EXPRESSIONS = [e for line in EXPRESSIONS.strip().splitlines() for e in line.split("; ")]
BITS = np.arange(65536, dtype=np.uint16).view(np.int16)


def source(expression: str) -> str:
    return f"def f(x):\n    return {expression}\n"


@pytest.mark.parametrize("engine", sorted(available()))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_pytorch(expression, dtype, engine):
    x = torch.from_numpy(BITS).view(getattr(torch, dtype))
    want = torch.jit.CompilationUnit(source(expression)).f(x)
    ours = from_numpy(x.float().numpy()).to(getattr(scriptlang, dtype))
    f = CompilationUnit(source(expression)).f
    got = type(f)(f._function, engine, None, None)(ours)
    assert got.dtype.name == str(want.dtype).partition(".")[2]
    a, b = got.to(float32).numpy(), want.float().numpy()
    differ = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    assert differ.sum() <= FEW, f"{differ.sum()} differ, first at {x[differ.argmax() % 65536]}"
    last_bit = 2**-10 if dtype == "float16" else 2**-7
    smallest = 2**-23 if dtype == "float16" else 2**-125
    np.testing.assert_allclose(a[differ], b[differ], rtol=2 * last_bit, atol=smallest)
