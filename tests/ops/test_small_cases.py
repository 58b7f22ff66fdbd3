"""Results of small calls in programs on both engines; what is expected is PyTorch's."""

from __future__ import annotations

import pytest
from scriptlang.frontend.python.script import compile_text
from scriptlang.interpreter import native

import scriptlang
from scriptlang.programs.module import ScriptFunction

ENGINES = ["python"] if native.why_absent() else ["python", "native"]
RAISES = "raises"
CASES = [
    ("torch.arange(0.5, dtype=torch.int64)", []),
    ("torch.arange(-0.5, 2.7, dtype=torch.int64)", [0, 1]),
    ("torch.arange(-0.5, 2.7, dtype=torch.int32)", [0, 1, 2, 3]),
    ("torch.arange(0, 2, 0.5, dtype=torch.int32)", [0, 0, 0, 0]),
    ("torch.arange(0, 2, 0.5, dtype=torch.int64)", RAISES),
    ("torch.arange(1, -1.5, -1, dtype=torch.int16)", [1, 0, -1]),
    ("torch.arange(3, dtype=torch.bool)", RAISES),
    ("torch.arange(3, dtype=torch.complex64)", RAISES),
    ("torch.fft.fftfreq(0)", []),
    ("x.squeeze([0, 0])", RAISES),
    ("x[None].squeeze([0, -2])", [[1, 2, 3], [4, 5, 6]]),
    ("x[None].squeeze([0, -3])", RAISES),
    ("x.H", [[1, 4], [2, 5], [3, 6]]),
    ("x[None].H", RAISES),
    ("torch.take_along_dim(x, k, -1)", [[2, 1], [4, 6]]),
    ("torch.take_along_dim(x, k[:1], -1)", [[2, 1], [5, 4]]),
    ("torch.take_along_dim(x, k[:, :1] % 2, -2)", [[4, 5, 6], [1, 2, 3]]),
    ("torch.where(x > 4)[1].stride(0)", 1),
    ("torch.where(x > 4)[1].storage_offset()", 2),
    ("x.t().repeat(1, 1).stride()", [2, 1]),
    ("torch.tile(x.t(), [1, 1, 1]).stride()", [6, 2, 1]),
    ("torch.nn.functional.unfold(x[None, None], 1).zero_().sum() - x.sum()", -21),
    ("torch.affine_grid_generator(x[None].to(torch.bfloat16), [1, 1, 2, 2], False).dtype", 15),
    ("torch.matrix_power(x[:, :2].to(torch.bfloat16), 2).dtype", 15),
    ("x.index_fill(0, k[0].int(), 1.0)", RAISES),
    ("x.take(k.int())", RAISES),
    ("torch.take_along_dim(x, k.int(), 1)", RAISES),
    ("x.index_select(0, k[0].short())", RAISES),
    ("x.index_select(0, k[0].int())", [[4, 5, 6], [1, 2, 3]]),
    ("x[k[0].short()]", RAISES),
    ("x[k[0].int()]", [[4, 5, 6], [1, 2, 3]]),
    ("torch.clamp(x, 1j)", RAISES),
    ("torch.max(x + 0j, x)", RAISES),
    ("torch.dropout(x, True, False)", [[1, 2, 3], [4, 5, 6]]),
    ("torch.isclose(x, x + 1, 0.0, True)", [[True] * 3] * 2),
]


def arguments(library) -> tuple:
    return library.tensor([[1.0, 2, 3], [4, 5, 6]]), library.tensor([[1, 0], [0, 2]])


def seen(function, library):
    try:
        result = function(*arguments(library))
    except RuntimeError:
        return RAISES
    return result.tolist() if hasattr(result, "tolist") else result


UNFIT = [
    "torch.nn.functional.silu(k)",
    "torch.nn.functional.gelu(k)",
    "torch.nn.functional.elu(k)",
    "torch.nn.functional.hardswish(k)",
    "torch.nn.functional.leaky_relu(k)",
    "torch.matmul(x > 0, x.t() > 0)",
    "torch.nn.functional.layer_norm(k, [2])",
]
"""Calls of operators that have no kernel for the type."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("expression", UNFIT)
def test_a_type_without_kernel_is_not_implemented(expression, engine):
    text = f"def f(x, k):\n    return {expression}\n"
    compiled = compile_text(text, {"torch": scriptlang})["f"]
    with pytest.raises(NotImplementedError):
        ScriptFunction(compiled, engine)(*arguments(scriptlang))


@pytest.mark.oracle
@pytest.mark.parametrize("expression", UNFIT)
def test_pytorch_has_no_kernel_either(expression):
    import torch

    made = torch.jit.CompilationUnit(f"def f(x, k):\n    return {expression}\n")
    with pytest.raises(NotImplementedError):
        made.f(*arguments(torch))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("expression, wanted", CASES)
def test_small_case(expression, wanted, engine):
    compiled = compile_text(f"def f(x, k):\n    return {expression}\n", {"torch": scriptlang})["f"]
    assert seen(ScriptFunction(compiled, engine), scriptlang) == wanted


@pytest.mark.oracle
@pytest.mark.parametrize("expression, wanted", CASES)
def test_pytorch_says_the_same(expression, wanted):
    import torch

    made = torch.jit.CompilationUnit(f"def f(x, k):\n    return {expression}\n")
    assert seen(made.f, torch) == wanted
