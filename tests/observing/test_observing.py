"""Profiles, watched values and comparisons: what they see is what ran, on both engines."""

from __future__ import annotations

import functools
import json
import pathlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang.observing.paths import module_path
from scriptlang.observing.profiling import PROGRAM
from scriptlang.observing.work import flops_of
from scriptlang.ops.calling.current import calls

DATA = pathlib.Path(__file__).parent.parent / "data"
RESNET = DATA / "resnet.script.pt"
LSTM = DATA / "lstm.script.pt"
ENGINES = engines.available()


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture(autouse=True)
def without_gradients():
    """Calls that record derivatives are not looked into."""
    with scriptlang.no_grad():
        yield


@functools.cache
def resnet(engine):
    return scriptlang.load(RESNET, engine=engine).eval()


def image():
    arrays = np.load(RESNET.with_suffix(".npz"))
    return scriptlang.from_numpy(arrays["i0"])


def test_a_profile_has_every_operator_with_its_shapes(engine):
    m, x = resnet(engine), image()
    plain = m(x)
    with scriptlang.profile() as p:
        seen = m(x)
    assert np.allclose(plain.numpy(), seen.numpy(), atol=1e-5)
    assert len(p.calls) == 1 and p.unseen == 0
    kinds = {r.name: r for r in p.rows()}
    conv = kinds["aten::conv2d"]
    assert conv.count == sum(n.kind == "aten::conv2d" for n in m.inlined_graph.walk())
    assert conv.flops > 0 and conv.bytes > 0 and conv.seconds > 0
    assert p.events[0].inputs[0][1] == tuple(x.shape)
    assert sum(r.share for r in p.rows()) == pytest.approx(1, abs=0.01)


def test_rows_are_by_module_line_and_node(engine):
    with scriptlang.profile() as p:
        resnet(engine)(image())
    modules = [r.name for r in p.rows("module")]
    names = {name for name, _ in resnet(engine).named_modules()}
    assert "blocks.0.conv1" in modules and set(modules) <= {*names, "", PROGRAM}
    assert any(":" in r.name for r in p.rows("line"))
    assert len(p.rows("node")) > len(p.rows("operator"))
    with pytest.raises(ValueError, match="by is one of operator"):
        p.rows("colour")
    assert "aten::conv2d" in str(p) and "blocks.0.conv1" in p.table("module", 99)


def test_a_trace_is_what_chrome_reads(engine, tmp_path):
    with scriptlang.profile() as p:
        resnet(engine)(image())
    p.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {e["ph"] for e in events} == {"X"}
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in events)
    assert sum(e["cat"] == "call" for e in events) == 1


def test_calls_that_record_derivatives_are_counted(engine):
    x = image().requires_grad_()
    with scriptlang.enable_grad(), scriptlang.profile() as p:
        y = resnet(engine)(x)
    assert y.requires_grad and p.unseen == 1 and not p.calls
    assert "1 calls were not looked into" in str(p) and "no_grad" in str(p)


def test_nothing_is_left_when_a_profile_is_over(engine):
    m, x = resnet(engine), image()
    with scriptlang.profile() as p:
        m(x)
    count = len(p.events)
    m(x)
    assert len(p.events) == count and calls.observer is None and calls.tracer is None


def test_calls_of_several_threads_are_profiled(engine):
    m, x = resnet.__wrapped__(engine), image()
    with scriptlang.profile() as p:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: m(x), range(6)))
    convolutions = [e for e in p.events if e.place.kind == "aten::conv2d"]
    assert len(p.calls) == 6 and len(convolutions) % 6 == 0
    assert all(e.inputs[0][1][1] == e.inputs[1][1][1] for e in convolutions), "their channels"


def test_tracing_inside_of_a_profile_leaves_it(engine):
    m, x = resnet(engine), image()
    with scriptlang.profile() as p:
        scriptlang.trace(lambda y: y + 1, scriptlang.ones(2))
        m(x)
        m(x)
    assert len([c for c in p.calls if "forward" in c.function]) == 2


def test_two_observers_at_once_are_refused():
    with scriptlang.profile():
        with pytest.raises(RuntimeError, match="another profile or watch"):
            with scriptlang.profile():
                pass


def test_programs_that_raise_leave_a_profile_of_what_ran(engine):
    @scriptlang.script
    def fails(x: scriptlang.Tensor):
        y = x.relu()
        if bool(y.sum() > 0):
            raise ValueError("too much")
        return y

    f = scriptlang.ScriptFunction(fails._function, engine)
    with scriptlang.profile() as p:
        with pytest.raises(Exception, match="too much"):
            f(scriptlang.ones(2))
    assert "aten::Bool.Tensor" in [r.name for r in p.rows()]


def test_loops_and_calls_that_stay_are_profiled(engine):
    @scriptlang.script
    def f(x: scriptlang.Tensor, n: int):
        for i in range(n):
            x = x.matmul(x)
        return x

    g = scriptlang.ScriptFunction(f._function, engine)
    with scriptlang.profile() as p:
        g(scriptlang.ones(4, 4), 5)
    row = next(r for r in p.rows() if r.name == "aten::matmul")
    assert row.count == 5 and row.flops == 5 * 2 * 4 * 4 * 4


