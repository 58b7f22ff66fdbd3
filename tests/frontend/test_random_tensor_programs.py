"""Random tensor programs give the same as in PyTorch: values, dtypes, strides, shared memory."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from scriptlang.frontend.python.script import compile_text
from scriptlang.interpreter import native

import scriptlang
from scriptlang.programs.module import ScriptFunction
from tests.frontend.random_tensor_programs import program

ENGINES = ["python"] if native.why_absent() else ["python", "native"]
SEEDS = range(200)


def seen(run, arguments: list) -> list | str:
    """What can be seen of a result and the arguments after a call; or that it raises."""
    try:
        result = [*run(*arguments, 2), *arguments]
    except Exception as error:
        assert isinstance(error, (RuntimeError, IndexError, ValueError)), repr(error)
        return "raises"
    return described(result)


def described(values) -> list:
    found, places = [], {}
    for v in values:
        if not hasattr(v, "stride"):
            found.append(v)
            continue
        size, stride = tuple(v.shape), v.stride()
        start = v.data_ptr() - v.storage_offset() * v.element_size()
        owner = places.setdefault(start, len(places)) if v.numel() else None
        lies = tuple(s for s, n in zip(stride, size) if n > 1) if v.numel() else ()
        found.append((str(v.dtype).split(".")[-1], size, lies, owner, np.array(v.numpy())))
    return found


def differences(got, want) -> list:
    if isinstance(got, str) or isinstance(want, str):
        return [] if type(got) is type(want) else [(got, want)]
    return [
        (i, g, w)
        for i, (g, w) in enumerate(zip(got, want))
        if (
            g != w
            if not isinstance(w, tuple)
            else g[:4] != w[:4]
            or not np.allclose(
                g[4].astype("float64"), w[4].astype("float64"), 1e-4, 1e-5, equal_nan=True
            )
        )
    ]


@pytest.mark.oracle
@pytest.mark.parametrize("seed", SEEDS)
def test_equals_pytorch(seed):
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text, arrays = program(seed, torch)
        unit = torch.jit.CompilationUnit(text)
        with torch.jit.optimized_execution(False):
            want = seen(unit.f, [torch.from_numpy(a).clone() for a in arrays])
    compiled = compile_text(text, {"torch": scriptlang, "Tensor": scriptlang.Tensor})["f"]
    for engine in ENGINES:
        given = [scriptlang.from_numpy(a) for a in copy.deepcopy(arrays)]
        got = seen(ScriptFunction(compiled, engine), given)
        assert not differences(got, want), f"{engine}\n{text}\n{arrays}"
