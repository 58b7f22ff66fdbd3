"""Objects in the table of constants, as freezing by PyTorch leaves them there: on each engine."""

from __future__ import annotations

import io

import pytest
from scriptlang.interpreter.engine import available

import scriptlang

from .archives import zipped

CODE = """\
class M(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.M,
    x: int) -> int:
    n = CONSTANTS.c0.n
    CONSTANTS.c0.n = torch.add(n, 1)
    n0 = CONSTANTS.c0.n
    return torch.add(x, n0)
class C:
  __parameters__ = []
  __buffers__ = []
  n : int
"""

ARCHIVE = {
    "m/version": b"10",
    "m/data.pkl": b"\x80\x02c__torch__\nM\nq\x00)\x81}b.",
    "m/constants.pkl": b"\x80\x02c__torch__\nC\nq\x00)\x81}X\x01\x00\x00\x00nK\x05sb\x85.",
    "m/code/__torch__.py": CODE.encode(),
}


def load(contents: bytes, engine: str):
    return scriptlang.load(io.BytesIO(contents), engine=engine)


@pytest.mark.parametrize("engine", available())
def test_an_object_of_the_table_keeps_what_is_set(engine):
    module = load(zipped(ARCHIVE), engine)
    assert [module(1), module(1)] == [7, 8]
    optimized = scriptlang.optimize(load(zipped(ARCHIVE), engine))
    assert [optimized(1), optimized(1)] == [7, 8]


@pytest.mark.parametrize("engine", available())
def test_an_object_of_the_table_is_saved(engine):
    saved, compiled = io.BytesIO(), io.BytesIO()
    load(zipped(ARCHIVE), engine).save(saved)
    scriptlang.compile_archive(io.BytesIO(zipped(ARCHIVE)), compiled)
    for file in (saved, compiled):
        again = load(file.getvalue(), engine)
        assert [again(1), again(1)] == [7, 8]
