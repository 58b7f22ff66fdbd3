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

import scriptlang
from scriptlang.frontend.script import compile_text
from scriptlang.interpreter import native
from scriptlang.interpreter.exceptions import translated
from scriptlang.programs.module import ScriptFunction
from tests.interpreter import random_programs

from .archives import FIXTURES, TESTS

_native, WHY = native.load()
pytestmark = pytest.mark.skipif(_native is None, reason=WHY)


@pytest.mark.parametrize("program", ["source_rules", "overloads", "bodies"])
def test_generated_tables_are_fresh(program):
    """`python cpp_loader/tools/generate_....py` brings the file up to date."""
    done = subprocess.run([sys.executable, f"cpp_loader/tools/generate_{program}.py", "--check"],
                          cwd=TESTS.parent, capture_output=True, text=True)
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
    """What a call gives, as text, or the first line of its error."""
    try:
        return repr(call(*args))
    except Exception as e:
        return str(e).strip().split("\n")[0].split(": index")[0]


@pytest.mark.parametrize("path", [p for p in FIXTURES if p.with_suffix(".npz").exists()],
                         ids=lambda p: p.name)
def test_archives_give_what_pytorch_gave(path):
    with np.load(path.with_suffix(".npz")) as arrays:
        inputs = [arrays[f"i{k}"] for k in range(len(arrays)) if f"i{k}" in arrays]
        wanted = [arrays[f"o{k}"] for k in range(len(arrays)) if f"o{k}" in arrays]
    archive = _native.Archive(without_bytecode(path.read_bytes()))
    got = archive.call("forward", [scriptlang.from_numpy(x) for x in inputs])
    flat = list(got) if isinstance(got, (tuple, list)) else [got]
    assert len(flat) == len(wanted)
    for x, y in zip(flat, wanted):
        np.testing.assert_allclose(x.numpy(), y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_every_archive_has_the_methods_that_python_finds(path):
    archive = _native.Archive(without_bytecode(path.read_bytes()))
    module = scriptlang.load(path, engine="python")
    assert archive.methods == sorted(module._root.type.methods)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_do_the_same(seed):
    try:
        f = compile_text(random_programs.program(seed), {"math": math})["f"]
    except scriptlang.CompileError:
        return                                   # test_register_code.py says which these are
    file = io.BytesIO()
    scriptlang.save(ScriptFunction(f), file)
    contents = without_bytecode(file.getvalue())
    archive = _native.Archive(contents)
    ours = scriptlang.load(io.BytesIO(contents), engine="python")
    for args in ((3, 0.5), (-2, 3.25)):
        want = outcome(ours, *args)
        got = outcome(lambda *a: archive.call("forward", list(a)), *args)
        assert same(got, want), f"{got}\n{want}"


def same(got: str, want: str) -> bool:
    """Errors of a program have their class in front in one, and behind in the other."""
    zero = "division by 0", "ZeroDivisionError", "modulo by zero", "division by zero"
    return got == want or any(z in got for z in zero) and any(z in want for z in zero)
