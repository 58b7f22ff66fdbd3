"""The codes that PyTorch's default engine gives for quantized operators, bit by bit.

`python -m tests.ops.record quantized_values`, where PyTorch is installed, writes them; the
processor has to have AVX-512, as PyTorch's blocks are others with AVX2.  Scales are those of which
many results lie halfway between two codes.
"""

from __future__ import annotations

import io
import itertools
import pathlib

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import dtypes
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
        yield "quantized::prelu", (x, 3 + k, kind, size), (w, zero, kind, (slopes,)), y, 2 * k + 1


def means():
    """Means, and averages of windows, with more and fewer channels than PyTorch does at once."""
    for channels, zero, last in itertools.product((4, 16, 41), (7, 64), ("", "last")):
        images = (0.03, zero, "quint8", (2, channels, 6, 4), last)
        yield "aten::avg_pool2d", images, [2, 2], [2, 2], [0, 0], False, True, None
        volumes = (0.03, zero, "qint8", (1, channels, 4, 2, 2), last)
        yield "aten::avg_pool3d", volumes, [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, None
        signals = (0.03, zero, "quint8", (2, channels, 8), last)
        yield "aten::avg_pool1d", signals, [2], [2], [0], False, True
    for zero, dims in itertools.product((7, 64), ([3], [2, 3], [-1, 1, 2], [])):
        yield "aten::mean.dim", (0.03, zero, "quint8", (9, 8, 5, 6)), dims, False, None
    yield "aten::mean.dim", (0.03, 7, "quint8", (9, 8, 5, 6)), None, True, None
    yield "aten::mean", (0.03, 7, "quint8", (9, 8)), None


def halves():
    """Numbers about halfway between those of codes."""
    for scale, zero, kind in (
        (0.03, 7, "quint8"),
        (0.0231, 64, "quint8"),
        (0.7, -3, "qint8"),
        (0.03, 7, "qint32"),
    ):
        yield "aten::quantize_per_tensor", (scale, (8, 41)), scale, zero, kind
    yield "aten::quantize_per_tensor_dynamic", (0.03, (8, 41)), "quint8", False


def pointwise():
    """Tensors of more and fewer codes than PyTorch computes at once, and remainders."""
    sizes = (((37,), ""), ((3, 64), ""), ((2, 5, 7, 9), ""), ((2, 5, 7, 9), "last"))
    steps = ((0.5, 1.0), (0.03, 0.02), (0.1, 0.2))
    for (size, layout), (x, y), k in itertools.product(sizes, steps, (7, 90)):
        kind, zero = ("quint8", "qint8")[k % 2], k + 2
        given = (x, k, kind, size, layout)
        yield "quantized::add", given, (y, 3, kind, size, layout), y, zero
        yield "quantized::add_relu", given, given, y, zero
        yield "quantized::leaky_relu", given, 0.1, False, y, zero
        yield "quantized::elu", given, y, zero, 1.0, 1.0, 1.0
        yield "quantized::threshold", given, 0.1, 0.15
        yield "aten::leaky_relu", given, 0.25
        yield "quantized::hardswish", given, y, zero


CASES = [*prelu(), *means(), *halves(), *pointwise()]


def arguments(torch, case) -> list:
    """The arguments of a case: tuples are quantized tensors of any codes, or tensors of numbers."""
    random = np.random.default_rng(5)

    def tensor(scale, *rest):
        if len(rest) == 1:
            steps = np.float32(scale) / random.integers(2, 9, rest[0]).astype(np.float32)
            return torch.from_numpy(steps * random.integers(-300, 300, rest[0]).astype(np.float32))
        return quantized(scale, *rest)

    def quantized(scale, zero, kind, size, layout=""):
        low = 0 if kind == "quint8" else -128
        codes = random.integers(low, low + 256, size)
        codes = codes.astype(np.uint8 if kind == "quint8" else np.int8)
        if layout == "last":
            codes = np.ascontiguousarray(np.moveaxis(codes, 1, -1))
        made = torch._make_per_tensor_quantized_tensor(torch.from_numpy(codes), scale, zero)
        return made.permute([0, len(size) - 1, *range(1, len(size) - 1)]) if layout else made

    made = [tensor(*given) if type(given) is tuple else given for given in case[1:]]
    return [getattr(torch, given) if type(given) is str else given for given in made]


def record() -> None:
    """Write what PyTorch gives."""
    import torch

    torch.backends.quantized.engine = "fbgemm"
    made = {}
    for k, case in enumerate(CASES):
        name, _, overload = case[0].partition(".")
        space, _, name = name.partition("::")
        packet = getattr(getattr(torch.ops, space), name)
        names = [a.name for a in operator(case[0]).schema.arguments]
        op = getattr(packet, overload or "default")
        optional = {a.name for a in op._schema.arguments if a.kwarg_only}
        given = dict(zip(names, arguments(torch, case)))
        apart = {name: given.pop(name) for name in list(given) if name in optional}
        result = op(*given.values(), **apart)
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
    op = operator(CASES[k][0])
    given = arguments(scriptlang, CASES[k])
    given = [v.code if isinstance(v, dtypes.DType) else v for v in given]
    made = run_natively(op, given) if engine == "native" else op.kernel(*given)
    assert isinstance(made, QuantizedTensor)
    np.testing.assert_array_equal(made.codes._array, recorded[str(k)])
