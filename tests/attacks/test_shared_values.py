"""Values that are small but look huge: lists that hold the same list twice, which does, too."""

import io
import pickle
import time

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

import scriptlang
from scriptlang import Limits
from scriptlang.errors import LimitError, RunError
from tests.attacks.test_budgets import DATA, HEAD, archive

X = np.ones(2, np.float32)
LIST, TUPLE, DICT = "List[Any]", "Any", "Dict[str, Any]"

DOUBLED = {
    "lists": "    a = annotate(List[Any], [1, 1])\n    for i in range(100):\n"
    "      a = annotate(List[Any], [a, a])\n",
    "dicts": "    a = annotate(Dict[str, Any], {})\n    for i in range(100):\n"
    '      a = annotate(Dict[str, Any], {"a": a, "b": a})\n',
}
TYPES = {"lists": "List[Any]", "dicts": "Dict[str, Any]"}


@pytest.fixture(params=available())
def load(request):
    def load(body: str, result: str = "Tensor", limits: Limits | None = None, more: str = ""):
        contents = archive(body + more)
        head = HEAD.replace("-> Tensor", f"-> {result}")
        return scriptlang.load(rewritten(contents, head), engine=request.param, limits=limits)

    return load


def rewritten(contents: bytes, head: str) -> bytes:
    """The archive with another head of its source."""
    import zipfile

    file, old = io.BytesIO(), zipfile.ZipFile(io.BytesIO(contents))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as z:
        for name in old.namelist():
            z.writestr(name, old.read(name).replace(HEAD.encode(), head.encode()))
    return file.getvalue()


def depth_of(value) -> int:
    """How deep the first parts lie; what is beside a first part is the same object."""
    depth = 0
    while isinstance(value, (list, dict)) and value:
        parts = list(value.values()) if isinstance(value, dict) else value
        assert parts[0] is parts[1] or isinstance(parts[0], int)
        value, depth = parts[0], depth + 1
    return depth


@pytest.mark.parametrize("kind", DOUBLED)
def test_results_that_share_parts_are_made_once(load, kind):
    start = time.monotonic()
    result = load(DOUBLED[kind] + "    return a\n", TYPES[kind])(X)
    assert depth_of(result) >= 100 and time.monotonic() - start < 20


def test_results_that_share_parts_are_arguments_too(load):
    body = DOUBLED["lists"] + "    return a\n"
    more = "  def back(self: __torch__.M, v: List[Any]) -> List[Any]:\n    return v\n"
    module = load(body, "List[Any]", more=more)
    assert depth_of(module.back(module(X))) >= 100


def test_results_may_hold_themselves(load):
    body = (
        "    a = annotate(List[Any], [1])\n    _0 = torch.append(a, a)\n"
        "    _1 = torch.append(a, (a, 2))\n    return a\n"
    )
    result = load(body, "List[Any]")(X)
    assert result[0] == 1 and result[1] is result and result[2][0] is result


def test_tensors_that_occur_twice_are_one_as_in_pytorch(load):
    a, b = load("    y = torch.add(x, 1)\n    return (y, y)\n", "Tuple[Tensor, Tensor]")(X)
    assert a is b


def test_results_have_a_limit_of_values(load):
    body = (
        "    a = annotate(List[Any], [])\n    for i in range(1000):\n"
        "      _0 = torch.append(a, [i, i, i])\n    return a\n"
    )
    assert len(load(body, "List[Any]")(X)) == 1000
    with pytest.raises(LimitError, match=r"over 500 values.*Limits\(result_values="):
        load(body, "List[Any]", Limits(result_values=500))(X)
    assert len(load(body, "List[Any]", Limits(result_values=None))(X)) == 1000


@pytest.mark.parametrize("kind", DOUBLED)
def test_text_of_shared_parts_ends_at_the_limits(load, kind):
    for limits in (Limits(memory=1 << 21), Limits(memory=1 << 21, seconds=2)):
        with pytest.raises(RunError):
            load(DOUBLED[kind] + "    return torch.str(a)\n", "str", limits)(X)


def test_text_of_what_holds_itself(load):
    body = (
        "    a = annotate(List[Any], [1])\n    _0 = torch.append(a, a)\n"
        "    _1 = torch.append(a, a)\n    _2 = torch.append(a, (a, 2))\n"
        "    return torch.str(a)\n"
    )
    assert load(body, "str")(X) == "[1, [...], [...], ([...], 2)]"


def test_lists_of_shared_parts_are_not_searched(load):
    twice = DOUBLED["lists"]
    body = twice + twice.replace("a =", "b =").replace("[a, a]", "[b, b]")
    body += "    c = annotate(List[Any], [a])\n    return torch.index(c, b)\n"
    with pytest.raises(scriptlang.errors.MissingOperatorError, match="aten::index"):
        load(body, "int")(X)


def test_attributes_that_share_parts_load_and_save(load):
    """The memo of a pickle: 100 levels in some hundred bytes."""
    parts: list = [1, 1]
    for _ in range(60):
        parts = [parts, parts]
    pickled = pickle.dumps(parts, 2)[2:-1]
    data = DATA.replace(b"}X", b"}(X").replace(
        b"\x89sb", b"\x89X\x01\x00\x00\x00a" + pickled + b"ub"
    )
    head = HEAD.replace("  training", "  a : Any\n  training")
    module = scriptlang.load(rewritten(archive("    return x\n", data=data), head))
    file = io.BytesIO()
    module.save(file)
    assert len(file.getvalue()) < 20_000
    assert depth_of(module.a) >= 60


@pytest.mark.skipif("native" not in available(), reason="the native engine is not there")
def test_bytecode_that_names_its_parts_many_times_is_refused():
    """A pickle's memo: a long list of instructions is the same in thousands of functions."""
    from scriptlang.interpreter.native import load as native

    instructions = (("RET", 0, 0),) * 300_000
    table = (
        ("instructions", instructions),
        ("operators", ()),
        ("constants", ()),
        ("types", ()),
        ("register_size", 1),
    )
    functions = tuple((f"f{i}", table) for i in range(1000))
    start = time.monotonic()
    with pytest.raises(Exception, match="once it is decoded"):
        native()[0].Program(functions, {})
    types = (
        ("instructions", ()),
        ("operators", ()),
        ("constants", ()),
        ("register_size", 1 << 20),
        ("types", ()),
    )
    with pytest.raises(Exception, match="once it is decoded"):
        native()[0].Program(tuple((f"f{i}", types) for i in range(1000)), {})
    assert time.monotonic() - start < 30
