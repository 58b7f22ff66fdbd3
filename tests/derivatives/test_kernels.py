"""Kernels of derivatives against PyTorch: norms, softmax, convolutions, on both engines."""

from __future__ import annotations

import io

import numpy as np
import pytest

import scriptlang

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
F = torch.nn.functional


def batch_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.batch_norm(x, None, None, w, b, True)


def batch_norm_plain(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.batch_norm(x, None, None, training=True) * w.sum() + b.sum()


def batch_norm_known(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.batch_norm(x, b.detach(), w.detach() * w.detach() + 1.0, w, b, False)


def layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, w.size(), w, b)


def layer_norm_plain(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, w.size()) * w + b


def group_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.group_norm(x, 2, w, b)


def group_norm_parts(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    n, c = x.size(0), x.size(1)
    y, mean, rstd = torch.native_group_norm(x, w, b, n, c, x.numel() // (n * c), 2, 1e-3)
    return y.sum() * mean.square().sum() + rstd.exp().sum()


def softmax(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x * w.sum(), 1) + b.sum()


def log_softmax(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(x * w.sum(), -1) + b.sum()


CASES = {
    "batch_norm 2d": (batch_norm, (5, 6), (6,)),
    "batch_norm 3d": (batch_norm, (3, 6, 4), (6,)),
    "batch_norm 4d": (batch_norm, (3, 6, 5, 7), (6,)),
    "batch_norm of one image": (batch_norm, (1, 3, 70, 70), (3,)),
    "batch_norm of many images": (batch_norm, (200, 3), (3,)),
    "batch_norm without weights": (batch_norm_plain, (3, 6, 5, 7), (6,)),
    "batch_norm of known statistics": (batch_norm_known, (3, 6, 5, 7), (6,)),
    "batch_norm of known statistics, columns": (batch_norm_known, (9, 6), (6,)),
    "layer_norm": (layer_norm, (4, 3, 17), (17,)),
    "layer_norm of two dimensions": (layer_norm, (4, 3, 17), (3, 17)),
    "layer_norm of all": (layer_norm, (3, 5), (3, 5)),
    "layer_norm of many rows": (layer_norm, (150, 9), (9,)),
    "layer_norm of long rows": (layer_norm, (2, 5000), (5000,)),
    "layer_norm without weights": (layer_norm_plain, (4, 3, 17), (17,)),
    "group_norm": (group_norm, (3, 6, 5, 7), (6,)),
    "group_norm without pixels": (group_norm, (3, 6), (6,)),
    "group_norm with its statistics": (group_norm_parts, (3, 6, 4), (6,)),
    "softmax": (softmax, (3, 6, 5), (2,)),
    "softmax of long rows": (softmax, (2, 4099), (2,)),
    "log_softmax": (log_softmax, (3, 6, 5), (2,)),
}


def close(got, want, what):
    got, want = got.detach().numpy(), want.detach().numpy()
    off = 1e-9 if want.dtype == np.float64 else 2e-4
    scale = np.abs(want).max() if want.size else 0.0
    np.testing.assert_allclose(got, want, off, off * max(scale, 1.0), err_msg=what)


def loaded(function, engine):
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Holding(function)), buffer)
    return scriptlang.load(io.BytesIO(buffer.getvalue()), engine=engine)


def Holding(function):
    scripted = torch.jit.script(function)

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return scripted(x, w, b)

    return Module()


def arrays(size, weight, dtype):
    rng = np.random.default_rng(3)
    made = [rng.normal(size=size) + 0.3, rng.normal(size=weight) + 0.5, rng.normal(size=weight)]
    return [np.asarray(a, dtype) for a in made]


def turned(t):
    """The same elements in another order of memory, which is what a gradient of `t().sum()` is."""
    if t.dim() < 2:
        return t
    return t.transpose(0, -1).contiguous().transpose(0, -1)


@pytest.mark.parametrize("engine", ("python", "native"))
@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("case", CASES)
def test_first_and_second_derivatives(case, dtype, engine):
    function, size, weight = CASES[case]
    inputs = arrays(size, weight, dtype)
    program = loaded(function, engine)
    given = [torch.tensor(a, requires_grad=True) for a in inputs]
    mine = [scriptlang.tensor(a, requires_grad=True) for a in inputs]
    theirs, ours = function(*given), program(*mine)
    close(ours, theirs, "value")
    # A gradient that lies in another order than the input, and is not even.
    along = np.asarray(np.random.default_rng(4).normal(size=theirs.shape), dtype)
    wanted = torch.autograd.grad(
        theirs, given, turned(torch.tensor(along)), create_graph=True, allow_unused=True
    )
    found = scriptlang.autograd.grad(
        ours, mine, turned(scriptlang.tensor(along)), create_graph=True,
        allow_unused=True,
    )  # fmt: skip
    for name, a, b in zip("xwb", found, wanted, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            close(a, b, f"first derivative by {name}")
    if dtype == "float32" or size[-1] > 1000:
        return
    total = sum(g.sin().sum() for g in wanted if g is not None and g.requires_grad)
    again = sum(g.sin().sum() for g in found if g is not None and g.requires_grad)
    second = torch.autograd.grad(total, given, allow_unused=True)
    for name, a, b in zip(
        "xwb", scriptlang.autograd.grad(again, mine, allow_unused=True), second, strict=True
    ):
        want = torch.zeros_like(given["xwb".index(name)]) if b is None else b
        got = scriptlang.zeros_like(mine["xwb".index(name)]) if a is None else a
        close(got, want, f"second derivative by {name}")


SHAPES = [
    # images, channels, outputs, side, kernel, stride, padding, dilation, groups
    (3, 3, 5, 11, 3, 1, 1, 1, 1),
    (2, 16, 33, 9, 3, 2, 1, 1, 1),
    (4, 8, 16, 4, 3, 1, 1, 1, 1),
    (4, 20, 16, 5, 3, 2, 1, 1, 2),
    (3, 8, 8, 8, 5, 1, 2, 1, 1),
    (3, 12, 70, 9, 3, 1, 2, 2, 1),
    (3, 8, 8, 6, 1, 2, 0, 1, 1),
    (2, 6, 6, 9, 3, 1, 1, 1, 6),
    (40, 4, 8, 3, 2, 1, 0, 1, 1),
]


@pytest.mark.parametrize("transposed", (False, True))
@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_convolutions(shape, dtype, transposed):
    images, channels, outputs, side, kernel, stride, padding, dilation, groups = shape
    rng = np.random.default_rng(5)
    sizes = (channels, outputs) if transposed else (outputs, channels)
    x = torch.tensor(np.asarray(rng.normal(size=(images, channels, side, side)), dtype))
    w = torch.tensor(
        np.asarray(rng.normal(size=(sizes[0], sizes[1] // groups, kernel, kernel)), dtype)
    )
    settings = ([stride] * 2, [padding] * 2, [dilation] * 2, transposed, [0, 0], groups)
    y = torch.convolution(x, w, None, *settings)
    g = torch.tensor(np.asarray(rng.normal(size=y.shape), dtype))
    wanted = torch.ops.aten.convolution_backward(g, x, w, None, *settings, [True, True, False])
    a, b, c = (scriptlang.tensor(t.numpy()) for t in (g, x, w))
    close(program_of_convolution(b, c, *settings), y, "value")
    found = program_of_gradients(a, b, c, *settings)
    for name, got, want in zip(("input", "weight"), found, wanted):
        close(got, want, f"gradient of the {name}")


@scriptlang.jit.script
def program_of_convolution(
    x: scriptlang.Tensor,
    w: scriptlang.Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    rest: list[int],
    groups: int,
):
    return scriptlang.convolution(x, w, None, stride, padding, dilation, transposed, rest, groups)


@scriptlang.jit.script
def program_of_gradients(
    g: scriptlang.Tensor,
    x: scriptlang.Tensor,
    w: scriptlang.Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    rest: list[int],
    groups: int,
):
    a, b, _ = torch.ops.aten.convolution_backward(
        g, x, w, None, stride, padding, dilation, transposed, rest, groups, [True, True, False]
    )
    return a, b
