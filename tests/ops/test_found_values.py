"""Calls whose values random calls have found to be wrong: both engines give PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

from scriptlang.jit import CompilationUnit

STEPS = "x = torch.tensor([0.25, 0.75, 1.25, 1.75, -0.25, -0.75])\n"
WHOLE = "b = torch.tensor([1, 2, 3])\n"
WEIGHTS = "w = torch.tensor([0.1, 0.2, 0.3, 0.4])\ntorch.manual_seed(0)\n"
POINTS = "torch.full([6], 0.5), torch.full([6], 3, dtype={}), 0, 0, 255"

PROGRAMS = {
    "ties of fake quantization": STEPS
    + "return torch.fake_quantize_per_tensor_affine(x, 0.5, 3, 0, 255)",
    "ties by tensors": STEPS + "return torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.5), "
    "torch.tensor(3, dtype=torch.int32), 0, 255)",
    "ties by channel": STEPS + "return torch.fake_quantize_per_channel_affine(x[:, None], "
    f"{POINTS.format('torch.int32')})",
    "ties beside broken zero points": STEPS + "return torch.fake_quantize_per_channel_affine("
    f"x[:, None], {POINTS.format('torch.float32')})",
    "a fraction among whole boundaries": WHOLE + "return torch.bucketize(1.5, b)",
    "a number behind int64": WHOLE + "return torch.bucketize(1e30, b)",
    "a number among bytes": "b = torch.tensor([1, 2, 3], dtype=torch.uint8)\n"
    "return [torch.bucketize(1.5, b), torch.bucketize(300, b), torch.bucketize(-1, b)]",
    "a number as it is in float32": "b = torch.tensor([0.1])\n"
    "return torch.bucketize(0.1, b, right=True)",
    "a fraction to search for": WHOLE + "return torch.searchsorted(b, 1.5)",
    "a tensor of no dimensions to search for": WHOLE
    + "return torch.bucketize(torch.tensor(1.5), b)",
    "product of truths": "return torch.prod(torch.tensor([0.5, 0.3]), dtype=torch.bool)",
    "products of truths": "return torch.prod(torch.tensor([[0.5, 0.3], [0.0, 2.0]]), 1, "
    "dtype=torch.bool)",
    "range of integers": "return torch.range(0.7, 5, 1.5, dtype=torch.int8)",
    "powers between integers": "return torch.logspace(4.5, 0.5, 5, 1.5, dtype=torch.int16)",
    "powers into integers": "return torch.logspace(4.5, 0.5, 5, 1.5, "
    "out=torch.zeros([5], dtype=torch.int16))",
    "draws from rows that are one": WEIGHTS + "return torch.multinomial(w.expand(3, 4), 3, False)",
    "draws from columns": WEIGHTS + "return torch.multinomial(torch.stack([w, w]).t(), 1, False)",
    "draws from one row": WEIGHTS + "return torch.multinomial(w, 2, False)",
    "sign of an infinite determinant": "return torch.slogdet(torch.tensor([[-1e39]]))[0]",
    "norm of single elements": "x = torch.tensor([[1e30, -2.0]])\n"
    "return [torch.norm(x, 2, 0), torch.linalg.vector_norm(x, -2147483648.0, [0]), "
    "torch.linalg.vector_norm(x, 0, [0])]",
    "halves and complex numbers": "x = torch.ones([1], dtype=torch.float16)\n"
    "return torch.addr(x, x, x.to(torch.complex128), beta=1, alpha=0.0)",
    "masks beyond half precision": "x = torch.ones([2], dtype=torch.float16)\n"
    "return [torch.where(x > 5, x, -1e9), torch.where(x > 0, -100000, x)]",
    "pairs in one row": "x = torch.arange(9.0).reshape(1, 9)[:, :2]\n"
    "return torch.view_as_real(torch.view_as_complex(x))",
    "gradients of two types": "x = torch.tensor([1.0, -1.0], dtype=torch.float64)\n"
    "g = torch.ones([2])\n"
    "return [torch.ops.aten.hardshrink_backward(g, x, 0.5), "
    "torch.ops.aten.threshold_backward(g, x, 0.5), "
    "torch.ops.aten.leaky_relu_backward(g, x, 0.5, False), "
    "torch.ops.aten.hardtanh_backward(g, x, -2, 2)]",
}


def source(name: str) -> str:
    return "def f():\n    " + PROGRAMS[name].replace("\n", "\n    ") + "\n"


def plain(result) -> list:
    """(type, elements) of each tensor."""
    tensors = result if isinstance(result, list) else [result]
    return [(str(t.dtype).rsplit(".", 1)[-1], np.asarray(t.tolist())) for t in tensors]


def given(name: str, engine: str) -> list:
    f = CompilationUnit(source(name)).f
    return plain(type(f)(f._function, engine, None, None)())


def agree(a: list, b: list) -> None:
    assert [dtype for dtype, _ in a] == [dtype for dtype, _ in b]
    for (_, x), (_, y) in zip(a, b):
        np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_engines(name):
    if "native" not in available():
        pytest.skip("the native engine is not built")
    agree(given(name, "native"), given(name, "python"))


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_pytorch(name):
    torch = pytest.importorskip("torch")
    expected = plain(torch.jit.CompilationUnit(source(name)).f())
    for engine in available():
        agree(given(name, engine), expected)
