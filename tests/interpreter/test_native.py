"""The native engine does what the Python engine does: values, errors, state, limits."""

import enum
import struct
import sys
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import pytest
from scriptlang.interpreter import native
from scriptlang.interpreter.engine import engine

import scriptlang
from scriptlang import Tensor
from scriptlang import types as T
from scriptlang.errors import LimitError, MissingOperatorError, RunError, ScriptError, script_stack
from scriptlang.limits import Limits
from scriptlang.objects import ScriptObject
from tests.interpreter import test_vm
from tests.interpreter.assemble import function
from tests.interpreter.test_lite import PROGRAMS

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")

torch = scriptlang


def both(f, *args, **options):
    """The result of both engines, which is the same."""
    results = [engine(name).run(f, args, **options) for name in ("python", "native")]
    assert repr(results[0]) == repr(results[1])
    return results[0]


@pytest.mark.parametrize("program, calls", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_programs(program, calls):
    scripted = scriptlang.script(program)._function
    for args in calls:
        assert both(scripted, *args) == program(*args)


@pytest.mark.parametrize("text", [test_vm.SUM])
@pytest.mark.parametrize("n", [0, 1, 10])
def test_loops(text, n):
    assert both(function(text), n) == sum(range(n))


def failure(f, *args, name: str, **options) -> Exception:
    with pytest.raises(Exception) as e:
        engine(name).run(f, args, **options)
    return e.value


def test_errors_are_the_same_with_the_same_stack():
    g = function(test_vm.RAISE.format(name="'builtins.ValueError'").replace("f(", "g("))
    f = function("f(int n) -> int\nSTORE 1\nLOAD 1\nCALL g\nRET", functions={"g": g})
    python, own = (failure(f, 1, name=name) for name in ("python", "native"))
    assert type(own) is type(python) and isinstance(own, ValueError) and str(own) == str(python)
    assert list(map(str, script_stack(own))) == list(map(str, script_stack(python)))
    assert len(script_stack(own)) == 2


def test_exceptions_of_programs_have_their_name():
    f = function(test_vm.RAISE.format(name="'__torch__.TooLoud'"))
    error = failure(f, 1, name="native")
    assert isinstance(error, RunError) and type(error).__name__ == "TooLoud"


def test_a_missing_operator_is_an_error_only_when_reached():
    f = function(
        "f(bool b) -> int\nSTORE 1\nLOAD 1\nJF 3\nOP nosuch::operator/0\nRET\nLOADC 4\nRET"
    )
    assert engine("native").run(f, (False,)) == 4
    assert engine("native").missing(f) == {"nosuch::operator": 1}
    error = failure(f, True, name="native")
    assert isinstance(error, MissingOperatorError) and "nosuch::operator" in str(error)
    assert error.stack[-1].span.text == "OP nosuch::operator/0"


@pytest.mark.parametrize("limits", [Limits(instructions=10_000), Limits(seconds=0.05)])
def test_limits(limits):
    error = failure(function(test_vm.FOREVER), 1, name="native", limits=limits)
    assert isinstance(error, LimitError)


def test_depth_is_limited():
    f = function("f(int x) -> int\nSTORE 1\nLOAD 1\nCALL f\nRET", functions={"f": None})
    f.attributes["code"].functions = [f]
    assert isinstance(failure(f, 1, name="native"), LimitError)


def allocate(n: int) -> Tensor:
    return torch.zeros(n)


def test_memory_is_limited():
    f = scriptlang.script(allocate)._function
    for name in ("python", "native"):
        error = failure(f, 1 << 20, name=name, limits=Limits(memory=1 << 20))
        assert isinstance(error, LimitError), name


def test_state_is_shared_by_python_and_both_engines():
    cls = T.ClassType("__torch__.Counter", is_module=True)
    cls.add_attribute("n", T.INT)
    cls.add_attribute("seen", T.TENSOR)
    up = function(
        "__torch__.Counter.up(Any self, Tensor x) -> int\nSTOREN 1 2\nLOAD 1\nLOAD 1\n"
        "GET_ATTR 0\nLOADC 1\nOP aten::add.int/2\nSET_ATTR 0\nLOAD 1\nLOAD 2\n"
        "SET_ATTR 1\nLOAD 1\nGET_ATTR 0\nRET"
    )
    obj = ScriptObject(cls, [5, None])
    x = np.zeros(2, np.float32)
    assert engine("native").run(up, (obj, x)) == 6
    assert obj.get("n") == 6
    assert engine("python").run(up, (obj, x)) == 7
    obj.set("n", 20)
    assert engine("native").run(up, (obj, x)) == 21
    x[1] = 3
    assert obj.get("seen").tolist() == [0, 3]


def test_methods_behind_interfaces_are_those_of_the_object():
    def one(name, value):
        cls = T.ClassType(f"__torch__.{name}")
        cls.methods["get"] = function(
            f"__torch__.{name}.get(Any self) -> int\nDROP\nLOADC {value}\nRET"
        )
        return ScriptObject(cls)

    f = function("f(Any x) -> int\nSTORE 1\nLOAD 1\nINTERFACE_CALL 'get' 1\nRET")
    assert both(f, one("First", 1)) == 1
    assert both(f, one("Second", 2)) == 2


def test_objects_keep_their_identity():
    cls = T.ClassType("__torch__.Node")
    cls.add_attribute("next", T.ANY)
    a, b = ScriptObject(cls), ScriptObject(cls)
    a.set("next", b)
    b.set("next", a)
    f = function("f(Any x) -> Any\nSTORE 1\nLOAD 1\nGET_ATTR 0\nRET")
    f.attributes["code"].types = [cls]
    assert engine("native").run(f, (a,)) is b
    assert b.get("next") is a


def test_two_classes_of_one_name():
    def one(slot):
        cls = T.ClassType("__torch__.Same")
        cls.add_attribute(slot, T.INT)
        return ScriptObject(cls, [len(slot)])

    f = function(
        "f(Any x, Any y) -> Any\nSTOREN 1 2\nLOAD 1\nGET_ATTR 0\nLOAD 2\nGET_ATTR 0\n"
        "TUPLE_CONSTRUCT 2\nRET"
    )
    assert both(f, one("a"), one("long")) == (1, 4)


class Pair(NamedTuple):
    first: int
    second: List[int]


def make_pair(n: int) -> Pair:
    return Pair(n, [n, n])


def test_named_tuples_are_those_of_python():
    results = [
        engine(name).run(scriptlang.script(make_pair)._function, (3,))
        for name in ("python", "native")
    ]
    assert results[0] == results[1] == (3, [3, 3])
    assert results[1]._fields == ("first", "second")


def views(x: Tensor) -> Tuple[Tensor, Tensor]:
    x[0] = 7
    return x[1:], x


def test_tensors_share_memory():
    f = scriptlang.script(views)._function
    x = np.arange(4, dtype=np.float32)
    tail, whole = engine("native").run(f, (x,))
    assert x[0] == 7
    x[2] = 9
    assert tail.tolist() == [1, 9, 3] and whole.tolist() == [7, 1, 9, 3]
    assert tail._storage is whole._storage


def changes(l: List[int], d: Dict[str, int], o: Optional[str]) -> int:
    l.append(len(d))
    d["new"] = 1
    return len(l) if o is None else len(o)


def test_results_for_containers():
    f = scriptlang.script(changes)._function
    assert both(f, [1], {"a": 2}, None) == 2
    assert both(f, [1], {}, "four") == 4


def test_composites_without_a_kernel_run_their_compiled_body(monkeypatch):
    from scriptlang.interpreter import native_program

    from scriptlang.ops import table

    def g(x: Tensor) -> Tensor:
        return torch.glu(x)

    composite = table.find("aten::glu")
    assert composite.is_composite
    monkeypatch.setattr(
        native_program,
        "has_kernel",
        lambda name: name != "aten::glu" and name in native_program.operators(),
    )
    f = scriptlang.script(g)._function
    assert engine("native").missing(f) == {}
    x = np.arange(6, dtype=np.float32).reshape(1, 6)
    python, own = (engine(name).run(f, (x,)) for name in ("python", "native"))
    np.testing.assert_allclose(own.numpy(), python.numpy(), rtol=1e-6)


def test_unsound_code_is_refused():
    f = function("f(int x) -> int\nSTORE 1\nDROP\nRET")
    assert isinstance(failure(f, 1, name="native"), ScriptError)


def test_print_goes_to_python(capsys):
    def p(n: int) -> None:
        print("n is", n, [1.5], "end")

    f = scriptlang.script(p)._function
    for name in ("python", "native"):
        engine(name).run(f, (3,))
    assert capsys.readouterr().out == "n is 3 [1.5] end\n" * 2


class Color(enum.Enum):
    RED = 1
    GREEN = 2


def mix(c: Color, n: int) -> List[Color]:
    if c == Color.RED and n > 1:
        return [Color.GREEN, c]
    return [c]


def test_enums_go_in_and_out():
    f = scriptlang.script(mix)
    assert [v.name for v in both(f._function, Color.RED, 2)] == ["GREEN", "RED"]
    assert f(Color.GREEN, 2) == [Color.GREEN]
    message = str(failure(f._function, 1, 2, name="native"))
    assert "Expected a value of type '__torch__" in message and "argument 'c'" in message


@pytest.mark.skipif(sys.platform != "linux", reason="reads an ELF file")
def test_variables_of_threads_fit_where_the_c_library_keeps_room():
    """All of a library's thread_locals lie in the static block as soon as one does (thread.h)."""
    with open(native.load()[0].__file__, "rb") as file:
        head = file.read(64)
        assert head[:6] == b"\x7fELF\x02\x01", "64 bits, little-endian"
        (table,) = struct.unpack_from("<Q", head, 32)
        each, count = struct.unpack_from("<HH", head, 54)
        file.seek(table)
        headers = [file.read(each) for _ in range(count)]
    PT_TLS = 7
    sizes = [
        struct.unpack_from("<Q", h, 40)[0]
        for h in headers
        if struct.unpack_from("<I", h)[0] == PT_TLS
    ]
    assert sum(sizes) <= 368  # of 512 that glibc keeps for all libraries together
