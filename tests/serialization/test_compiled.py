"""Compiled archives: what engines run is kept with the code, and left alone where it is not its."""

from __future__ import annotations

import io
import pathlib
import re
import zipfile

import numpy as np
import pytest
from scriptlang.interpreter.engine import available
from scriptlang.interpreter.prepare import RUNNING
from scriptlang.serialization import compiled

import scriptlang
from scriptlang import types as T
from scriptlang.errors import ArchiveError
from scriptlang.records import replace
from scriptlang.schema import Argument

DATA = pathlib.Path(__file__).parents[1] / "data"
NAMES = (
    "mlp.script",
    "resnet.script",
    "resnet.trace",
    "recurrent.script",
    "attention.trace",
    "counter.script",
)


def compile(name: str, **options) -> bytes:
    target = io.BytesIO()
    scriptlang.compile_archive(DATA / f"{name}.pt", target, **options)
    return target.getvalue()


def test_extra_files_stay():
    source, target = io.BytesIO(), io.BytesIO()
    files = {"labels.txt": b"cat\ndog", "a/b.bin": b"\xff\x00"}
    scriptlang.save(scriptlang.load(DATA / "mlp.script.pt"), source, files)
    scriptlang.compile_archive(io.BytesIO(source.getvalue()), target)
    found = dict.fromkeys(files)
    scriptlang.load(io.BytesIO(target.getvalue()), _extra_files=found)
    assert found == files


