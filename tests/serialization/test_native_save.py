"""Archives that the C++ library saves: PyTorch and both our readers load them, with the attributes
as they were when they were saved."""

from __future__ import annotations

import io
import threading

import numpy as np
import pytest
from scriptlang.interpreter import native
from scriptlang.serialization.archive import read_archive

import scriptlang

from .archives import FIXTURES
from .test_native_source import without_bytecode

_native, WHY = native.load()
pytestmark = pytest.mark.skipif(_native is None, reason=WHY)


def text_of(value, known: dict[int, int] | None = None) -> str:
    """A value in full: elements of tensors, and which objects are the same ones."""
    known = {} if known is None else known
    if isinstance(value, scriptlang.Tensor):
        storage = value._storage
        number = known.setdefault(id(storage), len(known))
        return f"tensor {number} {value.dtype} {value.stride()} {value.storage_offset()} {value}"
    if value is not None and value.__class__.__name__ == "ScriptObject":
        if id(value) in known:
            return f"object {known[id(value)]}"
        number = known[id(value)] = len(known)
        names = [a.name for a in value.type.attributes]
        parts = [f"{n}: {text_of(v, known)}" for n, v in zip(names, value.slots)]
        return f"object {number} {value.type.name}({', '.join(parts)})"
    if isinstance(value, (list, tuple)):
        return f"{value.__class__.__name__}({', '.join(text_of(v, known) for v in value)})"
    if isinstance(value, dict):
        rows = [f"{text_of(k, known)}: {text_of(v, known)}" for k, v in value.items()]
        return "{" + ", ".join(rows) + "}"
    return repr(value)


@pytest.mark.parametrize("take", [bytes, without_bytecode], ids=["whole", "code"])
@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_what_is_saved_reads_as_what_was_loaded(path, take):
    contents = take(path.read_bytes())
    once = _native.Archive(contents).save()
    assert _native.Archive(once).save() == once
    old, new = (read_archive(io.BytesIO(c)).root for c in (contents, once))
    assert text_of(new) == text_of(old)


@pytest.mark.oracle
@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_pytorch_loads_changed_parameters(path):
    import torch

    try:
        wanted = torch.jit.load(io.BytesIO(path.read_bytes()))
    except RuntimeError as e:
        pytest.skip(f"PyTorch refuses the fixture: {str(e).splitlines()[0]}")
    archive = _native.Archive(path.read_bytes())
    with torch.no_grad():
        changed = {p.data_ptr() for p in wanted.parameters()}
        for name, p in wanted.named_parameters():
            if p.data_ptr() in changed:
                changed.remove(p.data_ptr())
                p.mul_(1.5)
                ours = archive.attribute(name)
                ours.detach().mul_(1.5)
    got = torch.jit.load(io.BytesIO(archive.save()))
    old, new = wanted.state_dict(), got.state_dict()
    assert list(new) == list(old)
    for name in old:
        assert new[name].dtype == old[name].dtype and new[name].stride() == old[name].stride()
        assert torch.equal(
            torch.nan_to_num(new[name].dequantize()) if new[name].is_quantized else new[name],
            torch.nan_to_num(old[name].dequantize()) if old[name].is_quantized else old[name],
        ), name
    assert str(got.code) == str(wanted.code)


@pytest.mark.oracle
def test_pytorch_gets_every_kind_of_attribute_back():
    import torch

    from .native_save_models import kinds

    model, x = kinds(torch)
    file = io.BytesIO()
    torch.jit.save(model, file)
    archive = _native.Archive(file.getvalue())
    got = torch.jit.load(io.BytesIO(archive.save()))
    assert repr(got.everything()) == repr(model.everything())
    assert torch.equal(got(x), model(x))
    with torch.no_grad():
        got.views()[0].zero_()
    assert float(got.views()[1].abs().sum()) == 0  # views of one memory still are


class Churn(scriptlang.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = [0, 0]

    def forward(self, n: int) -> int:
        for k in range(n):
            self.last = [k, k + 1, n]
        return n


def test_attributes_are_read_between_calls_of_other_threads():
    """Without a turn, a list would be read that the running call has just dropped."""
    file = io.BytesIO()
    scriptlang.save(scriptlang.script(Churn()), file)
    archive = _native.Archive(file.getvalue())
    n = 300_000
    threads = [threading.Thread(target=archive.call, args=("forward", [n])) for _ in range(2)]
    for t in threads:
        t.start()
    seen = []
    while any(t.is_alive() for t in threads):
        seen.append(archive.attribute("last"))
    for t in threads:
        t.join()
    assert all(v in ([0, 0], [n - 1, n, n]) for v in seen)
    assert archive.attribute("last") == [n - 1, n, n]


@pytest.mark.oracle
def test_pytorch_loads_quantized_modules_and_those_that_restore_themselves():
    import torch

    from .native_save_models import quantized

    model, x = quantized(torch)
    file = io.BytesIO()
    torch.jit.save(model, file)
    archive = _native.Archive(file.getvalue())
    for _ in range(2):
        got = torch.jit.load(io.BytesIO(archive.save()))
        assert torch.equal(got(x), model(x))
        archive.call("forward", [scriptlang.from_numpy(np.asarray(x))])  # now it is restored
