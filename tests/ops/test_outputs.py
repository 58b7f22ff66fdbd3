"""What out= and resize_ make of a tensor's shape, memory and type, on both engines; the expected
values are PyTorch's."""

from __future__ import annotations

import re

import pytest
from scriptlang.frontend.python.script import compile_text
from scriptlang.interpreter import native

import scriptlang
from scriptlang.programs.module import ScriptFunction

pytestmark = pytest.mark.parametrize(
    "engine", ["python"] if native.why_absent() else ["python", "native"]
)


def run(engine: str, lines: str, *arguments):
    body = "".join(f"    {line}\n" for line in lines.split("; "))
    names = {"torch": scriptlang}
    text = f"def f({', '.join('xyz'[: len(arguments)])}):\n{body}"
    return ScriptFunction(compile_text(text, names)["f"], engine)(*arguments)


def test_a_view_grows_over_what_lies_behind_it(engine):
    x, y = scriptlang.arange(12.0).reshape(3, 4), scriptlang.zeros(10)
    v = run(engine, "v = y[2:5]; torch.sum(x, [0], out=v); return v", x, y)
    assert y.tolist() == [0, 0, 12, 15, 18, 21, 0, 0, 0, 0]
    assert (v.tolist(), v.storage_offset()) == ([12, 15, 18, 21], 2)


def test_memory_grows_under_all_that_share_it(engine):
    x = scriptlang.arange(12.0).reshape(3, 4)
    v, w = run(
        engine,
        "w = torch.zeros(10); w[9] = 7; v = w[8:9]; torch.sum(x, [0], out=v); return v, w",
        x,
    )
    assert w.tolist() == [0] * 8 + [12, 15]
    assert (v.tolist(), v.storage_offset()) == ([12, 15, 18, 21], 8)


@pytest.mark.parametrize("line", ["torch.sum(x, 1, out=y)", "y.resize_([3]); y.copy_(x.sum(1))"])
def test_the_caller_sees_the_shape_of_what_it_passed(engine, line):
    x, y = scriptlang.ones(3, 4), scriptlang.zeros(10)
    run(engine, f"{line}; return 1", x, y)
    assert y.tolist() == [4, 4, 4]
    z = scriptlang.zeros(0)
    run(engine, "torch.add(x, 1, out=y); return 1", x, z)
    assert z.tolist() == [[2] * 4] * 3


NUMBERS = [
    "torch.mul(x, 2, out=y)",
    "torch.add(x, 1.5, out=y)",
    "torch.sub(x, 1, out=y)",
    "torch.div(x, 2, out=y)",
    "torch.floor_divide(x, 2, out=y)",
]


@pytest.mark.parametrize("line", NUMBERS)
def test_programs_want_the_type_of_results_with_numbers(engine, line):
    x, y = scriptlang.full([3, 4], 6.0), scriptlang.zeros(3, 4, dtype=scriptlang.float64)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype Float, but got Doub"):
        run(engine, f"{line}; return y", x, y)
    assert run(engine, f"{line}; return y", x.double(), y).tolist() == y.tolist() != [[0] * 4] * 3
    of_tensors = re.sub(r", [\d.]+,", ", x,", line)
    assert run(engine, f"{of_tensors}; return y", x, y).dtype is scriptlang.float64


def test_calls_from_python_convert_results_with_numbers(engine):
    x = scriptlang.tensor([2, 3])
    for dtype in (scriptlang.float64, scriptlang.float16, scriptlang.int32):
        y = scriptlang.zeros(2, dtype=dtype)
        assert scriptlang.mul(x, 2, out=y) is y and y.tolist() == [4, 6]
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        scriptlang.mul(x, 2.5, out=scriptlang.zeros(2, dtype=scriptlang.int64))


def test_norm_writes_its_output(engine):
    x, y = scriptlang.tensor([[3.0, 4.0], [6.0, 8.0]]), scriptlang.zeros(5)
    assert run(engine, "torch.norm(x, 2, 1, out=y); return y", x, y).tolist() == [5, 10]
    assert run(engine, "torch.norm(x, dim=1, out=y); return y", x, y).tolist() == [5, 10]


@pytest.mark.parametrize("line", ["torch.add(y, x, out=y)", "torch.mul(x, y, out=y)"])
@pytest.mark.parametrize("shape", [[3], [1, 3]])
def test_an_output_that_is_an_input_keeps_its_shape(engine, line, shape):
    x, y = scriptlang.ones(2, 3), scriptlang.ones(shape)
    of = re.escape(f"output with shape {shape} doesn't match the broadcast shape [2, 3]")
    with pytest.raises(RuntimeError, match=of):
        run(engine, f"{line}; return y", x, y)
    assert y.tolist() == scriptlang.ones(shape).tolist()
    z = scriptlang.ones(2, 3)
    assert run(engine, f"{line}; return y", x, z).tolist() == z.tolist()


def test_where_writes_its_output(engine):
    x, y = scriptlang.tensor([1.0, -2.0, 3.0]), scriptlang.zeros(0)
    assert run(engine, "torch.where(x > 0, x, -x, out=y); return y", x, y).tolist() == [1, 2, 3]
    z = scriptlang.zeros(3)
    assert scriptlang.where(x > 0, x, -x, out=z) is z
    assert z.tolist() == [1, 2, 3]
