"""What users of torch.jit reach for on compiled modules and functions, and what is refused."""

from __future__ import annotations

import copy
import io
import zipfile
from typing import Tuple

import numpy as np
import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang import nn
from scriptlang.programs import graph_view, module_hooks

ENGINES = engines.available()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("scale", scriptlang.full([2], 2.0))

    def forward(self, x, k: int = 1):
        if k > 3:
            x = x + 1
        return self.layer(x) * k * self.scale


def x():
    return scriptlang.ones(1, 2)


@pytest.fixture(params=ENGINES)
def m(request):
    return scriptlang.script(Model(), engine=request.param)


# Hooks


def test_hooks_run_around_calls(m):
    seen = []
    before = m(x()).tolist()
    first = m.register_forward_hook(lambda mod, args, out: seen.append((mod is m, out.shape)))
    pre = m.register_forward_pre_hook(
        lambda mod, args, kwargs: seen.append(kwargs), with_kwargs=True
    )
    m(x(), k=2)
    assert seen == [{"k": 2}, (True, (1, 2))]
    first.remove()
    pre.remove()
    for _ in range(3):
        assert m(x()).tolist() == before
    assert len(seen) == 2


def test_hooks_change_arguments_and_results(m):
    plain = m(x() * 3).tolist()
    with m.register_forward_pre_hook(lambda mod, args: (args[0] * 3,)):
        assert m(x()).tolist() == plain
        with m.register_forward_hook(lambda mod, args, out: 7):
            assert m(x()) == 7
        assert m(x()).tolist() == plain
    calls = []
    m.register_forward_hook(lambda *a: calls.append("always"), always_call=True)
    m.register_forward_pre_hook(lambda *a: calls.append("first"), prepend=True)
    with pytest.raises(RuntimeError):
        m("wrong")
    assert calls == ["first", "always"]


def test_hooks_of_submodules_run_when_those_are_called(m):
    calls = []
    m.layer.register_forward_hook(lambda *a: calls.append(1))
    m(x())
    assert not calls  # inside the program nothing is Python
    m.layer(x())
    assert calls == [1]


@pytest.mark.parametrize("name", module_hooks.UNSUPPORTED)
def test_what_modules_refuse_is_refused_by_name(m, name):
    with pytest.raises(RuntimeError, match=f"{name} is not supported on ScriptModules"):
        getattr(m, name)(lambda *a: None)


# Members


def test_members_are_read_and_set(m):
    assert list(m._parameters) == [] and list(m.layer._parameters) == ["weight", "bias"]
    assert list(m._buffers) == ["scale"] and list(m._modules) == ["layer"]
    m.register_buffer("scale", scriptlang.zeros(2))
    assert not m(x()).any()
    m._buffers["scale"] = scriptlang.ones(2)
    m.layer.register_parameter("bias", nn.Parameter(scriptlang.zeros(2)))
    assert not m.layer.bias.any() and m._modules["layer"].weight.shape == (2, 2)
    m.add_module("layer", m.layer)
    for call in (
        lambda: m.register_buffer("other", x()),
        lambda: m.register_parameter("p", None),
        lambda: m.add_module("more", m.layer),
        lambda: m._parameters.pop("scale"),
        lambda: m._buffers.pop("scale"),
        lambda: m.register_buffer("scale", x(), persistent=False),
    ):
        with pytest.raises((RuntimeError, KeyError)):
            call()


def test_saving_to_buffers(m):
    expected = m(x()).tolist()
    assert scriptlang.load(m.save_to_buffer())(x()).tolist() == expected
    lite = m._save_to_buffer_for_lite_interpreter()
    assert any(n.endswith("bytecode.pkl") for n in zipfile.ZipFile(io.BytesIO(lite)).namelist())
    file = io.BytesIO()
    m._save_for_lite_interpreter(file)
    assert file.getvalue() == lite
    assert scriptlang.script(twice).save_to_buffer()


