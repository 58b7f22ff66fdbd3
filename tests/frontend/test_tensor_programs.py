"""The programs of tensor_programs.py give the same eagerly, compiled, and in PyTorch."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import scriptlang
from tests.frontend import tensor_programs

RUNS = [
    pytest.param(f.__name__, args, id=f"{f.__name__}-{i}")
    for f, runs in tensor_programs.RUNS
    for i, args in enumerate(runs)
]


def array(kind: str, shape: tuple) -> np.ndarray:
    if kind == "t":
        return np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    count = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    return count % 2 == 0 if kind == "b" else count


def arguments(args: tuple, from_numpy) -> list:
    return [from_numpy(array(*a)) if isinstance(a, tuple) else a for a in args]


def plain(value):
    """Tensors as (dtype name, nested lists), to be compared across packages."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        name = getattr(value.dtype, "name", None) or str(value.dtype).partition(".")[2]
        return name, np.asarray(value.tolist(), dtype=np.float64)
    return getattr(value, "code", value)


def same(a, b) -> bool:
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, tuple):
        return (
            a[0] == b[0]
            and a[1].shape == b[1].shape
            and np.allclose(a[1], b[1], rtol=1e-5, atol=1e-6, equal_nan=True)
        )
    return a == b or isinstance(a, float) and math.isclose(a, b, rel_tol=1e-5)


def run(function, args) -> list:
    result = function(*arguments(args, scriptlang.from_numpy))
    return plain(result)


@pytest.mark.parametrize("name, args", RUNS)
def test_equals_eager(name, args):
    function = getattr(tensor_programs, name)
    assert same(run(scriptlang.script(function, engine="python"), args), run(function, args))


def load_with(module, package: str):
    """The programs with another module as torch."""
    path = Path(tensor_programs.__file__)
    text = path.read_text().replace("import scriptlang as torch", f"import {package} as torch")
    spec = importlib.util.spec_from_file_location(f"programs_of_{package}", path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    exec(compile(text, str(path), "exec"), made.__dict__)
    return made


@pytest.mark.oracle
@pytest.mark.parametrize("name, args", RUNS)
def test_equals_pytorch(name, args):
    import torch

    theirs = torch.jit.script(getattr(load_with(torch, "torch"), name))
    expected = theirs(*arguments(args, torch.from_numpy))
    found = run(scriptlang.script(getattr(tensor_programs, name), engine="python"), args)
    assert same(found, plain(expected))
