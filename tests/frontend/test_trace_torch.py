"""Traced functions and modules of torch give the same results as without tracing."""

from __future__ import annotations

import io
import warnings

import pytest
from scriptlang.frontend.tracing.trace_checks import TracerWarning
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang.errors import CompileError

torch = pytest.importorskip("torch")
F = torch.nn.functional
nn = torch.nn

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def rand(*shape: int):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def as_torch(v):
    if isinstance(v, scriptlang.Tensor):
        return torch.from_numpy(v.numpy())
    if isinstance(v, (list, tuple)):
        return type(v)(map(as_torch, v))
    return {k: as_torch(p) for k, p in v.items()} if isinstance(v, dict) else v


def agree(a, b) -> bool:
    if isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and torch.allclose(a, b.detach(), rtol=1e-4, atol=1e-5)
    if isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(agree, a, b))
    return agree(list(a.values()), list(b.values())) if isinstance(b, dict) else a.item() == b


def index_assigned(x):
    y = x.clone()
    y[0] = x[1]
    y[1:, 0] = 3
    return y


def changed(x):
    x.add_(1)
    return x.mul(2)


def tuples(x):
    values, indices = x.max(1)
    return values, (indices, x.split(1, 1)[1])


@torch.jit.script
def branches(x):
    if bool(x.sum() > 100):
        return x * 2
    return x + 1


