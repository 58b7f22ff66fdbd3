"""The codes that PyTorch's default engine gives for quantized operators, bit by bit.

`python -m tests.ops.record quantized_values`, where PyTorch is installed, writes them.  Scales are
those of which many results lie halfway between two codes.
"""

from __future__ import annotations

import io
import itertools
import pathlib

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang.ops.quantization.quantized_tensors import QuantizedTensor
from tests.ops.one_operator import run_natively
from tests.ops.test_quantized import operator

RECORDED = pathlib.Path(__file__).parent.parent / "data" / "quantized_values.npz"


def prelu():
    """Slopes whose quantizer has a code for 1, and others."""
    sizes = ((37,), (2, 4, 7), (2, 4, 5, 6), (3, 4))
    steps = ((0.02, 0.002, 0.02), (0.5, 0.5, 0.5), (0.05, 0.01, 0.07), (0.1, 0.3, 0.02))
    for k, (size, (x, w, y)) in enumerate(itertools.product(sizes, steps)):
        kind = ("quint8", "qint8")[k % 2]
        slopes = size[1] if len(size) > 1 and k % 3 else 1
        zero = (0, 7)[k // 2 % 2]
        yield "prelu", (x, 3 + k, kind, size), (w, zero, kind, (slopes,)), y, 2 * k + 1


CASES = [*prelu()]


def arguments(torch, case) -> list:
    """The arguments of a case: a tuple is a quantized tensor of all codes, in random order."""
    random = np.random.default_rng(5)

    def quantized(scale, zero, kind, size):
        low = 0 if kind == "quint8" else -128
        codes = random.integers(low, low + 256, size)
        plain = torch.from_numpy(codes.astype(np.uint8 if kind == "quint8" else np.int8))
        return torch._make_per_tensor_quantized_tensor(plain, scale, zero)

    return [quantized(*given) if type(given) is tuple else given for given in case[1:]]


def record() -> None:
    """Write what PyTorch gives."""
    import torch

    torch.backends.quantized.engine = "fbgemm"
    made = {}
    for k, case in enumerate(CASES):
        result = getattr(torch.ops.quantized, case[0])(*arguments(torch, case))
        made[str(k)] = result.int_repr().numpy()
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **made)
    RECORDED.write_bytes(buffer.getvalue())
    print(f"quantized values: {len(made)} calls")


@pytest.fixture(scope="module")
def recorded() -> dict:
    with np.load(RECORDED) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("engine", available())
@pytest.mark.parametrize("k", range(len(CASES)), ids=[repr(case) for case in CASES])
def test_values(k, engine, recorded):
    op = operator(f"quantized::{CASES[k][0]}")
    given = arguments(scriptlang, CASES[k])
    made = run_natively(op, given) if engine == "native" else op.kernel(*given)
    assert isinstance(made, QuantizedTensor)
    np.testing.assert_array_equal(made.codes._array, recorded[str(k)])
