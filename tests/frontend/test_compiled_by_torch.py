"""`script` and `trace` accept functions, classes and modules that torch.jit has compiled."""

from __future__ import annotations

import io
from typing import Any

import pytest
from scriptlang.interpreter import engine

import scriptlang

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.oracle

ENGINES = [name for name in ("python", "native") if name in engine.available()]


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, 3)
        self.register_buffer("scale", torch.ones(1))
        self.k = 3

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x) * self.scale + self.k

    @torch.jit.export
    def more(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.k


class Around(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + 1


def chosen(x: torch.Tensor) -> torch.Tensor:
    if bool(x.sum() > 0):
        return x + 1
    return x - 1


X = torch.linspace(-1, 2, 25).reshape(1, 1, 5, 5)


def loaded(module):
    stored = io.BytesIO()
    torch.jit.save(module, stored)
    stored.seek(0)
    return torch.jit.load(stored)


WAYS = {
    "scripted": lambda: torch.jit.script(Layer().eval()),
    "traced": lambda: torch.jit.trace(Layer().eval(), X),
    "frozen": lambda: torch.jit.freeze(torch.jit.script(Layer().eval())),
    "traced and frozen": lambda: torch.jit.freeze(torch.jit.trace(Layer().eval(), X)),
    "loaded": lambda: loaded(torch.jit.script(Layer().eval())),
    "optimized": lambda: torch.jit.optimize_for_inference(
        torch.jit.script(torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.ReLU()).eval())
    ),
    "scripted function": lambda: torch.jit.script(chosen),
    "traced function": lambda: torch.jit.trace(lambda x: x * 2 + x.size(0), X),
}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_scripted_and_traced(way, name):
    theirs = WAYS[way]()
    x = scriptlang.from_numpy(X.numpy())
    programs = [scriptlang.script(theirs, engine=name)]
    with pytest.warns(UserWarning, match="tracing it is a no-op"):
        programs.append(scriptlang.trace(theirs, (x,), engine=name))
    if isinstance(theirs, torch.nn.Module):
        around = scriptlang.script(Around(theirs), engine=name)
        assert torch.allclose(torch.from_numpy((around(x) - 1).numpy()), theirs(X), atol=1e-5)
    for program in programs:
        assert torch.allclose(torch.from_numpy(program(x).numpy()), theirs(X), atol=1e-5)
        assert torch.allclose(torch.from_numpy(program(-x).numpy()), theirs(-X), atol=1e-5)


def test_its_exported_methods_are_there():
    assert scriptlang.script(WAYS["scripted"]()).more(scriptlang.ones(1)).item() == 4


@pytest.mark.parametrize("name", ENGINES)
def test_a_trace_keeps_it_as_a_call(name):
    traced = scriptlang.trace(Around(torch.jit.script(chosen)), (torch.ones(2),), engine=name)
    assert traced(scriptlang.ones(2)).tolist() == [3, 3]
    assert traced(scriptlang.full((2,), -1.0)).tolist() == [-1, -1]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k: int):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * x * k

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def squared(x: torch.Tensor):
    return Square.apply(x, 3) + 1


@pytest.mark.parametrize("name", ENGINES)
def test_an_autograd_function_is_its_forward(name, tmp_path):
    program = scriptlang.script(squared, engine=name)
    assert (
        program(scriptlang.ones(2) * 2).tolist()
        == torch.jit.script(squared)(torch.ones(2) * 2).tolist()
    )
    scriptlang.save(program, tmp_path / "squared.pt")
    loaded = torch.jit.load(str(tmp_path / "squared.pt"))
    assert loaded(torch.ones(2) * 2).tolist() == [13, 13]


class Reading(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.k = 3
        return x * ctx.k


def reads(x: torch.Tensor):
    return Reading.apply(x)


def goes_back(x: torch.Tensor):
    return Square.backward(x, x)


def test_forward_that_reads_its_context_is_refused():
    with pytest.raises(scriptlang.errors.CompileError, match="reads its context"):
        scriptlang.script(reads)


def test_backward_by_name_is_a_function_as_any_static_method():
    x = torch.arange(3.0)
    want, nothing = torch.jit.script(goes_back)(x)
    got, none = scriptlang.script(goes_back)(scriptlang.arange(3.0))
    assert nothing is None and none is None and got.tolist() == want.tolist()


class Masked(torch.nn.Module):
    def __init__(self, **settings):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **settings)
        self.encoder = torch.nn.TransformerEncoder(layer, 2)

    def forward(self, x, mask):
        return self.encoder(x, src_key_padding_mask=mask)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "settings",
    [{}, {"activation": "gelu"}, {"norm_first": True}],
    ids=["relu", "gelu", "norm first"],
)
@pytest.mark.parametrize("lengths", [[3, 5, 1], [2, 2, 2], [5, 5, 5]])
def test_a_transformer_encoder_with_a_padding_mask(settings, lengths, name):
    torch.manual_seed(1)
    module = Masked(**settings).eval()
    x, mask = torch.rand(3, 5, 8), torch.arange(5) >= torch.tensor(lengths)[:, None]
    stored = io.BytesIO()
    with torch.no_grad():
        traced = torch.jit.trace(module, (x, mask), check_trace=False)
        expected = traced(x, mask)
    torch.jit.save(traced, stored)
    stored.seek(0)
    ours = scriptlang.from_numpy(x.numpy()), scriptlang.from_numpy(mask.numpy())
    loaded = scriptlang.load(stored, engine=name)(*ours)
    assert torch.allclose(torch.from_numpy(loaded.numpy()), expected, atol=1e-5)
    with scriptlang.no_grad():
        scripted = scriptlang.script(module.encoder, engine=name)(ours[0], None, ours[1])
    kept = ~mask  # nothing is said of what is padded
    assert torch.allclose(torch.from_numpy(scripted.numpy())[kept], expected[kept], atol=1e-5)


@torch.jit.unused
def not_of_the_language(picture, bands=1, *more, **named):
    return [picture.getbands(), bands, lambda: more]


@torch.jit.unused
def counted(picture: Any) -> int:
    return len(picture.getbands())


@pytest.mark.parametrize("fn", [not_of_the_language, counted])
def test_an_unused_function_is_scripted_as_one_that_raises(fn):
    theirs, ours = torch.jit.script(fn), scriptlang.script(fn)
    assert str(ours.schema) == str(theirs.schema)
    assert ours.code == theirs.code
    with pytest.raises(RuntimeError, match="Cannot call @unused methods"):
        ours(1)
