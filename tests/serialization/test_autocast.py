"""Autocast in archives: as a script has it, and as PyTorch's freezing leaves it."""

from __future__ import annotations

import io
import zipfile

import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from tests.serialization.archives import zipped

ENGINES = engines.available()

CLASS = """class autocast:
  fast_dtype : int
  _enabled : bool
  device : str
  def __enter__(self: __torch__.torch.amp.autocast_mode.autocast) -> \
__torch__.torch.amp.autocast_mode.autocast:
    return self
  def __exit__(self: __torch__.torch.amp.autocast_mode.autocast,
    exc_type: Any,
    exc_val: Any,
    exc_tb: Any) -> NoneType:
    return None
  def __init__(self: __torch__.torch.amp.autocast_mode.autocast,
    device_type: str,
    dtype: Optional[int]=None,
    enabled: bool=True,
    cache_enabled: Optional[bool]=None) -> NoneType:
    if torch.__is__(dtype, None):
      _0 = torch.get_autocast_dtype(device_type)
    else:
      _0 = unchecked_cast(int, dtype)
    self.fast_dtype = _0
    self._enabled = enabled
    self.device = device_type
    return None
"""

NET = """class Net(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    _0 = __torch__.torch.amp.autocast_mode.autocast.__new__(\
__torch__.torch.amp.autocast_mode.autocast)
    %s
    with _0:
      y = %s
    return y
"""

MADE = '_1 = (_0).__init__("%s", %s, %s, None, )'
SET = '_0.fast_dtype = %s\n    _0._enabled = %s\n    _0.device = "%s"'
CONVERTED = (
    "torch.mm(torch._autocast_to_reduced_precision(x, False, True, 5, 15), "
    "torch._autocast_to_reduced_precision(x, False, True, 5, 15))"
)

RESULTS = [
    (MADE % ("cpu", "None", "True"), "torch.mm(x, x)", "bfloat16"),
    (MADE % ("cpu", "5", "True"), "torch.mm(x, x)", "float16"),
    (MADE % ("cpu", "15", "False"), "torch.mm(x, x)", "float32"),
    (MADE % ("cuda", "5", "True"), "torch.mm(x, x)", "float32"),
    (SET % ("15", "True", "cpu"), CONVERTED, "bfloat16"),
    (SET % ('torch.get_autocast_dtype("cpu")', "True", "cpu"), CONVERTED, "bfloat16"),
    (SET % ('torch.get_autocast_dtype("cpu")', "False", "cpu"), "torch.mm(x, x)", "float32"),
    (SET % ("15", "True", "cuda"), "torch.mm(x, x)", "float32"),
]
"""How the context is made, what is computed in it, and the dtype of PyTorch's result."""


def archive(made: str, computed: str) -> bytes:
    return zipped(
        {
            "net/version": b"10\n",
            "net/data.pkl": b"\x80\x02c__torch__\nNet\n)\x81}X\x08\x00\x00\x00training\x89sb.",
            "net/constants.pkl": b"\x80\x02).",
            "net/code/__torch__.py": (NET % (made, computed)).encode(),
            "net/code/__torch__/torch/amp/autocast_mode.py": CLASS.encode(),
        }
    )


@pytest.mark.parametrize("made, computed, dtype", RESULTS)
@pytest.mark.parametrize("engine", ENGINES)
def test_autocast_takes_effect(engine, made, computed, dtype):
    result = scriptlang.load(archive(made, computed), engine=engine)(scriptlang.ones(2, 2))
    assert str(result.dtype) == f"torch.{dtype}"


@pytest.mark.oracle
@pytest.mark.parametrize("made, computed, dtype", RESULTS)
def test_pytorch_gives_these_dtypes(made, computed, dtype):
    torch = pytest.importorskip("torch")
    result = torch.jit.load(io.BytesIO(archive(made, computed)))(torch.ones(2, 2))
    assert str(result.dtype) == f"torch.{dtype}"


@pytest.mark.skipif("native" not in ENGINES, reason="the native engine is not built")
def test_the_reader_in_cpp_refuses_what_it_would_ignore():
    """It has no pass that places conversions; what Python has compiled has them."""
    from scriptlang.interpreter import native
    from scriptlang.serialization.native_archive import Contents, NativeArchive
    from scriptlang.serialization.sources import open_source

    def objection(made: str, computed: str) -> str:
        contents = Contents(open_source(archive(made, computed), None))
        read = NativeArchive(contents, native.load()[0], None)
        return read.archive.objection("__torch__.Net.forward")

    for made, computed, dtype in RESULTS[:4]:
        assert ("autocast takes effect only" in objection(made, computed)) == (dtype != "float32")
    assert "autocast takes effect only" not in objection(*RESULTS[4][:2])


def test_what_is_compiled_has_the_conversions():
    stored = io.BytesIO()
    scriptlang.load(archive(*RESULTS[0][:2])).save(stored)
    names = zipfile.ZipFile(stored).namelist()
    assert any(n.endswith(("bytecode.pkl", "program.pkl")) for n in names)
    assert str(scriptlang.load(stored.getvalue())(scriptlang.ones(2, 2)).dtype) == "torch.bfloat16"
