"""Complex types that PyTorch has and tensors here have not are refused by name, on both engines."""

from __future__ import annotations

import pytest
from scriptlang.frontend.python.script import compile_text
from scriptlang.interpreter import native

import scriptlang
from scriptlang.programs.module import ScriptFunction

pytestmark = pytest.mark.parametrize(
    "engine", ["python"] if native.why_absent() else ["python", "native"]
)


def run(engine: str, expression: str, x):
    text = f"def f(x):\n    return {expression}\n"
    return ScriptFunction(compile_text(text, {"torch": scriptlang})["f"], engine)(x)


@pytest.mark.parametrize(
    "expression",
    [
        "torch.complex(x, x)",
        "x * 1j",
        "1j - x",
        "torch.where(x > 0, x, 1j)",
        "torch.view_as_complex(x)",
        "torch.result_type(x, 1j)",
        "x.to(torch.complex32)",
    ],
)
def test_halves_would_be_complex32(engine, expression):
    with pytest.raises(RuntimeError, match="complex32"):
        run(engine, expression, scriptlang.ones(3, 2).half())


@pytest.mark.parametrize("expression", ["x * 1j", "1j - x", "torch.where(x > 0, x, 1j)"])
def test_other_parts_have_their_complex_type(engine, expression):
    for part, whole in (
        ("bfloat16", "complex64"),
        ("float32", "complex64"),
        ("float64", "complex128"),
        ("int64", "complex64"),
    ):
        x = scriptlang.ones(3, 2).to(getattr(scriptlang, part))
        assert run(engine, expression, x).dtype.name == whole


@pytest.mark.parametrize(
    "expression, part",
    [
        ("torch.complex(x, x)", "bfloat16"),
        ("torch.polar(x, x)", "bfloat16"),
        ("torch.polar(x, x)", "float16"),
        ("torch.add(x, x, alpha=1j)", "float32"),
    ],
)
def test_what_has_no_complex_numbers_says_so(engine, expression, part):
    with pytest.raises(RuntimeError):
        run(engine, expression, scriptlang.ones(3, 2).to(getattr(scriptlang, part)))
