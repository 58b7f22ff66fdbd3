"""Archives as the native engine reads them against archives as Python reads them: the same values,
state, text, errors and mutation; and what the native road leaves unimported."""

from __future__ import annotations

import gc
import io
import math
import threading
import weakref

import numpy as np
import pytest
from scriptlang.frontend.python.script import compile_text
from scriptlang.interpreter import native
from scriptlang.serialization import native_archive

import scriptlang
from scriptlang.ops.calling import dispatch
from scriptlang.programs.module import ScriptFunction
from tests import children
from tests.interpreter import random_programs

from .archives import FIXTURES, TESTS, changed, records, zipped

_native, WHY = native.load()
pytestmark = pytest.mark.skipif(_native is None, reason=WHY)


def plain(contents: bytes) -> bytes:
    """The same archive as torch.jit.save writes it."""
    return zipped(
        {
            name: value
            for name, value in records(contents).items()
            if name.partition("/")[2] != "bytecode.pkl" and "/scriptlang/" not in name
        }
    )


@pytest.fixture
def both(monkeypatch):
    """Loads an archive on both roads: the Python one, then the native one."""

    def load(contents, engine="auto", **options):
        loaded = []
        for road in ("python", "native"):
            monkeypatch.setenv(native_archive.VARIABLE, road)
            loaded.append(scriptlang.load(io.BytesIO(contents), engine=engine, **options))
        return loaded

    return load


def is_native(module) -> bool:
    return type(module._raw_.slots) is not list


def shown(value) -> object:
    """A value as something that compares: tensors by their bits."""
    if isinstance(value, scriptlang.Tensor):
        if value.is_quantized:
            return str(value.dtype), repr(value), value.int_repr().numpy().tobytes()
        return str(value.dtype), tuple(value.shape), value.detach().contiguous().numpy().tobytes()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shown(v) for v in value]
    if isinstance(value, dict):
        return [(shown(k), shown(v)) for k, v in value.items()]
    return type(value).__name__, repr(value)


def outcome(call, *args, **kwargs) -> object:
    """What a call gives or raises, with the script stack in the text of the error."""
    try:
        return shown(call(*args, **kwargs))
    except Exception as e:
        return type(e).__name__, [c.__name__ for c in type(e).__mro__], str(e), stack_of(e)


def stack_of(e: Exception) -> list[str]:
    return [str(frame) for frame in getattr(e, "script_stack", ())]


def state(module) -> object:
    return [(name, shown(t)) for name, t in module.state_dict().items()]


def inputs_of(path) -> list[list]:
    if not path.with_suffix(".npz").exists():
        return []
    with np.load(path.with_suffix(".npz")) as arrays:
        found = [arrays[f"i{k}"] for k in range(len(arrays)) if f"i{k}" in arrays]
    return [[scriptlang.from_numpy(x.copy()) for x in found]]


LEFT = ("language", "quantized_lstm", "quantized_net")
"""Archives that Python reads: code of theirs runs while they are loaded, or around `forward`."""


def same_modules(a, b) -> None:
    """What can be asked of two modules, before and after calls."""
    assert a._type.name == b._type.name
    assert a.training == b.training
    assert dir(a) == dir(b)
    assert repr(a) == repr(b)
    for x, y in zip(a.modules(), b.modules()):
        assert [(s.name, s.type.annotation, s.kind) for s in x._type.attributes] == [
            (s.name, s.type.annotation, s.kind) for s in y._type.attributes
        ]
        assert x._type.constants.keys() == y._type.constants.keys()
        assert x._type.properties == y._type.properties
        assert {n: str(f.schema) for n, f in x._type.methods.items()} == {
            n: str(f.schema) for n, f in y._type.methods.items()
        }
    assert state(a) == state(b)
    assert [n for n, _ in a.named_parameters()] == [n for n, _ in b.named_parameters()]
    assert [n for n, _ in a.named_buffers()] == [n for n, _ in b.named_buffers()]


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_archives_are_the_same(path, both):
    a, b = both(plain(path.read_bytes()))
    assert is_native(b) or path.stem in LEFT, "Python has read it"
    for args in inputs_of(path):
        for _ in range(2):  # some keep a state
            assert outcome(a, *args) == outcome(b, *args)
    same_modules(a, b)
    assert a.code == b.code
    for wrong in ([], ["text"], [None], [1, 2, 3, 4, 5, 6, 7, 8, 9]):
        assert outcome(a, *wrong) == outcome(b, *wrong)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_archives_are_the_same_once_they_are_asked_first(path, both):
    a, b = both(plain(path.read_bytes()))
    same_modules(a, b)
    for m in (a, b):
        m.train()
        m.eval()
        m.double()
    assert state(a) == state(b)
    saved = []
    for m in (a, b):
        saved.append(m.save_to_buffer())
    if path.stem != "attributes":  # what its lists share are copies, which share memory
        assert saved[0] == saved[1]
    a, b = (scriptlang.load(io.BytesIO(s), engine="python") for s in saved)
    assert state(a) == state(b)
    for args in inputs_of(path):
        assert outcome(a, *args) == outcome(b, *args)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_are_the_same(seed, both):
    try:
        f = compile_text(random_programs.program(seed), {"math": math})["f"]
    except scriptlang.CompileError:
        return
    file = io.BytesIO()
    scriptlang.save(ScriptFunction(f), file)
    a, b = both(plain(file.getvalue()))
    for args in ((3, 0.5), (-2, 3.25)):
        assert outcome(a, *args) == outcome(b, *args)


