"""Constant tensors of rank 0 in archives: PyTorch's executor takes them as numbers where they are
added, subtracted, multiplied or divided by.  A trace writes the numbers of Python so."""

from __future__ import annotations

import io
import pathlib
import re
import warnings

import pytest
from scriptlang.interpreter import engine as engines
from scriptlang.serialization.pickling import Pickler

import scriptlang
from scriptlang import nn
from scriptlang.passes import take_numbers
from scriptlang.tensors import Tensor
from tests.serialization.archives import zipped

ENGINES = engines.available()

CONSTANTS = (
    scriptlang.tensor(0.5, dtype=scriptlang.float64),
    scriptlang.tensor(0.5, dtype=scriptlang.float16),
    scriptlang.tensor(3),
    scriptlang.tensor(3, dtype=scriptlang.int32),
    scriptlang.tensor([0.5], dtype=scriptlang.float64),
    scriptlang.tensor(1j, dtype=scriptlang.complex128),
)

RESULTS = [
    ("torch.add(x, CONSTANTS.c0)", "float32"),
    ("torch.add(x, CONSTANTS.c0, alpha=2)", "float32"),
    ("torch.sub(x, CONSTANTS.c0)", "float32"),
    ("torch.mul(x, CONSTANTS.c0)", "float32"),
    ("torch.div(x, CONSTANTS.c0)", "float32"),
    ("torch.div(x, CONSTANTS.c0, rounding_mode='floor')", "float64"),
    ("torch.mul(torch.mean(torch.to(x, 6)), CONSTANTS.c0)", "float32"),
    ("torch.add(torch.sum(x), CONSTANTS.c0)", "float32"),
    ("torch.add(CONSTANTS.c0, x)", "float64"),
    ("torch.add(x, CONSTANTS.c4)", "float64"),
    ("torch.maximum(x, CONSTANTS.c0)", "float64"),
    ("torch.add(x, CONSTANTS.c1)", "float32"),
    ("torch.add(torch.gt(x, 0), CONSTANTS.c3)", "int64"),
    ("torch.mul(torch.to(torch.sum(x), 3), CONSTANTS.c2)", "int32"),
    ("torch.mul(x, CONSTANTS.c5)", "complex64"),
    ("torch.mul(torch.to(x, 5), CONSTANTS.c0)", "float16"),
]
"""Calls with an int64 `x`, and the dtypes of PyTorch's results."""

CODE = """class Net(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Net,
    x: Tensor) -> List[Tensor]:
    return [%s]
"""


def archive(version: int = 10) -> bytes:
    files: dict[str, bytes] = {}

    def key(t: Tensor) -> str:
        files[f"net/constants/{len(files)}"] = bytes(t._storage.data)
        return str(len(files) - 1)

    constants = Pickler(key).dump(CONSTANTS)
    code = CODE % ", ".join(call for call, _ in RESULTS)
    return zipped(
        {
            "net/version": b"%d\n" % version,
            "net/data.pkl": b"\x80\x02c__torch__\nNet\n)\x81}X\x08\x00\x00\x00training\x89sb.",
            "net/constants.pkl": constants,
            "net/code/__torch__.py": code.replace("'", '"').encode(),
            **files,
        }
    )


def short(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


@pytest.mark.parametrize("version", [3, 10])
@pytest.mark.parametrize("engine", ENGINES)
def test_constants_of_rank_0_are_numbers(engine, version):
    results = scriptlang.load(archive(version), engine=engine)(scriptlang.arange(1, 4))
    got = {call: short(y.dtype) for (call, _), y in zip(RESULTS, results)}
    assert got == dict(RESULTS)
    assert results[1].tolist() == [2.0, 3.0, 4.0]
    assert results[4].tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_saved_again_gives_the_same(engine):
    stored = io.BytesIO()
    scriptlang.load(archive(), engine=engine).save(stored)
    again = scriptlang.load(stored.getvalue(), engine=engine)(scriptlang.arange(1, 4))
    assert [short(y.dtype) for y in again] == [dtype for _, dtype in RESULTS]


class Shifted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("shift", scriptlang.tensor(0.5, dtype=scriptlang.float64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x + self.shift, x / self.shift, self.shift + x


def test_freezing_makes_such_constants_of_buffers():
    """What is frozen gives the same before and after it is saved."""
    program, stored = scriptlang.script(Shifted().eval()), io.BytesIO()
    x = scriptlang.arange(1, 4)
    assert [short(y.dtype) for y in program(x)] == ["float64"] * 3
    frozen = scriptlang.freeze(program)
    frozen.save(stored)
    for module in (frozen, scriptlang.load(stored.getvalue())):
        assert [short(y.dtype) for y in module(x)] == ["float32", "float32", "float64"]


@pytest.mark.oracle
@pytest.mark.parametrize("version", [3, 10])
def test_pytorch_gives_these_dtypes(version):
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = torch.jit.load(io.BytesIO(archive(version)))(torch.arange(1, 4))
    got = {call: short(y.dtype) for (call, _), y in zip(RESULTS, results)}
    assert got == dict(RESULTS)


def test_both_readers_take_numbers_in_the_same_operators():
    source = pathlib.Path(__file__).parents[2] / "cpp_loader/src/source/calls.cpp"
    if not source.exists():
        pytest.skip("the sources of the C++ reader are not here")
    text = source.read_text(encoding="utf-8")
    names = re.search(r"kTakeNumbers\[\] = \{(.*?)\}", text)
    assert names and re.findall(r'"([^"]+)"', names[1]) == list(take_numbers.OPERATORS)