FUNCTIONS = {
    "size": lambda x: x.size(0),
    "shape": lambda x: x.shape,
    "numel": lambda x: x.view(x.numel()),
    "view": lambda x: x.view(x.size(0) * 3, -1),
    "new": lambda x: x.new_zeros(x.shape) + 1,
    "powers": lambda x: x * x.size(0) ** 2 + x.size(1) ** 0.5,
    "halves": lambda x: x.reshape(x.shape[0] // 2, x.shape[1] * 2),
    "factories": lambda x: torch.zeros(x.size()) + torch.arange(x.size(1)),
    "numbers": lambda x: x * x.size(0) / x.shape[1],
    "constants": lambda x: 1 - x * 2.5 + 3,
    "integers": lambda x: (x.long() * 2.5, x.long() // 2),
    "in place": changed,
    "index assignment": index_assigned,
    "results": tuples,
    "cat": lambda x: torch.cat([x, x], -1),
    "whole slices": lambda x: x[0:2, 1:3] + 1,
    "slices": lambda x: x[: x.size(0) - 1, ..., None],
    "lists": lambda x: x[:, [0, 1]][1:],
    "masks": lambda x: x[x > 0.5],
    "dtypes": lambda x: x.to(torch.float64).half().float(),
    "chunk": lambda x: x.chunk(3, 1)[1].T,
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "pad": lambda x: F.pad(x, (1, 1)),
    "dict": lambda x: {"a": x, "b": x + 1},
    "of torch.jit": lambda x: branches(x * 100) + 1,
    "layer norm": lambda x: F.layer_norm(x, (x.size(1),)),
    "data": lambda x: x.data + x.detach(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function, x, other = FUNCTIONS[name], rand(2, 3), rand(4, 3)
    traced = scriptlang.trace(function, x, strict=False)
    assert agree(as_torch(traced(x.clone())), function(x.clone()))
    assert agree(as_torch(traced(other.clone())), function(other.clone()))


def inputs(*shapes: tuple) -> tuple:
    return tuple(rand(*s) for s in shapes)


MODULES = {
    "linear": (lambda: nn.Linear(3, 4), inputs((2, 3)), inputs((5, 3))),
    "conv": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 2, 3),
            nn.BatchNorm2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(72, 3),
            nn.Dropout(),
        ),
        inputs((1, 1, 8, 8)),
        inputs((3, 1, 8, 8)),
    ),
    "lstm": (lambda: nn.LSTM(3, 4, batch_first=True), inputs((1, 5, 3)), inputs((2, 7, 3))),
    "attention": (
        lambda: nn.MultiheadAttention(4, 2),
        inputs(*[(3, 1, 4)] * 3),
        inputs(*[(5, 2, 4)] * 3),
    ),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(4, 2, 8),
        inputs((3, 1, 4)),
        inputs((5, 2, 4)),
    ),
    "upsample": (lambda: nn.Upsample(scale_factor=2.0), inputs((1, 1, 3, 3)), inputs((1, 1, 5, 4))),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    make, example, other = MODULES[name]
    module = make().eval()
    traced = scriptlang.trace(module, example)
    for args in (example, other):
        assert agree(as_torch(traced(*args)), module(*args))
    assert [n for n, _ in traced.named_parameters()] == [n for n, _ in module.named_parameters()]


@pytest.mark.parametrize("engine", engines.available())
def test_pytorch_loads_what_was_traced(engine):
    module = MODULES["conv"][0]().eval()
    file = io.BytesIO()
    scriptlang.trace(module, rand(1, 1, 8, 8), engine=engine).save(file)
    file.seek(0)
    x = rand(2, 1, 8, 8)
    assert agree(torch.jit.load(file)(x), module(x))


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        if bool(x.sum() > 100):
            return x * 2
        return x + self.w


class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.jit.script(Gate())
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(self.gate(x))


def test_submodules_that_torch_compiled_are_called():
    module = Around().eval()
    traced = scriptlang.trace(module, rand(2, 3))
    assert "prim::CallMethod" in [n.kind for n in traced.forward.graph.ir.nodes]
    for x in (rand(2, 3), rand(2, 3) * 1000):
        assert agree(as_torch(traced(x)), module(x))


def test_torch_is_left_as_it_was():
    before = torch.Tensor.size, torch.Tensor.shape, torch.Tensor.__getitem__, torch._C._is_tracing
    with pytest.raises(ZeroDivisionError):
        scriptlang.trace(lambda x: x / (1 // 0), rand(2))
    assert before == (
        torch.Tensor.size,
        torch.Tensor.shape,
        torch.Tensor.__getitem__,
        torch._C._is_tracing,
    )
    assert type(rand(2).shape) is torch.Size and not torch.jit.is_tracing()


def test_looks_are_warned_of():
    for f in (lambda x: x * 2 if x.sum() > 0 else x, lambda x: x * x.sum().item()):
        with pytest.warns(TracerWarning, match="Converting a tensor"):
            scriptlang.trace(f, rand(2), check_trace=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TracerWarning)
        scriptlang.trace(lambda x: x + 1 if x.size(0) > 1 else x, rand(2), check_trace=False)


def test_a_gradient_has_no_constant():
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(CompileError, match="requires grad as a constant"):
        scriptlang.trace(lambda x: x * w, rand(2))
    constant = w.detach()
    assert agree(as_torch(scriptlang.trace(lambda x: x * constant, rand(2))(rand(2))), rand(2))


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 2, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        return nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)


SIZED = {
    "linspace": (lambda x: torch.linspace(0, 1, x.shape[1]), (rand(2, 3),), (rand(4, 5),)),
    "dimensions stay": (
        lambda x: x.unfold(1, x.shape[0], 1).sum(x.dim() - 1),
        (rand(2, 5),),
        (rand(3, 7),),
    ),
    "classes": (lambda x: F.one_hot(x.argmax(1), x.shape[1] + 1), (rand(3, 2),), (rand(2, 6),)),
    "packed": (
        Packed().eval(),
        (rand(2, 4, 3), torch.tensor([4, 2])),
        (rand(2, 6, 3), torch.tensor([3, 6])),
    ),
}


@pytest.mark.parametrize("name", SIZED)
def test_sizes_that_operators_take_as_plain_ints_are_remembered(name):
    func, example, other = SIZED[name]
    with torch.no_grad():
        traced = scriptlang.trace(func, example, check_trace=False, engine="python")
        assert agree(as_torch(traced(*other)), func(*other))