RAISING = """
from typing import Dict, List
def inner(x: Tensor, i: int) -> Tensor:
    y = (x + 1).relu()
    return (y)[i] + torch.mm(x, x)

def fails(n: int, d: Dict[str, int], l: List[int]) -> int:
    if n == 0:
        raise ValueError("none")
    if n == 1:
        return d["missing"]
    if n == 2:
        return l[7]
    if n == 3:
        a, b = l
        return a + b
    if n == 4:
        return n // (n - 4)
    if n == 5:
        assert n > 5, "too small"
    if n == 6:
        return int(torch.ones([2, 3]).view([5]).sum())
    if n == 7:
        return int(inner(torch.ones([2, 3]), 0).sum())
    if n == 8:
        return int(inner(torch.ones([2, 2]), 5).sum())
    if n == 9:
        return -(int((torch.ones([2, 3]) + torch.ones([4])).sum()) + 1)
    if n == 10:
        return len([torch.ones([i]) + torch.ones([3]) for i in l])
    if n == 11:
        while n > 0:
            n = n - int((torch.ones([2]) @ torch.ones([3])).item())
    return n
"""


@pytest.mark.parametrize("debug", [True, False], ids=["debug", "bare"])
def test_errors_are_the_same(debug, both):
    file = io.BytesIO()
    scriptlang.save(ScriptFunction(compile_text(RAISING)["fails"]), file)
    contents = plain(file.getvalue())
    if not debug:
        kept = records(contents)
        contents = zipped({n: v for n, v in kept.items() if not n.endswith(".debug_pkl")})
    a, b = both(contents)
    for n in range(13):
        assert outcome(a, n, {"a": 1}, [1, 2, 3]) == outcome(b, n, {"a": 1}, [1, 2, 3]), n


def an_input() -> scriptlang.Tensor:
    """Of mlp.script.pt."""
    return inputs_of(TESTS / "data" / "mlp.script.pt")[0][0]


def fixture(name: str) -> bytes:
    return plain((TESTS / "data" / name).read_bytes())


def test_state_is_one_on_both_sides(both):
    results = []
    for m in both(fixture("mlp.script.pt")):
        x = an_input()
        seen = [outcome(m, x)]
        for parameter in m.parameters():
            parameter.detach().add_(0.5)  # seen by the program
        seen.append(outcome(m, x))
        name, _ = next(m.named_parameters())
        owner = m.get_submodule(name.rpartition(".")[0])
        short = name.rpartition(".")[2]
        setattr(owner, short, getattr(owner, short) * 2)  # after it was called
        seen.append(outcome(m, x))
        m.load_state_dict({n: t * 0.25 for n, t in m.state_dict().items()})
        seen.append(outcome(m, x))
        m.train()
        scriptlang.manual_seed(3)
        seen += [outcome(m, x), m.training, [c.training for c in m.children()]]
        m.eval().double()
        seen.append(outcome(m, x.double()))
        for _, child in m.named_modules():
            if "forward" in child._type.methods:
                seen.append(outcome(child.forward, x.double()))
        seen.append(state(m))
        results.append(seen)
    assert results[0] == results[1]


def test_attributes_are_written_by_the_program_and_from_python(both):
    for m in both(fixture("counter.script.pt")):
        before = state(m)
        args = inputs_of(TESTS / "data" / "counter.script.pt")[0]
        m(*args)
        after = state(m)
        assert [k for k, _ in before] == [k for k, _ in after]
    a, b = both(fixture("counter.script.pt"))
    for m in (a, b):
        m(*args)
        for attribute in m._type.attributes:
            assert shown(getattr(m, attribute.name)) == shown(m._object_.get(attribute.name))
    assert state(a) == state(b)
    wrong = [outcome(setattr, m, m._type.attributes[0].name, object()) for m in (a, b)]
    assert wrong[0] == wrong[1]


def test_submodules_keep_their_facades(both):
    for m in both(fixture("resnet.script.pt")):
        for name, child in m.named_children():
            assert getattr(m, name) is child


def test_a_copy_is_another_state(both):
    import copy

    for m in both(fixture("mlp.script.pt")):
        other = copy.deepcopy(m)
        for p in other.parameters():
            p.detach().zero_()
        assert any(float(p.abs().sum()) for p in m.parameters())
        x = an_input()
        assert outcome(other, x) != outcome(m, x)


