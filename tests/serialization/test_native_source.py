"""The C++ compiler of archives' code against the Python front end: same values, same errors, same
mutation, on every archive that the tests have and on random programs."""

from __future__ import annotations

import io
import math
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from scriptlang.frontend.python.script import compile_text
from scriptlang.interpreter import native
from scriptlang.serialization.archive import read_archive

import scriptlang
from scriptlang.programs.module import ScriptFunction
from tests.interpreter import random_programs

from .archives import FIXTURES, TESTS

_native, WHY = native.load()
pytestmark = pytest.mark.skipif(_native is None, reason=WHY)


@pytest.mark.parametrize("program", ["source_rules", "overloads", "bodies"])
def test_generated_tables_are_fresh(program):
    """`python cpp_loader/tools/generate_....py` brings the file up to date."""
    done = subprocess.run(
        [sys.executable, f"cpp_loader/tools/generate_{program}.py", "--check"],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def without_bytecode(contents: bytes) -> bytes:
    """The same archive as torch.jit.save writes it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(contents)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            short = name.partition("/")[2]
            if short != "bytecode.pkl" and not short.startswith("scriptlang/"):
                new.writestr(name, old.read(name))
    return out.getvalue()


def outcome(call, *args):
    """What a call gives, as text, or the message of its error."""
    try:
        return repr(call(*args))
    except _native.NativeError as e:
        kind, class_name, message, _ = e.args
        return f"{class_name or kind}: {message}"
    except Exception as e:
        return f"{e.__class__.__name__}: {e}".strip().split("\n")[0].split(": index")[0]


@pytest.mark.parametrize(
    "path", [p for p in FIXTURES if p.with_suffix(".npz").exists()], ids=lambda p: p.name
)
def test_archives_give_what_pytorch_gave(path):
    with np.load(path.with_suffix(".npz")) as arrays:
        inputs = [arrays[f"i{k}"] for k in range(len(arrays)) if f"i{k}" in arrays]
        wanted = [arrays[f"o{k}"] for k in range(len(arrays)) if f"o{k}" in arrays]
    archive = _native.Archive(without_bytecode(path.read_bytes()))
    got = archive.call("forward", [scriptlang.from_numpy(x) for x in inputs])
    flat = list(got) if isinstance(got, (tuple, list)) else [got]
    for x, y in zip(flat, wanted):  # of a dict or a text nothing is recorded
        x = x.numpy() if isinstance(x, scriptlang.Tensor) else x
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_every_archive_has_the_methods_that_python_finds(path):
    archive = _native.Archive(without_bytecode(path.read_bytes()))
    assert archive.methods == sorted(read_archive(path).root.type.methods)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_do_the_same(seed):
    try:
        f = compile_text(random_programs.program(seed), {"math": math})["f"]
    except scriptlang.CompileError:
        return  # test_register_code.py says which these are
    file = io.BytesIO()
    scriptlang.save(ScriptFunction(f), file)
    contents = without_bytecode(file.getvalue())
    archive = _native.Archive(contents)
    ours = scriptlang.load(io.BytesIO(contents), engine="python")
    for args in ((3, 0.5), (-2, 3.25)):
        want = outcome(ours, *args)
        got = outcome(lambda *a: archive.call("forward", list(a)), *args)
        assert same(got, want), f"{got}\n{want}"


BACKWARD = """
def backward(g: Tensor, y: Tensor) -> Tensor:
    return torch.ops.aten.tanh_backward(g, y) + torch.ops.aten.threshold_backward(g, y, 0.25)
"""


@pytest.mark.parametrize("take", [bytes, without_bytecode], ids=["bytecode", "code"])
def test_operators_whose_body_is_in_the_language(take):
    file = io.BytesIO()
    scriptlang.save(ScriptFunction(compile_text(BACKWARD)["backward"]), file)
    archive = _native.Archive(take(file.getvalue()))
    assert archive.missing == []
    g, y = np.array([1.0, 2.0], np.float32), np.array([0.5, 0.125], np.float32)
    got = archive.call("forward", [scriptlang.from_numpy(v) for v in (g, y)])
    np.testing.assert_allclose(got.numpy(), g * (1 - y * y) + np.where(y > 0.25, g, 0))


ZERO = "division by 0", "division by zero", "modulo by zero"


def same(got: str, want: str) -> bool:
    """The class of an error in front may be the program's or Python's; keys have quotes or not."""
    if got == want or any(z in got for z in ZERO) and any(z in want for z in ZERO):
        return True
    bare = [text.rpartition(": ")[2].strip("'") for text in (got, want)]
    return "Error" in got and "Error" in want and bare[0] == bare[1]
