"""Traced modules of scriptlang.nn: attributes, calls of compiled functions, checks, warnings."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from scriptlang.frontend.tracing.trace_checks import TracerWarning, TracingCheckError
from scriptlang.interpreter import engine as engines

import scriptlang as torch
from scriptlang import nn
from scriptlang.errors import CompileError

ENGINES = engines.available()


def x(*shape: int):
    count = int(np.prod(shape))
    return torch.from_numpy(np.arange(count, dtype=np.float32).reshape(shape))


def kinds(function) -> list[str]:
    return [n.kind for n in function.graph.walk() if n.kind != "prim::Constant"]


class Gate(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 100):
            return x * 2
        return x + 1


class Block(nn.Module):
    def __init__(self, gate):
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.gate = gate
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x):
        return self.gate(self.norm(self.linear(x)).relu() + self.shift)

    def scaled(self, x, factor):
        return self.linear(x) * factor


@pytest.mark.parametrize("name", ENGINES)
def test_modules_keep_their_tensors(name):
    module = Block(nn.Identity()).eval()
    traced = torch.jit.trace(module, x(2, 3), engine=name)
    for shape in ((2, 3), (5, 3)):
        assert np.allclose(traced(x(*shape)).detach().numpy(), module(x(*shape)).detach().numpy())
    names = [n for n, _ in traced.named_parameters()]
    assert names == [n for n, _ in module.named_parameters()]
    assert traced.linear.weight.data_ptr() == module.linear.weight.data_ptr()
    file = io.BytesIO()
    traced.save(file)
    again = torch.load(file.getvalue(), engine=name)
    assert np.allclose(again(x(5, 3)).detach().numpy(), module(x(5, 3)).detach().numpy())


def test_compiled_parts_are_called():
    module = Block(torch.jit.script(Gate())).eval()
    traced = torch.jit.trace(module, x(2, 3))
    assert "prim::CallMethod" in kinds(traced.forward)
    for factor in (1, 1000):
        given = x(2, 3) * factor
        got, want = traced(given).detach(), module(given).detach()
        assert np.allclose(got.numpy(), want.numpy(), rtol=1e-4)
    loose = torch.jit.script(Gate())
    with pytest.raises(CompileError, match="no part"):
        torch.jit.trace(lambda x: loose(x), x(2))


def test_compiled_functions_are_called():
    @torch.jit.script
    def gate(x):
        if bool(x.sum() > 100):
            return [x * 2, x]
        return [x + 1, x]

    traced = torch.jit.trace(lambda x: gate(x)[0] * 2, x(2))
    assert kinds(traced) == ["prim::CallFunction", "prim::ListUnpack", "aten::mul"]
    assert traced(x(2) * 200).tolist() == [0.0, 800.0] and traced(x(2)).tolist() == [2.0, 4.0]


def test_further_methods():
    module = Block(nn.Identity()).eval()
    traced = torch.jit.trace_module(module, {"forward": x(2, 3), "scaled": (x(2, 3), x(1) + 2)})
    assert np.allclose(
        traced.scaled(x(4, 3), x(1) + 5).detach().numpy(),
        module.scaled(x(4, 3), x(1) + 5).detach().numpy(),
    )
    with pytest.raises(AttributeError):
        torch.jit.trace_module(module, [x(2, 3)])
    with pytest.raises(AttributeError):
        torch.jit.trace_module(lambda x: x, {"forward": x(1)})


def test_example_inputs_by_name():
    traced = torch.jit.trace(lambda a, b: a - b, example_kwarg_inputs={"b": x(2), "a": x(2)})
    assert traced(x(2) + 5, x(2)).tolist() == [5.0, 5.0]
    assert torch.jit.trace(Block(nn.Identity()).eval().forward, x(2, 3))(x(1, 3)).shape == (1, 4)


def test_sizes_are_results_as_tensors():
    traced = torch.jit.trace(lambda x: (x.size(0), x.shape), x(2, 3))
    rows, shape = traced(x(5, 7))
    assert rows.tolist() == 5 and [n.tolist() for n in shape] == [5, 7]


def test_powers_and_counts_of_sizes():
    traced = torch.jit.trace(
        lambda x: (x * x.size(0) ** 2 + x.size(1) ** 0.5).view(x.numel()), x(2, 4)
    )
    wider = x(3, 9)
    assert np.allclose(traced(wider).numpy(), wider.numpy().ravel() * 9 + 3)


LOOKED_AT = {
    "boolean": lambda x: x * 2 if x.sum() > 0 else x,
    "integer": lambda x: x * int(x.sum()),
    "float": lambda x: x * float(x.sum()),
    "number": lambda x: x * x.sum().item(),
    "NumPy array": lambda x: x + torch.from_numpy(x.numpy()),
    "list": lambda x: x * x.tolist()[0],
    "Using len": lambda x: x * len(x),
}


@pytest.mark.parametrize("what", LOOKED_AT)
def test_what_python_looks_at_is_warned_of(what):
    with pytest.warns(TracerWarning, match=what):
        torch.jit.trace(LOOKED_AT[what], x(2) + 1, check_trace=False)


def test_a_trace_says_that_it_is_one():
    seen = []
    torch.jit.trace(
        lambda x: (seen.append(torch.jit.is_tracing()), x + 1)[1], x(1), check_trace=False
    )
    assert seen == [True] and not torch.jit.is_tracing()


def test_recordings_that_differ():
    calls = []

    def changes(x):
        calls.append(1)
        return x + 1 if len(calls) == 1 else x * 2

    with pytest.raises(TracingCheckError, match="aten::add.*aten::mul"):
        torch.jit.trace(changes, x(2))

    def draws(x):
        return x + torch.from_numpy(np.random.rand(2).astype(np.float32))

    with pytest.raises(TracingCheckError, match="differed in value across invocations"):
        torch.jit.trace(draws, x(2))


def test_other_inputs_are_checked():
    def f(x):
        return x * x.size(0) if x.size(0) > 2 else x

    with pytest.raises(TracingCheckError):
        torch.jit.trace(f, x(2), check_inputs=[(x(2),), (x(3),)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.jit.trace(f, x(3), check_inputs=[(x(3),), (x(4),)])


REFUSED = {
    "returned nothing": lambda x: None,
    "dict": lambda x: {"a": x},
    "int": lambda x: (x, 3),
    "only Tensors": lambda x: [[x]],
}


@pytest.mark.parametrize("why", REFUSED)
def test_results_that_are_refused(why):
    with pytest.raises(CompileError, match=why) as caught:
        torch.jit.trace(REFUSED[why], x(2), check_trace=False)
    assert caught.value.span is not None


def test_a_list_as_a_result_warns():
    with pytest.warns(TracerWarning, match="list at the output"):
        torch.jit.trace(lambda x: [x, x + 1], x(2), check_trace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = torch.jit.trace(lambda x: {"a": [x, x + 1]}, x(2), strict=False)
    assert traced(x(2))["a"][1].tolist() == [1.0, 2.0]


def test_a_compiled_module_is_traced_already():
    scripted = torch.jit.script(Gate())
    with pytest.warns(UserWarning, match="already a ScriptModule"):
        assert torch.jit.trace(scripted, x(2)) is scripted