def test_first_calls_from_many_threads(monkeypatch):
    monkeypatch.setenv(native_archive.VARIABLE, "native")
    contents = fixture("resnet.script.pt")
    args = inputs_of(TESTS / "data" / "resnet.script.pt")[0]
    want = outcome(scriptlang.load(io.BytesIO(contents)), *args)
    for _ in range(5):
        m = scriptlang.load(io.BytesIO(contents))
        got: list = []
        jobs = [lambda: outcome(m, *args)] * 3 + [lambda: (state(m), outcome(m, *args))[1]]
        threads = [threading.Thread(target=lambda j=j: got.append(j())) for j in jobs]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert got == [want] * len(jobs)


def test_what_is_dropped_goes(monkeypatch):
    monkeypatch.setenv(native_archive.VARIABLE, "native")
    m = scriptlang.load(io.BytesIO(fixture("mlp.script.pt")))
    m(an_input())
    kept = weakref.ref(m._type)
    del m
    dispatch.calls.last = None
    gc.collect()
    assert kept() is None


LIGHT = """
import sys, numpy, scriptlang
m = scriptlang.load({path!r})
m.eval()
with numpy.load({inputs!r}) as arrays:
    m(scriptlang.from_numpy(arrays["i0"]))
m.training
heavy = [n for n in sys.modules if n.startswith(("scriptlang.frontend.", "scriptlang.passes"))]
heavy += [n for n in sys.modules if n.startswith("scriptlang.") and n.rpartition(".")[2] in (
    "importer", "materialise", "unpickle", "zip_reader", "compiler", "code", "opcodes", "table")]
print([n for n in heavy if not n.startswith("scriptlang.frontend.python")])  # see foreign.py
"""


def test_a_load_and_a_call_import_no_compiler(tmp_path, monkeypatch):
    path = tmp_path / "m.pt"
    path.write_bytes(fixture("mlp.script.pt"))
    monkeypatch.setenv(native_archive.VARIABLE, "native")
    program = LIGHT.format(path=str(path), inputs=str(TESTS / "data" / "mlp.script.npz"))
    done = children.run("-c", program, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_a_damaged_file_has_the_error_of_python(monkeypatch):
    contents = fixture("mlp.script.pt")
    found = []
    for road in ("python", "auto"):
        monkeypatch.setenv(native_archive.VARIABLE, road)
        for bad in (
            contents[:-100],
            contents[:300],
            changed(contents, _data__version=b"99\n"),
            changed(contents, data_pkl=b"\x80\x02."),
            b"",
        ):
            found.append(outcome(scriptlang.load, io.BytesIO(bad)))
    assert found[:5] == found[5:]


def test_a_changed_tensor_is_found(monkeypatch):
    contents = bytearray(fixture("mlp.script.pt"))
    with_data = scriptlang.load(io.BytesIO(contents))
    raw = next(with_data.parameters()).detach().numpy().tobytes()
    contents[contents.index(raw) + 1] ^= 255
    found = []
    for road in ("python", "auto"):
        monkeypatch.setenv(native_archive.VARIABLE, road)
        found.append(outcome(scriptlang.load, io.BytesIO(contents)))
    assert found[0] == found[1] and found[0][0] == "ArchiveError"


def test_limits_of_reading_are_those_of_python(both, monkeypatch):
    monkeypatch.setenv(native_archive.VARIABLE, "auto")
    with pytest.raises(scriptlang.LimitError):
        limits = scriptlang.Limits(source_bytes=10)
        scriptlang.load(io.BytesIO(fixture("mlp.script.pt")), limits=limits)
    x = an_input()
    for limits in (scriptlang.Limits(memory=10), scriptlang.Limits(memory=20)):
        a, b = both(fixture("mlp.script.pt"), limits=limits)
        assert is_native(b)
        assert outcome(a, x)[0] == outcome(b, x)[0] == "LimitError"


def test_an_unknown_road_is_an_error(monkeypatch):
    monkeypatch.setenv(native_archive.VARIABLE, "footpath")
    with pytest.raises(ValueError, match="SCRIPTLANG_READER"):
        scriptlang.load(io.BytesIO(fixture("mlp.script.pt")))


def test_extra_files_come_along(both):
    contents = records(fixture("mlp.script.pt"))
    top = next(iter(contents)).partition("/")[0]
    contents[f"{top}/extra/note.txt"] = b"hello"
    for road in (0, 1):
        wanted = {"note.txt": "", "none.txt": "default"}
        both(zipped(contents), _extra_files=wanted)[road]
        assert wanted == {"note.txt": b"hello", "none.txt": b""}


@pytest.mark.parametrize("called", [False, True])
def test_tensors_of_attributes_stay_the_same_objects(called, both):
    for m in both(fixture("mlp.script.pt")):
        if called:
            m(an_input())
        first = list(m.parameters())
        assert all(a is b for a, b in zip(first, m.parameters()))
        m.requires_grad_(False)
        assert not any(p.requires_grad for p in m.parameters())
        assert {id(p._storage) for p in first} == {id(p._storage) for p in m.parameters()}


@pytest.mark.parametrize("called", [False, True])
def test_a_copy_after_a_call_has_the_same_values(called, both):
    import copy

    for m in both(fixture("resnet.script.pt")):
        if called:
            m(*inputs_of(TESTS / "data" / "resnet.script.pt")[0])
        assert state(copy.deepcopy(m)) == state(m)