@pytest.mark.oracle
def test_pytorchs_lite_interpreter_runs_what_is_saved_for_it(m):
    import torch
    from torch.jit.mobile import _load_for_lite_interpreter

    there = _load_for_lite_interpreter(io.BytesIO(m._save_to_buffer_for_lite_interpreter()))
    assert np.allclose(there(torch.ones(1, 2)).detach().numpy(), m(x()).numpy())
    assert torch.jit.export_opnames(
        torch.jit.load(io.BytesIO(m.save_to_buffer()))
    ) == scriptlang.jit.export_opnames(m)


def twice(x):
    return x * 2


def text(x):
    return x, "\0"


# Graphs


def test_graphs_are_looked_at_by_methods(m):
    graph = m.graph
    assert [n.kind() for n in graph.nodes()][-2:] == ["prim::GetAttr", "aten::mul"]
    assert [v.debugName() for v in graph.inputs()] == ["self", "x.1", "k"]
    assert [str(v.type()) for v in graph.inputs()][1:] == ["Tensor", "int"]
    assert len(graph.findAllNodes("aten::mul")) == 2 and graph.findNode("aten::foo") is None
    add = graph.findNode("aten::add")
    assert add is not None and graph.findNode("aten::add", recurse=False) is None
    assert add.owningBlock().owningNode().kind() == "prim::If" and add.scopeName() == ""
    assert add.schema() == str(add.ir.schema) and "test_module_api.py" in add.sourceRange()
    assert add.inputsSize() == 3 and add.output().node() == add
    assert add.namedInput("other").toIValue() == 1 and add.inputsAt(0).toIValue() is None
    constant = add.namedInput("other").node()
    assert constant.kindOf("value") == "i" and constant.i("value") == 1
    with pytest.raises(RuntimeError, match="wrong type"):
        constant.s("value")
    (use,) = add.output().uses()
    assert use.offset == 0 and use.user.kind() == "prim::Return"
    assert str(graph) == str(graph.ir) and str(add).startswith("%x : Tensor = aten::add(")
    assert graph.copy().findNode("aten::add") is not None and graph.lint() is None
    with pytest.raises(AttributeError, match="shown, not changed"):
        graph.insertNode
    assert not hasattr(add, "destroy_") and not hasattr(graph, "eraseInput")


def test_graphs_that_are_run(m):
    assert m.graph_for(x()).findNode("prim::CallMethod") is None
    assert m.get_debug_state().graph.findNode("aten::linear") is not None
    assert m.inlined_graph.findNode("prim::CallMethod") is None


