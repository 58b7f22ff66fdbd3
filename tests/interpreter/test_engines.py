"""Which engine runs what: the choice of engines, by hand and by `auto`."""

import pytest
from scriptlang.interpreter import auto, native
from scriptlang.interpreter import engine as engines
from scriptlang.interpreter.reach import operators_of

import scriptlang
import scriptlang as torch
from scriptlang import types as T
from scriptlang.objects import ScriptObject
from scriptlang.ops import table
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
            return operators_of(f).keys() & {"nosuch::operator"}

    python = engines.engine("python")
    monkeypatch.setattr(auto, "available", lambda: ["python", "native"])
    monkeypatch.setattr(auto, "engine", lambda name: Partial() if name == "native" else python)


def test_auto_takes_native_where_it_has_everything(partial):
    chooser = auto.AutoEngine()
    assert chooser.chosen(function(SUM)).name == "native"
    assert chooser.chosen(function(LACKING)).name == "python"


def test_each_method_of_an_object_runs_where_it_can(partial):
    cls = T.ClassType("__torch__.M", is_module=True)
    cls.methods["forward"] = function(SUM)
    cls.methods["other"] = function(LACKING)
    chooser = engines.choose("auto", ScriptObject(cls))
    assert chooser.name == "native" and chooser.chosen(cls.methods["forward"]).name == "native"
    assert chooser.chosen(cls.methods["other"]).name == "python"


class Counter(scriptlang.nn.Module):
    """Its `again` calls a Python function, which the native engine cannot."""

    def __init__(self):
        super().__init__()
        self.total = scriptlang.zeros(2)
        self.calls = 0

    def forward(self, x: scriptlang.Tensor):
        self.calls += 1
        self.total = self.total + x
        return self.total

    @scriptlang.jit.ignore
    def outside(self, x: scriptlang.Tensor) -> scriptlang.Tensor:
        return x * 2

    @scriptlang.jit.export
    def again(self, x: scriptlang.Tensor):
        return self.forward(self.outside(x))


def test_methods_on_both_engines_share_the_state_of_their_object():
    m, one = scriptlang.script(Counter(), engine="auto"), scriptlang.ones(2)
    assert m(one).tolist() == [1, 1] and m.again(one).tolist() == [3, 3]
    assert m(one).tolist() == [4, 4] and m.calls == 3 and m.total.tolist() == [4, 4]


def test_operators_are_counted_through_calls():
    f = function(
        "f(int n) -> int\nSTORE 1\nLOAD 1\nCALL g\nCALL g\nRET", functions={"g": function(SUM)}
    )
    assert operators_of(f) == {"aten::add.int": 1}


@pytest.fixture
def only_in_python():
    """An operator that the native engine lacks: it has all that PyTorch's programs call."""
    name = "aten::only_in_python"
    table.declare(f"{name}(Tensor x) -> Tensor", lambda x: x * 2, "primitive")
    yield
    del table._operators[name]


def doubled(x: scriptlang.Tensor, wanted: bool) -> scriptlang.Tensor:
    noise = scriptlang.rand(2)
    if wanted:
        return torch.ops.aten.only_in_python(x) + noise[0]
    return x + noise[0]


def written(x: scriptlang.Tensor, wanted: bool) -> scriptlang.Tensor:
    x.add_(1)
    if wanted:
        return torch.ops.aten.only_in_python(x)
    return x


@pytest.mark.skipif("native" not in engines.available(), reason="needs the native engine")
def test_what_may_do_without_an_operator_runs_natively_until_it_meets_it(only_in_python):
    x = scriptlang.ones(2, 3, 4)
    program, ours = scriptlang.script(doubled), scriptlang.script(doubled, engine="python")
    chooser = auto.AutoEngine()
    f = program._function
    assert chooser.chosen(f).name == "native"
    outcomes = []
    for run in (lambda wanted: chooser.run(f, (x, wanted)), lambda wanted: ours(x, wanted)):
        scriptlang.manual_seed(3)
        outcomes.append([run(wanted).numpy().tolist() for wanted in (False, True, False)])
    assert outcomes[0] == outcomes[1]  # drawn as often, also where it began again
    assert chooser.chosen(f).name == "python"
    assert chooser.chosen(scriptlang.script(written)._function).name == "python"
