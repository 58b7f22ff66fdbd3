"""Archives of older formats: operators mean there what they meant then."""

import io

import numpy as np
import pytest
from scriptlang.serialization.upgraders import NEWEST, UPGRADERS

import scriptlang
from scriptlang import Tensor
from tests.serialization.archives import changed, records, zipped


def divide(a: Tensor, b: Tensor):
    return torch.div(a, b)


def divide_number(a: Tensor, b: Tensor):
    return torch.div(a, 2), torch.div(a, 2.0)


def divide_into(a: Tensor, b: Tensor):
    out = torch.zeros([3], dtype=a.dtype)
    return torch.div(a, b, out=out), out


def divide_in_place(a: Tensor, b: Tensor):
    return a.clone().div_(b)


def divide_in_place_by_number(a: Tensor, b: Tensor):
    return a.clone().div_(2)


def divide_with_mode(a: Tensor, b: Tensor):
    return torch.div(a, b, rounding_mode="floor")


def fill(a: Tensor, b: Tensor):
    return torch.full([2], 3), torch.full([2], 3, dtype=torch.int32)


def activate(a: Tensor, b: Tensor):
    return torch.gelu(a / 10.0)


def space(a: Tensor, b: Tensor):
    return torch.linspace(0, 10, 5), torch.logspace(0, 2, 3)


torch = scriptlang

INTS = [7, -7, 9], [2, 2, -4]
FLOATS = [7.0, -7.0, 9.0], [2.0, 2.0, -4.0]

GELU = [0.5306, -0.1694, 0.7343]

CASES = [
    (divide, 3, INTS, ([3, -3, -2], "int64")),
    (divide, 4, INTS, ([3.5, -3.5, -2.25], "float32")),
    (divide, 3, FLOATS, ([3.5, -3.5, -2.25], "float32")),
    (divide_number, 3, INTS, ([3, -3, 4], "int64"), ([3.5, -3.5, 4.5], "float32")),
    (divide_number, 3, FLOATS, ([3.5, -3.5, 4.5], "float32"), ([3.5, -3.5, 4.5], "float32")),
    (divide_into, 3, INTS, ([3, -3, -2], "int64"), ([3, -3, -2], "int64")),
    (divide_into, 3, FLOATS, ([3.5, -3.5, -2.25], "float32"), ([3.5, -3.5, -2.25], "float32")),
    (divide_in_place, 3, INTS, ([3, -3, -2], "int64")),
    (divide_in_place, 3, FLOATS, ([3.5, -3.5, -2.25], "float32")),
    (divide_in_place_by_number, 3, INTS, ([3, -3, 4], "int64")),
    (divide_with_mode, 3, INTS, ([3, -4, -3], "int64")),
    (fill, 4, INTS, ([3.0, 3.0], "float32"), ([3, 3], "int32")),
    (fill, 5, INTS, ([3, 3], "int64"), ([3, 3], "int32")),
    (activate, 9, FLOATS, (GELU, "float32")),
    (space, 7, INTS, ([0.0, 2.5, 5.0, 7.5, 10.0], "float32"), ([1.0, 10.0, 100.0], "float32")),
]


def older(fn, version: int) -> bytes:
    """An archive of a function whose format says `version`."""
    file = io.BytesIO()
    scriptlang.save(scriptlang.script(fn), file)
    return changed(file.getvalue(), version=b"%d\n" % version)


def without_code(archive: bytes) -> bytes:
    return zipped({name: value for name, value in records(archive).items() if "/code/" not in name})


def named(case) -> str:
    return f"{case[0].__name__}-{case[1]}-{type(case[2][0][0]).__name__}"


@pytest.mark.parametrize("load", [lambda a: a, without_code], ids=["code", "bytecode"])
@pytest.mark.parametrize("case", CASES, ids=named)
def test_operators_keep_their_former_meaning(case, load):
    fn, version, arguments, *expected = case
    m = scriptlang.load(load(older(fn, version)), engine="python")
    results = m(*map(scriptlang.tensor, arguments))
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == len(expected)
    for result, (values, dtype) in zip(results, expected):
        assert result.numpy().dtype.name == dtype
        np.testing.assert_allclose(result.numpy(), values, atol=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES, ids=named)
def test_pytorch_gives_the_same(case):
    pytorch = pytest.importorskip("torch")
    fn, version, arguments, *expected = case
    m = pytorch.jit.load(io.BytesIO(older(fn, version)))
    results = m(*map(pytorch.tensor, arguments))
    for result, (values, dtype) in zip(
        results if isinstance(results, tuple) else (results,), expected
    ):
        assert str(result.dtype) == f"torch.{dtype}"
        np.testing.assert_allclose(result.numpy(), values, atol=1e-4)


def test_what_is_saved_again_has_todays_meaning():
    m = scriptlang.load(older(divide, 3), engine="python")
    file = io.BytesIO()
    scriptlang.save(m, file)
    again = scriptlang.load(file.getvalue(), engine="python")
    assert again(scriptlang.tensor([7]), scriptlang.tensor([2])).numpy().tolist() == [3]


def test_absent_steps_were_100():
    archive = older(space, 7)
    (name,) = [n for n in records(archive) if n.endswith(".py")]
    code = records(archive)[name]
    for count in (b"10, 5", b"2, 3"):
        assert code.count(count) == 1
        code = code.replace(count, count[:-1] + b"None")
    key = name.partition("/")[2].replace(".", "_").replace("/", "__")
    m = scriptlang.load(changed(archive, **{key: code}), engine="python")
    points, powers = m(scriptlang.tensor([0.0]), scriptlang.tensor([0.0]))
    assert points.shape == (100,) and powers.shape == (100,)


@pytest.mark.parametrize("qualified", UPGRADERS)
def test_each_former_meaning_compiles(qualified):
    from scriptlang.serialization.upgraders import _replaced

    changed_in, _ = UPGRADERS[qualified]
    name, _, overload = qualified.partition(".")
    function = _replaced(name, changed_in - 1)[overload]
    function.ensure_defined()
    assert function.graph.nodes and overload not in _replaced(name, changed_in)
    assert changed_in <= NEWEST