def test_code_with_constants():
    code, constants = scriptlang.script(text).code_with_constants
    assert "CONSTANTS.c0" in code and constants.c0 == constants["c0"] == "\0"
    with pytest.raises(AttributeError):
        constants.c7


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_attributes_are_pytorchs():
    import torch

    class Theirs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x)

    ours, theirs = scriptlang.script(Theirs()), torch.jit.script(Theirs())
    missing = {n for n in {*dir(theirs), *dir(torch.jit.ScriptModule)} if not hasattr(ours, n)}
    assert missing <= set(module_hooks.REFUSED), missing - set(module_hooks.REFUSED)
    for name in missing:
        with pytest.raises(AttributeError, match=name):
            getattr(ours, name)
    lacking = {n for n in dir(torch.jit.ScriptFunction) if not hasattr(scriptlang.script(twice), n)}
    assert lacking <= {"_pybind11_conduit_v1_"}
    node = ours.graph.findNode("prim::CallMethod")
    for here, there in (
        (ours.graph, torch._C.Graph),
        (node, torch._C.Node),
        (node.output(), torch._C.Value),
        (node.owningBlock(), torch._C.Block),
        (node.output().type(), torch._C.Type),
    ):
        lacking = {n for n in dir(there) if not n.startswith("__") and not hasattr(here, n)}
        assert lacking <= set(graph_view.REFUSED), (there, lacking - set(graph_view.REFUSED))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_schemas_are_read_as_pytorchs():
    import torch

    ours, theirs = scriptlang.script(branches).schema, torch.jit.script(branches).schema
    assert ours.overload_name == theirs.overload_name and ours.is_mutable == theirs.is_mutable
    for a, b in zip(ours.arguments, theirs.arguments, strict=True):
        for name in ("name", "kwarg_only", "default_value", "N", "alias_info", "is_out"):
            assert getattr(a, name) == getattr(b, name), name
        assert a.has_default_value() == b.has_default_value() and str(a.type) == str(b.type)
        assert str(a.real_type) == str(b.real_type)
    compatible = {"check_forward_compatible_with", "is_backward_compatible_with", "_is_view_op"}
    for here, there in ((ours, theirs), (ours.arguments[0], theirs.arguments[0])):
        lacking = {n for n in dir(there) if not n.startswith("__") and not hasattr(here, n)}
        assert lacking <= compatible | {"_pybind11_conduit_v1_"}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_graphs_show_what_pytorchs_show():
    import torch

    ours, theirs = scriptlang.script(branches).graph, torch.jit.script(branches).graph
    kinds = [[n.kind() for n in g.nodes() if n.kind() != "prim::Constant"] for g in (ours, theirs)]
    assert kinds[0] == kinds[1]
    for kind in ("aten::mul", "prim::If", "aten::add"):
        a, b = ours.findNode(kind), theirs.findNode(kind)
        assert (a is None) == (b is None)
        assert a.schema() == b.schema() and a.outputsSize() == b.outputsSize()
        assert [str(v.type()) for v in a.inputs()] == [str(v.type()) for v in b.inputs()]
        assert [v.type().kind() for v in a.outputs()] == [v.type().kind() for v in b.outputs()]
        assert [v.toIValue() for v in a.inputs()] == [v.toIValue() for v in b.inputs()]


def branches(x, n: int):
    y = x * n
    if n > 2:
        y = y + 1
    return y


class Stated(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = 3

    @scriptlang.jit.export
    def __getstate__(self) -> Tuple[int, bool]:
        return self.x, self.training

    @scriptlang.jit.export
    def __setstate__(self, state: Tuple[int, bool]):
        self.x = state[0] * 10
        self.training = state[1]

    def forward(self) -> int:
        return self.x


def test_a_deep_copy_takes_the_state_that_the_class_gives():
    module = scriptlang.script(Stated())
    assert copy.deepcopy(module)() == 30 and module() == 3


def test_code_does_not_say_the_class_of_self():
    assert scriptlang.script(Stated()).code.startswith("def forward(self) -> int:")


def test_an_uninitialized_module_is_refused():
    class Bare(nn.Module):
        def __init__(self):
            pass

    with pytest.raises(scriptlang.CompileError, match="has not been initialized"):
        scriptlang.script(Bare())


def test_a_callback_follows_a_future():
    future = scriptlang.jit.fork(lambda: 3)
    assert future.then(lambda f: f.wait() + 1).wait() == 4


def test_how_a_module_and_its_keys_are_shown():
    module = scriptlang.script(nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU())))
    assert repr(module).split("\n") == [
        "ScriptModule(",
        "  original_name=Sequential",
        "  (0): ScriptModule(original_name=Linear)",
        "  (1): ScriptModule(",
        "    original_name=Sequential",
        "    (0): ScriptModule(original_name=ReLU)",
        "  )",
        ")",
    ]
    found = module.load_state_dict(module.state_dict())
    assert str(found) == "<All keys matched successfully>"


def test_names_of_the_compilers_errors():
    def tries(x):
        try:
            return x
        except ValueError:
            return x

    with pytest.raises(scriptlang.jit.frontend.NotSupportedError, match="try blocks aren't"):
        scriptlang.script(tries)
