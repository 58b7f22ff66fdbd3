"""Which engine runs what."""

import pytest

from scriptlang import types as T
from scriptlang.interpreter import auto, engine as engines, native
from scriptlang.objects import ScriptObject
from tests.interpreter.assemble import function
from tests.interpreter.test_vm import SUM

LACKING = """g(bool b) -> int
    STORE 1
    OP nosuch::operator/0
    RET"""


def test_names():
    assert engines.engine("python").name == "python"
    assert "python" in engines.available() and "python" in engines.describe()
    with pytest.raises(ValueError, match="no engine 'fast'"):
        engines.engine("fast")


def test_an_absent_native_engine_says_why(monkeypatch):
    monkeypatch.setattr(native, "load", lambda: (None, "there is no compiler"))
    engines.engine.cache_clear()
    assert engines.available() == ["python"]
    with pytest.raises(engines.EngineUnavailable, match="there is no compiler"):
        engines.engine("native")
    assert engines.get_num_threads() == 1
    assert "no compiler" in engines.describe()["native"]
    assert engines.engine("auto").run(function(SUM), (4,)) == 6
    engines.engine.cache_clear()


@pytest.fixture
def partial(monkeypatch):
    """A native engine that lacks nosuch::operator."""
    class Partial:
        name = "native"

        def missing(self, f, classes):
            return engines.operators_of(f).keys() & {"nosuch::operator"}

    python = engines.engine("python")
    monkeypatch.setattr(auto, "available", lambda: ["python", "native"])
    monkeypatch.setattr(auto, "engine", lambda name: Partial() if name == "native" else python)


def test_auto_takes_native_where_it_has_everything(partial):
    chooser = auto.AutoEngine()
    assert chooser.chosen(function(SUM)).name == "native"
    assert chooser.chosen(function(LACKING)).name == "python"


def test_an_object_has_one_engine_for_all_its_methods(partial):
    cls = T.ClassType("__torch__.M", is_module=True)
    cls.methods["forward"] = function(SUM)
    assert engines.choose("auto", ScriptObject(cls)).name == "native"
    cls.methods["other"] = function(LACKING)
    assert engines.choose("auto", ScriptObject(cls)).name == "python"


def test_operators_are_counted_through_calls():
    f = function("f(int n) -> int\nSTORE 1\nLOAD 1\nCALL g\nCALL g\nRET",
                 functions={"g": function(SUM)})
    assert engines.operators_of(f) == {"aten::add.int": 1}
