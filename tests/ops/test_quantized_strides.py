"""How quantized results lie in memory: PyTorch's strides, for operands of many layouts.

A line of `quantized_strides.txt` has the numbers of dimensions and an expression.  `python -m
tests.ops.record quantized_strides`, where PyTorch is installed, writes what PyTorch's default
engine gives.  Strides count where a dimension has more than one element.
"""

from __future__ import annotations

import io
import itertools
import json
import pathlib
import re
import sys

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from tests.ops.test_strides import described

HERE = pathlib.Path(__file__).parent
RECORDED = HERE.parent / "data" / "quantized_strides.npz"
SHAPES = {2: (5, 4), 3: (2, 4, 6), 4: (2, 4, 6, 5), 5: (2, 4, 4, 6, 5)}
LAYOUTS = ("rows", "last", "reversed", "swapped", "gaps", "last with gaps")


def convolutions():
    """(number of dimensions, expression) of each convolution with weights that it packs."""
    for n, form in itertools.product((3, 4, 5), ("", "_transpose")):
        d = n - 2
        name = f"conv{form}{d}d"
        ones, zeros = [1] * d, [0] * d
        steps = f"{ones}, {zeros}, {zeros}, {ones}" if form else f"{ones}, {zeros}, {ones}"
        weights = f"{'turned' if form else 'filters'}{n}"
        packed = f"torch.ops.quantized.{name}_prepack({weights}, None, {steps}, 1)"
        yield n, f"torch.ops.quantized.{name}(q, {packed}, .1, 5)"
        yield n, f"torch.ops.quantized.{name}_dynamic(f, {packed})"
        if not form:
            yield n, f"torch.ops.quantized.{name}_relu(q, {packed}, .1, 5)"


def listed():
    """(number of dimensions, expression) of each line, for each number."""
    for line in (HERE / "quantized_strides.txt").read_text().splitlines():
        ranks, expression = line.split(" ", 1)
        for n in ranks:
            yield int(n), expression.replace("ops.quantized.", "torch.ops.quantized.")


EXPRESSIONS = [*listed(), *convolutions()]
NAMES = """f q wide codes whole r one e i slope W B S Z lw filters3 filters4 filters5
 turned3 turned4 turned5""".split()


def used(expression: str) -> list[str]:
    """The operands that an expression names."""
    return [name for name in NAMES if re.search(rf"(?<![\w.]){name}(?![\w(=])", expression)]


def order_of(n: int, layout: str) -> list[int]:
    """The dimensions from the slowest to the fastest."""
    if layout.startswith("last"):
        return [0, *range(2, n), 1]
    if layout == "swapped":
        return [*range(n - 2), n - 1, n - 2]
    return list(range(n))[::-1] if layout == "reversed" else list(range(n))


def operands(torch, n: int, layout: str) -> dict:
    """The operands, made of row-major memory by views, which keep codes as they are."""
    order = order_of(n, layout)
    shape = [SHAPES[n][d] for d in order]
    if "gaps" in layout:
        shape[-1] *= 2
    back = [order.index(d) for d in range(n)]
    random = np.random.default_rng(n)

    def plain(*size: int, kind=np.float32):
        return torch.from_numpy((random.normal(size=size) * 3).astype(kind))

    def seen(memory):
        return (memory[..., ::2] if "gaps" in layout else memory).permute(back)

    def codes(memory, dtype=torch.quint8, scale=0.1, zero=5):
        return torch.quantize_per_tensor(memory, scale, zero, dtype)

    made = {
        "f": seen(plain(*shape)),
        "q": seen(codes(plain(*shape))),
        "wide": seen(codes(plain(*shape), torch.qint32)),
        "codes": seen(plain(*shape, kind=np.int8)),
        "whole": seen(torch.from_numpy(np.zeros(shape, np.int64))),
        "r": codes(plain(*SHAPES[n])),
        "one": codes(plain(*[1] * n)),
        "e": codes(plain(*SHAPES[n])),
        "i": torch.from_numpy(np.array([1, 0])),
        "slope": codes(plain(4), scale=0.03),
        "W": plain(4),
        "B": torch.from_numpy(np.ones(4, np.float32)),
        "S": torch.from_numpy(np.array([0.1, 0.2, 0.1, 0.3])),
        "Z": torch.from_numpy(np.array([1, 2, 0, 5])),
        "lw": codes(plain(3, SHAPES[n][-1]), torch.qint8, zero=0),
    }
    for d in (3, 4, 5):
        made[f"filters{d}"] = codes(plain(8, 4, *[2] * (d - 2)), torch.qint8, zero=0)
        made[f"turned{d}"] = codes(plain(4, 8, *[2] * (d - 2)), torch.qint8, zero=0)
    return made


def record() -> None:
    """Write what PyTorch gives."""
    import torch

    torch.backends.quantized.engine = "fbgemm"

    def outcome(expression, n, layout):
        names = {"torch": torch, "F": torch.nn.functional, **operands(torch, n, layout)}
        try:
            return described(eval(expression, names), torch.Tensor)
        except RuntimeError:
            return "raises"

    rows = [[outcome(e, n, layout) for layout in LAYOUTS] for n, e in EXPRESSIONS]
    for (n, expression), row in zip(EXPRESSIONS, rows):
        assert row[0] != "raises", (n, expression)
    buffer = io.BytesIO()
    text = json.dumps([[n, e, row] for (n, e), row in zip(EXPRESSIONS, rows)])
    np.savez_compressed(buffer, rows=np.frombuffer(text.encode(), np.uint8))
    RECORDED.write_bytes(buffer.getvalue())
    print(f"quantized strides: {len(rows)} expressions")


@pytest.fixture(scope="module")
def recorded() -> dict:
    with np.load(RECORDED) as arrays:
        return {(n, e): row for n, e, row in json.loads(arrays["rows"].tobytes())}


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """The expressions as functions of a module."""
    head = (
        "import scriptlang as torch\nimport scriptlang.nn.functional as F\n"
        "from scriptlang import Tensor\n\n\n"
    )
    folder = tmp_path_factory.mktemp("quantized_strides")
    (folder / "expressions_for_quantized_strides.py").write_text(
        head
        + "\n\n\n".join(
            f"def f{k}({', '.join(f'{name}: Tensor' for name in used(e))}):\n    return {e}"
            for k, (_, e) in enumerate(EXPRESSIONS)
        )
    )
    sys.path.insert(0, str(folder))
    yield __import__("expressions_for_quantized_strides")
    sys.path.remove(str(folder))


@pytest.mark.parametrize("k", range(len(EXPRESSIONS)), ids=[f"{n} {e}" for n, e in EXPRESSIONS])
def test_strides(k, functions, recorded):
    n, expression = EXPRESSIONS[k]
    wanted = recorded[n, expression]
    for engine in available():
        function = scriptlang.script(getattr(functions, f"f{k}"))
        function._engine = engine
        for layout, want in zip(LAYOUTS, wanted, strict=True):
            if want != "raises":
                made = operands(scriptlang, n, layout)
                result = function(*(made[name] for name in used(expression)))
                assert described(result, scriptlang.Tensor) == want, (engine, layout)