def test_a_program_may_call_the_operator_itself():
    """Nobody's profile is confused by what a file of strangers notes in it."""
    graph = scriptlang.script(lambda x: x.relu())._function.graph.copy()
    from scriptlang.ir import Function
    from scriptlang.observing.profiling import note

    node = next(n for n in graph.walk() if n.kind == "aten::relu")
    note(graph, node, 10**9, [node.output], True)
    note(graph, node, -3, [], False)
    function = Function("f", graph=graph)
    function.schema = scriptlang.ir.schema_of_graph("f", graph)
    for engine in ENGINES:
        with scriptlang.profile() as p:
            scriptlang.ScriptFunction(function, engine)(scriptlang.ones(2))
        assert [e.place.kind for e in p.events][:1] != [], engine


def test_watched_values_are_those_of_the_program(engine):
    m, x = resnet(engine), image()
    with m.watch("stem.0", "aten::conv2d") as seen:
        m(x)
    assert [v.module for v in seen] == ["stem.0"] and seen[0].tensor.dim() == 4
    expected = m.stem[0](x)
    assert np.allclose(seen["stem.0"][0].tensor.numpy(), expected.numpy(), atol=1e-5)
    with pytest.raises(KeyError, match="no value of 'nothing'"):
        seen["nothing"]


def test_calls_on_the_short_way_are_watched(engine):
    m, x = scriptlang.load(RESNET, engine=engine), image()
    for _ in range(2):
        m(x)
    with m.watch("stem.0") as seen:
        m(x)
    assert [v.module for v in seen] == ["stem.0"]


def test_calls_that_could_not_be_watched_warn(engine):
    m, x = resnet(engine), image().requires_grad_()
    with scriptlang.enable_grad(), pytest.warns(UserWarning, match="1 calls were not watched"):
        with m.watch("stem.0"):
            m(x)


def test_names_that_nothing_matches_warn(engine):
    m, x = resnet(engine), image()
    with pytest.warns(UserWarning, match=r"no module .* 'stm.0'; there are 'stem.0'"):
        with m.watch("stm.0") as seen:
            m(x)
    assert len(seen) == 0
    with pytest.warns(UserWarning, match=r"no operator .* 'conv2d'; there are 'aten::conv2d'"):
        with m.watch("stem.*", "conv2d"):
            m(x)


def test_only_the_watched_module_is(engine):
    m, other, x = resnet(engine), resnet.__wrapped__(engine), image()
    with m.watch("stem.*", keep=lambda t: t.shape) as seen:
        other(x)
        assert len(seen) == 0
        m(x)
    assert all(isinstance(v.tensor, scriptlang.Size) for v in seen) and len(seen) >= 3


def test_watched_values_are_copies(engine):
    @scriptlang.script
    def f(x: scriptlang.Tensor):
        y = x + 1
        y.mul_(3)
        return y

    from scriptlang.observing.watching import Watch

    g = scriptlang.ScriptFunction(f._function, engine)
    with Watch(operators="aten::add*") as seen:
        g(scriptlang.zeros(2))
    assert seen[0].tensor.tolist() in ([1, 1], [3, 3])


def mlp():
    return scriptlang.load(DATA / "mlp.script.pt", engine="python").eval()


def row():
    return scriptlang.from_numpy(np.load(DATA / "mlp.script.npz")["i0"])


def test_the_same_program_agrees_on_both_engines():
    found = scriptlang.compare(mlp(), "native" if "native" in ENGINES else "python", (row(),))
    assert found.equal and found.compared >= 2 and "all agree" in str(found)


def test_the_first_difference_of_two_versions_is_found():
    a, b = mlp(), mlp()
    name, parameter = next(iter(b.named_parameters()))
    parameter.data.mul_(2.0)
    found = scriptlang.compare(a, b, (row(),))
    assert not found.equal and found.first.step.module == name.rpartition(".")[0]
    assert f"aten::linear in {found.first.step.module}" in str(found) and found.result


def test_what_raises_is_told():
    found = scriptlang.compare(mlp(), "python", ())
    assert not found.equal and "RunError" in str(found)


def test_comparing_leaves_modules_as_they_are():
    m = scriptlang.load(DATA / "counter.script.pt")
    before = m.state_dict()
    scriptlang.compare(m, "python", (scriptlang.ones(3),))
    assert str(before) == str(m.state_dict()) and "scriptlang_observed" not in m._type.methods


@pytest.mark.oracle
def test_values_agree_with_pytorch():
    pytest.importorskip("torch")
    found = scriptlang.compare(DATA / "mlp.script.pt", "torch", (row(),))
    assert found.equal, found


@pytest.mark.parametrize(
    "kind, inputs, outputs, flops",
    [
        ("aten::conv2d", [(1, 3, 8, 8), (4, 3, 3, 3)], [(1, 4, 6, 6)], 2 * 4 * 36 * 27),
        ("aten::linear", [(2, 8), (4, 8)], [(2, 4)], 2 * 2 * 4 * 8),
        ("aten::bmm", [(2, 3, 4), (2, 4, 5)], [(2, 3, 5)], 2 * 2 * 3 * 5 * 4),
        ("aten::add.Tensor", [(2, 3), (2, 3)], [(2, 3)], 6),
        ("aten::relu_", [(2, 3)], [(2, 3)], 6),
        ("aten::reshape", [(2, 3)], [(6,)], 0),
        ("aten::conv2d", [], [], 0),
        ("aten::linear", [(2, 8)], [(2, 4)], 0),
        ("mine::own", [(2, 8)], [(2, 4)], 0),
    ],
)
def test_operations_are_counted(kind, inputs, outputs, flops):
    assert flops_of(kind, inputs, outputs) == flops


def test_a_module_that_is_not_known_has_its_class():
    graph = scriptlang.script(lambda x: x.relu())._function
    assert module_path(graph, (("__torch__.models.Block.forward", None),)) == "Block"
