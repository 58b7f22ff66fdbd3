"""The programs of tests/cases/programs give the recorded results everywhere: on the native engine,
after a round trip through an archive, and in PyTorch."""

from __future__ import annotations

import ast
import enum
import io
import linecache
import re
import sys
import types
import typing
from pathlib import Path

import pytest
from scriptlang.interpreter import engine

import scriptlang
from scriptlang.objects import EnumValue
from tests import golden

FILES = sorted((Path(golden.__file__).parent / "cases" / "programs").glob("*.case"))
CASES = [
    pytest.param(case, id=f"{path.stem}-{case.title}")
    for path in FILES
    for case in golden.read_cases(path)
]

NAMES = ("Any", "Dict", "List", "NamedTuple", "Optional", "Tuple", "Union")


def defined(case: golden.Case, torch, file: str) -> dict:
    """What the source of a case defines, executed with a module as torch."""
    text = case.input("source")
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    module = sys.modules[file] = types.ModuleType(file)
    module.__file__ = file
    space = module.__dict__
    space.update({"torch": torch, "Tensor": torch.Tensor, **{n: getattr(typing, n) for n in NAMES}})
    exec(compile(text, file, "exec", dont_inherit=True), space)
    return space


def main_of(case: golden.Case) -> str:
    body = ast.parse(case.input("source")).body
    return [d.name for d in body if isinstance(d, (ast.FunctionDef, ast.ClassDef))][-1]


def results(case: golden.Case, space: dict, function) -> list:
    """The values of the runs of a case, to be compared across packages."""
    space = {**space, main_of(case): function}
    return [plain(eval(s.argument, space)) for s in case.sections if s.kind == "run"]


def plain(value):
    if hasattr(value, "tolist"):
        return str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, EnumValue):
        return value.type.name.rpartition(".")[2], value.name
    if isinstance(value, enum.Enum):
        return type(value).__name__, value.name
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value).__name__, value._fields, [plain(v) for v in value]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v) for v in value]
    if isinstance(value, dict):
        return [(plain(k), plain(v)) for k, v in value.items()]
    return type(value).__name__, repr(value)


def scripted(case: golden.Case, name: str):
    """What the case defines, and its last function compiled for an engine."""
    space = defined(case, scriptlang, "case_programs")
    made = space[main_of(case)]
    made = space[main_of(case)] = getattr(made, "python_function", made)
    return space, scriptlang.script(made, engine=name)


@pytest.mark.skipif("native" not in engine.available(), reason="the native engine is not there")
@pytest.mark.parametrize("case", CASES)
def test_native_engine_agrees(case):
    if "torch.jit.ignore" in case.input("source"):
        pytest.skip("only the python engine calls Python")
    space, function = scripted(case, "python")
    native = scriptlang.script(space[main_of(case)], engine="native")
    assert results(case, space, native) == results(case, space, function)


@pytest.mark.parametrize("case", CASES)
def test_an_archive_keeps_it(case):
    space, function = scripted(case, "python")
    stored = io.BytesIO()
    if re.search(r"torch.jit.ignore|: Any\b.*(?s:.)*isinstance\(x, [AC]\)", case.input("source")):
        pytest.skip("depends on what only Python knows")
    scriptlang.save(function, stored)
    stored.seek(0)
    loaded = scriptlang.load(stored, engine="python")
    assert results(case, space, loaded) == results(case, space, function)


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES)
def test_pytorch_agrees(case):
    import torch

    # PyTorch keeps what it compiled by its name: each case is a module of its own.
    theirs = defined(case, torch, "case_of_torch_" + re.sub(r"\W", "_", case.title))
    made = theirs[main_of(case)]
    expected = results(case, theirs, torch.jit.script(made))
    space, function = scripted(case, "python")
    assert results(case, space, function) == expected
