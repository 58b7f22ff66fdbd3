"""How results lie in memory: the strides that PyTorch gives, for operands of many layouts.

`strides.txt` has an expression a line.  `python -m tests.ops.record strides`, where PyTorch is
installed, writes what it gives.  Strides count where a dimension has more than one element.
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

HERE = pathlib.Path(__file__).parent
RECORDED = HERE.parent / "data" / "strides.npz"
EXPRESSIONS = (HERE / "strides.txt").read_text().splitlines()
LAYOUTS = ("rows", "reversed", "last", "gaps", "reversed with gaps", "last with gaps", "expanded")
SECOND = ("rows", "reversed")
"""Layouts of the first operand and of the second."""

RANDOM = np.random.default_rng(20)


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


ARRAYS = {
    "x": numbers(5, 4),
    "t": numbers(2, 3, 4),
    "c": numbers(2, 4, 6, 6),
    "v": numbers(2, 4, 3, 4, 5),
    "i": RANDOM.integers(0, 5, (5, 4)),
    "b": numbers(5, 4) > 0,
    "y": numbers(5, 4),
    "u": numbers(2, 3, 4),
    "d": numbers(2, 4, 6, 6),
    "w": numbers(2, 4, 3, 4, 5),
    "i2": RANDOM.integers(1, 5, (5, 4)),
    "y0": numbers(4, 1, 1),
    "j": np.array([0, 1]),
    "o": np.array(2.0, np.float32),
}
"""Matrices, stacks of them, images, volumes; the second of each; indices and a number."""

SECONDS, FIXED = {"y", "u", "d", "w", "i2", "y0"}, {"j", "o"}


def laid(array: np.ndarray, layout: str) -> tuple[np.ndarray, tuple[int, ...]]:
    """(memory that holds the array as a layout says, the shape to expand it to)."""
    n = array.ndim
    if layout == "expanded":
        return array[:1].copy(), array.shape
    last = [0, *range(2, n), 1] if n > 2 else list(range(n))[::-1]
    order = {"r": list(range(n))[::-1], "l": last}.get(layout[0], list(range(n)))
    if layout == "rows":
        order = list(range(n))
    shape = [array.shape[d] for d in order]
    if "gaps" in layout:
        shape[-1] *= 2
    memory = np.zeros(shape, array.dtype)
    view = (memory[..., ::2] if "gaps" in layout else memory).transpose(np.argsort(order))
    view[...] = array
    return view, array.shape


def used(expression: str) -> list[str]:
    """The operands that an expression names."""
    return [name for name in ARRAYS if re.search(rf"(?<![\w.]){name}(?![\w(]|=(?!=))", expression)]


def operand(name: str, first: str, second: str) -> tuple[np.ndarray, tuple[int, ...]]:
    """`laid` of an operand, where the first operands and the second have these layouts."""
    layout = "rows" if name in FIXED else second if name in SECONDS else first
    return laid(ARRAYS[name], layout)


def calls(expression: str):
    """(layouts, {name: (memory, shape)}) of every call of an expression."""
    names = used(expression)
    seconds = SECOND if SECONDS & set(names) else SECOND[:1]
    for first, second in itertools.product(LAYOUTS, seconds):
        yield (first, second), {name: operand(name, first, second) for name in names}


def described(result, kind: type):
    """Shapes and strides of a result's tensors; None for what is none."""
    if isinstance(result, kind):
        size = list(result.shape)
        return [size, [s for n, s in zip(size, result.stride()) if n > 1] if 0 not in size else []]
    if isinstance(result, (list, tuple)):
        return {"parts": [described(part, kind) for part in result]}
    return None


def record() -> None:
    """Write what PyTorch gives."""
    import torch

    def outcome(expression, arrays):
        given = {
            name: torch.from_numpy(memory).expand(shape) for name, (memory, shape) in arrays.items()
        }
        names = {"torch": torch, "F": torch.nn.functional}
        try:
            return described(eval(expression, {**names, **given}), torch.Tensor)
        except RuntimeError:
            return "raises"

    rows = [[e, [outcome(e, arrays) for _, arrays in calls(e)]] for e in EXPRESSIONS]
    for expression, row in rows:
        assert "raises" not in row[:1], expression
    buffer = io.BytesIO()
    np.savez_compressed(buffer, rows=np.frombuffer(json.dumps(rows).encode(), np.uint8))
    RECORDED.write_bytes(buffer.getvalue())
    print(f"strides: {len(rows)} expressions")


@pytest.fixture(scope="module")
def recorded() -> dict:
    with np.load(RECORDED) as arrays:
        return dict(json.loads(arrays["rows"].tobytes()))


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """The expressions as functions of a module."""
    head = (
        "import scriptlang as torch\nimport scriptlang.nn.functional as F\n"
        "from scriptlang import Tensor\n\n\n"
    )
    folder = tmp_path_factory.mktemp("strides")
    (folder / "expressions_for_strides.py").write_text(
        head
        + "\n\n\n".join(
            f"def f{k}({', '.join(f'{name}: Tensor' for name in used(e))}):\n    return {e}"
            for k, e in enumerate(EXPRESSIONS)
        )
    )
    sys.path.insert(0, str(folder))
    yield __import__("expressions_for_strides")
    sys.path.remove(str(folder))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", range(len(EXPRESSIONS)), ids=EXPRESSIONS)
def test_strides(k, functions, recorded):
    function = scriptlang.script(getattr(functions, f"f{k}"))
    wanted = recorded[EXPRESSIONS[k]]
    for engine in available():
        function._engine = engine
        for (layouts, arrays), want in zip(calls(EXPRESSIONS[k]), wanted, strict=True):
            given = [
                scriptlang.from_numpy(memory).expand(list(shape))
                for memory, shape in arrays.values()
            ]
            if want != "raises":  # kron and others view what they made
                got = described(function(*given), scriptlang.Tensor)
                assert got == want, (engine, *layouts)