def rewritten(archive: bytes, record: str, change) -> bytes:
    """The archive with one record changed."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            contents = old.read(info)
            new.writestr(info, change(contents) if info.filename.endswith(record) else contents)
    return target.getvalue()


def arguments(name: str) -> list[np.ndarray]:
    arrays = np.load(DATA / f"{name}.npz")
    return [arrays[k] for k in sorted(arrays.files) if re.fullmatch(r"i\d+", k)]


def runs_as_kept(module) -> bool:
    return RUNNING in module._type.methods["forward"].attributes


def flat(value) -> list:
    """The leaves of nested containers."""
    if isinstance(value, dict):
        value = [value[k] for k in sorted(value)]
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in flat(part)]
    return [value]


@pytest.mark.parametrize("engine", available())
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_results_stay(name, optimize, engine):
    plain = scriptlang.load(DATA / f"{name}.pt", engine=engine)
    fast = scriptlang.load(compile(name, optimize=optimize), engine=engine)
    assert runs_as_kept(fast)
    for _ in range(2):  # the state of counter moves on
        given = arguments(name)
        for a, b in zip(flat(plain(*given)), flat(fast(*given)), strict=True):
            assert isinstance(b, type(a))
            if isinstance(a, str):
                assert a == b
            else:
                np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_saving_again_gives_the_same_bytes(name):
    def saved(archive: bytes) -> bytes:
        target = io.BytesIO()
        scriptlang.load(archive).save(target)
        return target.getvalue()

    once = saved(compile(name))
    assert saved(once) == once and runs_as_kept(scriptlang.load(once))


def test_weights_are_stored_once():
    assert len(compile("resnet.script")) < 1.3 * (DATA / "resnet.script.pt").stat().st_size


def test_an_optimised_module_is_saved_compiled():
    fast = scriptlang.optimize(scriptlang.load(DATA / "resnet.script.pt"))
    target = io.BytesIO()
    fast.save(target)
    again = scriptlang.load(target.getvalue())
    operators = again._type.methods["forward"].attributes[RUNNING].operators
    assert any(o.name.startswith("scriptlang::") for o in operators)


def test_other_code_is_compiled_anew():
    archive = compile("mlp.script", optimize=False)
    code = next(n for n in zipfile.ZipFile(io.BytesIO(archive)).namelist() if n.endswith(".py"))
    changed = rewritten(archive, code, lambda text: text + b"\n")
    module = scriptlang.load(changed)
    assert not runs_as_kept(module)
    np.testing.assert_array_equal(
        np.asarray(module(*arguments("mlp.script"))),
        np.asarray(scriptlang.load(archive)(*arguments("mlp.script"))),
    )


def test_a_program_of_another_version_is_left_alone():
    archive = compile("mlp.script")
    old = rewritten(archive, compiled.RECORD, lambda text: b"0.0.1" + text[text.index(b"\n") :])
    assert not runs_as_kept(scriptlang.load(old))


@pytest.mark.parametrize("engine", available())
def test_an_unsound_program_is_refused(engine):
    from scriptlang.serialization.bytecode import PROGRAM

    archive = compile("mlp.script", optimize=False)
    underflow = rewritten(archive, PROGRAM, lambda tree: tree.replace(b"LOADC", b"DROPR"))
    unknown = rewritten(archive, PROGRAM, lambda tree: tree.replace(b"RET", b"RTE"))
    for damaged, why in ((underflow, r"instruction \d"), (unknown, "unknown opcode 'RTE'")):
        with pytest.raises(ArchiveError, match=why):
            scriptlang.load(damaged, engine=engine)(*arguments("mlp.script"))


def test_a_program_of_another_signature_is_refused():
    module = scriptlang.load(compile("mlp.script"))
    code = module._type.methods["forward"].attributes[RUNNING]
    code.schema = replace(
        code.schema, arguments=(*code.schema.arguments, Argument("more", T.TENSOR))
    )
    target = io.BytesIO()
    module.save(target)
    with pytest.raises(ArchiveError, match="program.pkl: .*forward takes and gives other values"):
        scriptlang.load(target.getvalue())


def test_compiling_again_runs_what_the_code_says(tmp_path):
    from scriptlang.serialization.bytecode import PROGRAM

    plain = scriptlang.load(DATA / "mlp.script.pt")(*arguments("mlp.script"))
    lying = rewritten(
        compile("mlp.script", optimize=False),
        PROGRAM,
        lambda tree: tree.replace(b"aten::gelu", b"aten::relu"),
    )
    theirs = scriptlang.load(lying)(*arguments("mlp.script"))
    assert any(not np.allclose(a, b) for a, b in zip(flat(plain), flat(theirs), strict=True))
    scriptlang.compile_archive(lying, tmp_path / "ours.pt", optimize=False)
    again = scriptlang.load(tmp_path / "ours.pt")
    assert runs_as_kept(again)
    for a, b in zip(flat(plain), flat(again(*arguments("mlp.script"))), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_module_in_training_mode_is_compiled_as_it_is(tmp_path):
    module = scriptlang.load(DATA / "resnet.script.pt")
    module.train()
    module.save(tmp_path / "training.pt")
    made = scriptlang.compile_archive(tmp_path / "training.pt", tmp_path / "compiled.pt")
    assert made.training and runs_as_kept(scriptlang.load(tmp_path / "compiled.pt"))


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_pytorch_loads_compiled_archives(name):
    torch = pytest.importorskip("torch")
    given = [torch.from_numpy(a) for a in arguments(name)]
    before = torch.jit.load(str(DATA / f"{name}.pt"))(*given)
    after = torch.jit.load(io.BytesIO(compile(name)))(*given)
    for a, b in zip(flat(before), flat(after), strict=True):
        assert isinstance(b, type(a))
        if not isinstance(a, str):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shift", range(0, 16, 3))
def test_tensors_are_aligned_wherever_their_records_lie(shift, tmp_path):
    """Other programs write records at any offset; numbers are read in place where that is right."""
    made = scriptlang.script(scriptlang.nn.Linear(5, 3))
    made.save(tmp_path / "a.pt")
    path = tmp_path / "b.pt"
    with zipfile.ZipFile(tmp_path / "a.pt") as old, zipfile.ZipFile(path, "w") as new:
        for item in old.infolist():
            if item.filename.endswith("/data.pkl"):
                new.writestr(item.filename.replace("data.pkl", "x" * shift), b"")
            new.writestr(item.filename, old.read(item))
    from_file = scriptlang.load(path, engine="python")
    with path.open("rb") as file:
        mapped = scriptlang.load(file, engine="python", mmap=True)
    for loaded in from_file, mapped, scriptlang.load(path.read_bytes(), engine="python"):
        for mine, theirs in zip(loaded.parameters(), made.parameters(), strict=True):
            assert mine.detach().data_ptr() % 16 == 0
            assert mine.equal(theirs)
            mine.detach().zero_()  # the file stays as it is
    again = scriptlang.load(path)
    assert [p.tolist() for p in again.parameters()] == [p.tolist() for p in made.parameters()]
