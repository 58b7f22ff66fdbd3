"""Operators of the language: identity, casts, tolist, warnings, devices."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter import native

import scriptlang
from scriptlang import Tensor
from scriptlang.ops import table
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, both_tests, call

ENGINES = ["python"] if native.why_absent() else ["python", "native"]

A = Arrays("prim")
SAMPLES = [
    call("aten::promote_types", a, b) for a in (0, 1, 4, 5, 6, 7, 9, 11, 15) for b in (1, 5, 11)
]
SAMPLES += [call("aten::can_cast", a, b) for a in (4, 6, 11) for b in (4, 6, 11)]
SAMPLES += [
    call("aten::broadcast_shapes", [2, 1], [3]),
    call("aten::_infer_size", [2, 2], [3]),
    call("aten::_size_if_not_equal", [1], [2]),
    call("aten::is_scripting"),
    call("aten::is_autocast_enabled"),
    call("prim::NumToTensor.Scalar", 2.5),
    call("prim::NumToTensor.Scalar", 3),
    call("prim::NumToTensor.bool", True),
    call("prim::is_cuda", A.normal(2)),
    call("prim::itemsize", A.normal(2)),
    call("prim::nbytes", A.normal(2, 3)),
    call("prim::requires_grad", A.normal(2)),
    call("aten::result_type.Scalar_Scalar", 1, 2.5),
]
test_recorded, test_pytorch = both_tests("prim", SAMPLES)


def run(name: str, *args):
    name, _, overload = name.partition(".")
    return table.find(name, overload).kernel(*args)


def test_identity():
    values = [1]
    assert run("aten::__is__", values, values) and run("aten::__isnot__", values, [1])
    assert run("aten::__is__", None, None) and run("aten::__is__", "a", "a")
    assert run("aten::__isnot__", 1, True) and run("aten::__isnot__", 1, None)


def test_tolist_checks_what_the_program_says():
    x = from_numpy(np.array([[1, 2], [3, 4]]))
    assert run("prim::tolist", x, 2, 0) == [[1, 2], [3, 4]]
    with pytest.raises(RuntimeError, match="dimension must match"):
        run("prim::tolist", x, 1, 0)
    with pytest.raises(RuntimeError, match="element type must match"):
        run("prim::tolist", x, 2, 1)


def test_unwrapping_none():
    with pytest.raises(RuntimeError, match="Unwrapping null optional"):
        run("aten::_unwrap_optional", None)


def test_devices():
    assert str(run("aten::device.with_index", "cuda", 1)) == "cuda:1"
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        run("aten::device", "toaster")


def moved(x: Tensor):
    return x.to("cuda")


def moved_and_converted(x: Tensor):
    return x.to(scriptlang.device("cuda", 1), scriptlang.int64)


def made(x: Tensor):
    return scriptlang.zeros([2], device="cuda")


def made_alike(x: Tensor):
    return x.new_ones([2], device="cuda")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("function", [moved, moved_and_converted, made, made_alike])
def test_tensors_lie_on_the_cpu(engine, function):
    with pytest.raises(RuntimeError, match="asks for device 'cuda"):
        scriptlang.script(function, engine=engine)(scriptlang.tensor([1.0]))


def test_print(capsys):
    run("prim::Print", 1, 2.0, "x", [None])
    assert capsys.readouterr().out == "1 2. x [None]\n"


def test_warn():
    with pytest.warns(UserWarning, match="careful"):
        run("aten::warn", "careful", 2)


def test_views_of_the_data_share_it():
    x = from_numpy(np.zeros(2))
    run("prim::data", x).numpy()[0] = 1
    assert x.tolist() == [1, 0]
