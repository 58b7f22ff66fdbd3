"""Programs with gradients inside: scripts, and archives that PyTorch saved, on both engines."""

from __future__ import annotations

import io
from typing import Dict, List, Optional, Tuple

import numpy as np
import pytest

import scriptlang
from tests.derivatives.both import same

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

ENGINES = ("python", "native", "auto")


# Archives


class Radial(torch.nn.Module):
    """Pairs within a cutoff, a network of radial functions, forces and stress."""

    def __init__(self):
        super().__init__()
        self.register_buffer("centers", torch.linspace(0.5, 3.0, 6))
        self.net = torch.nn.Sequential(
            torch.nn.Linear(6, 8), torch.nn.SiLU(), torch.nn.Linear(8, 1)
        )
        self.cutoff = 3.5

    def forward(self, positions: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        positions = positions.detach().requires_grad_(True)
        strain = torch.zeros(3, 3).requires_grad_(True)
        moved = positions + torch.matmul(positions, strain)
        pairs = torch.triu_indices(positions.size(0), positions.size(0), 1)
        d = (moved[pairs[0]] - moved[pairs[1]]).norm(2.0, 1)
        inside = d < self.cutoff
        d = d[inside]
        shape = torch.exp(-((d.unsqueeze(1) - self.centers) ** 2))
        switch = 0.5 * (torch.cos(3.14159265 * d / self.cutoff) + 1)
        energy = (self.net(shape).squeeze(1) * switch).sum()
        grads = torch.autograd.grad([energy], [positions, strain])
        force, stress = grads[0], grads[1]
        assert force is not None
        assert stress is not None
        return energy.detach(), -force, stress


class Messages(torch.nn.Module):
    """Message passing over edges, several rounds in a loop."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(3, 8)
        self.rounds = torch.nn.ModuleList([torch.nn.Linear(17, 8) for _ in range(2)])
        self.norm = torch.nn.LayerNorm(8)
        self.read = torch.nn.Linear(8, 1)

    def forward(
        self, positions: torch.Tensor, kinds: torch.Tensor, edges: torch.Tensor
    ) -> Dict[str, torch.Tensor]:
        positions = positions.detach().requires_grad_(True)
        h = self.embed(kinds)
        source, target = edges[0], edges[1]
        d = (positions[source] - positions[target]).pow(2).sum(1, keepdim=True).sqrt()
        for layer in self.rounds:
            m = torch.nn.functional.silu(layer(torch.cat([h[source], h[target], d], 1)))
            gathered = torch.zeros_like(h).index_add(0, target, m * torch.exp(-d))
            h = self.norm(h + gathered)
        energy = self.read(h).sum()
        g = torch.autograd.grad([energy], [positions], create_graph=self.training)[0]
        assert g is not None
        return {"energy": energy, "forces": -g}


class Ensemble(torch.nn.Module):
    """Networks by kind, whose results are written into a buffer; a Hessian row by row."""

    def __init__(self):
        super().__init__()
        self.nets = torch.nn.ModuleList(
            [torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.CELU(0.1), torch.nn.Linear(5, 1))]
            * 2
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_(True)
        parts = torch.zeros(2, x.size(0))
        for k, net in enumerate(self.nets):
            parts[k] = net(x).squeeze(1)
        energy = (parts.mean(0) ** 3).sum()
        g = torch.autograd.grad([energy], [x], create_graph=True)[0]
        assert g is not None
        rows: List[torch.Tensor] = []
        for v in g.flatten().unbind(0):
            row = torch.autograd.grad([v], [x], retain_graph=True)[0]
            assert row is not None
            rows.append(row.flatten())
        return torch.stack(rows)


class Tensorial(torch.nn.Module):
    """Vectors and their products, symmetrised; einsum and cross."""

    def forward(self, r: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        r = r.detach().requires_grad_(True)
        d = r.unsqueeze(0) - r.unsqueeze(1)
        n = (d * d).sum(-1) + torch.eye(r.size(0), dtype=r.dtype)
        unit = d / n.sqrt().unsqueeze(-1)
        second = torch.einsum("ijk,ijl->ikl", unit, unit)
        trace = torch.diagonal(second, 0, 1, 2).sum(-1)
        twist = torch.cross(unit[0], unit[1], dim=-1)
        energy = (second * second).sum() + trace.sin().sum() + twist.abs().sum()
        g = torch.autograd.grad([energy], [r])[0]
        assert g is not None
        return energy, g


def positions(n: int):
    return torch.from_numpy(np.random.default_rng(n).uniform(0, 3, (n, 3)).astype(np.float32))


ARCHIVES = {
    "radial": (Radial, lambda: (positions(5),)),
    "messages": (
        Messages,
        lambda: (
            positions(4),
            torch.tensor([0, 1, 2, 1]),
            torch.tensor([[0, 1, 2, 3, 0, 2], [1, 0, 3, 2, 2, 0]]),
        ),
    ),
    "ensemble": (Ensemble, lambda: (positions(3),)),
    "tensorial": (Tensorial, lambda: (positions(4),)),
}


def ours(value):
    return scriptlang.from_numpy(value.detach().numpy()) if torch.is_tensor(value) else value


def arrays(value):
    if hasattr(value, "detach"):
        return np.array(value.detach().numpy())
    if isinstance(value, dict):
        return [arrays(value[k]) for k in sorted(value)]
    return [arrays(v) for v in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_of_pytorch(name, engine):
    make, inputs = ARCHIVES[name]
    torch.manual_seed(0)
    scripted = torch.jit.script(make().eval())
    buffer = io.BytesIO()
    torch.jit.save(scripted, buffer)
    args = inputs()
    want = scripted(*args)
    loaded = scriptlang.load(io.BytesIO(buffer.getvalue()), engine=engine)
    for _ in range(2):
        assert same(arrays(loaded(*map(ours, args))), arrays(want))
    again = io.BytesIO()
    scriptlang.save(loaded, again)
    back = torch.jit.load(io.BytesIO(again.getvalue()))
    assert same(arrays(back(*args)), arrays(want))


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_of_an_archive_are_trained(engine):
    torch.manual_seed(0)
    scripted = torch.jit.script(
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    )
    buffer = io.BytesIO()
    torch.jit.save(scripted, buffer)
    loaded = scriptlang.load(io.BytesIO(buffer.getvalue()), engine=engine)
    x = positions(4)
    theirs, mine = list(scripted.parameters()), list(loaded.parameters())
    for _ in range(3):
        scripted(x).pow(2).sum().backward()
        loaded(ours(x)).pow(2).sum().backward()
        with torch.no_grad():
            for p in theirs:
                p -= 0.05 * p.grad
        with scriptlang.no_grad():
            for p in mine:
                p -= 0.05 * p.grad
        assert same(arrays([p.grad for p in mine]), arrays([p.grad for p in theirs]))
        scripted.zero_grad()
        loaded.zero_grad()
        assert all(p.grad is None for p in mine)
    assert same(arrays(mine), arrays(theirs))


# Scripts


def branches(x, flag: bool):
    y = x * 2
    if flag:
        y = y * y
    else:
        y = y.sin()
    return y.sum()


def loop(x, flag: bool):
    y = x
    for k in range(3):
        y = y * x + k
    while bool((y > 100).any()):
        y = y / 2
    return y.sum()


def early(x, flag: bool):
    for k in range(5):
        if k == 3 and flag:
            return (x * k).sum()
    return (x * x).sum()


def containers(x, flag: bool):
    parts = [x * k for k in range(3)]
    named = {"a": parts[1], "b": x.exp()}
    if flag:
        named["a"] = named["b"]
    pair = (named["a"], parts[2])
    return (pair[0] * pair[1]).sum()


def without(x, flag: bool):
    with torch.no_grad():
        scale = (x * x).sum()
    return (x * scale).sum()


def apart(x, flag: bool):
    return (x.detach() * x).sum() + (x.data * x).sum()


def written(x, flag: bool):
    out = torch.zeros_like(x)
    for i in range(x.size(0)):
        out[i] = x[i] * i
    out[0] += x[1]
    return (out * out).sum()


def optional(x, flag: bool):
    y: Optional[torch.Tensor] = None
    if flag:
        y = x * 3
    if y is not None:
        x = x + y
    return x.sum()


SCRIPTS = (branches, loop, early, containers, without, apart, written, optional)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("function", SCRIPTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("flag", [True, False])
def test_scripts_are_recorded(function, flag, engine):
    x = torch.tensor([0.5, 1.5, -1.0], requires_grad=True)
    want = torch.jit.script(function)(x, flag)
    want.backward()
    y = scriptlang.tensor([0.5, 1.5, -1.0], requires_grad=True)
    got = scriptlang.script(function, engine=engine)(y, flag)
    assert got.grad_fn is not None
    got.backward()
    assert same(arrays([got, y.grad]), arrays([want, x.grad]))


def asks(x):
    y = (x * x).sum()
    y.backward()
    g = x.grad
    assert g is not None
    return g, x.requires_grad, y.requires_grad, x.is_leaf


def flags(x):
    y = x.detach()
    a = y.requires_grad
    y.requires_grad_()
    z = y * 2
    with torch.no_grad():
        w = y * 2
    return a, y.requires_grad, z.requires_grad, w.requires_grad, z.detach().requires_grad


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("function", [asks, flags], ids=lambda f: f.__name__)
def test_scripts_ask(function, engine):
    want = torch.jit.script(function)(torch.ones(3, requires_grad=True))
    got = scriptlang.script(function, engine=engine)(scriptlang.ones(3, requires_grad=True))
    assert same(arrays(list(got)), arrays(list(want)))


def changed(x):
    y = x * 1
    z = y * y
    y.add_(1)
    g = torch.autograd.grad([z.sum()], [x])[0]
    assert g is not None
    return g


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_saved_has_changed_with_its_place(engine):
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        scriptlang.script(changed, engine=engine)(scriptlang.ones(3, requires_grad=True))
    if engine == "python":  # the native engine says which operator
        assert "z = y * y" in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_trace_is_recorded(engine):
    traced = scriptlang.jit.trace(lambda x: (x * x).sin(), scriptlang.ones(3), engine=engine)
    x = scriptlang.ones(3, requires_grad=True)
    traced(x).sum().backward()
    assert np.allclose(x.grad.numpy(), 2 * np.cos(1.0))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_frozen_and_optimised_module(engine):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU()
    ).eval()
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(1, 2, 6, 6)).astype(np.float32))
    x.requires_grad_()
    net(x).pow(2).sum().backward()
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(net), buffer)
    module = scriptlang.load(io.BytesIO(buffer.getvalue()), engine=engine)
    module = scriptlang.optimize(scriptlang.freeze(module.eval()))
    mine = scriptlang.from_numpy(x.detach().numpy()).requires_grad_()
    module(mine).pow(2).sum().backward()
    assert np.allclose(mine.grad.numpy(), x.grad.numpy(), 1e-4, 1e-5)


def test_other_threads_have_modes_of_their_own():
    import threading

    seen = {}
    x = scriptlang.ones(2, requires_grad=True)

    def run(name, enabled):
        with scriptlang.set_grad_enabled(enabled):
            for _ in range(200):
                seen.setdefault(name, set()).add((x * 2).requires_grad)

    threads = [threading.Thread(target=run, args=(k, k % 2 == 0)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {0: {True}, 1: {False}, 2: {True}, 3: {False}}


def endless(x):
    y = x.detach().requires_grad_(True)
    for _ in range(10_000_000):
        y = y * 1.0 + 0.5
    return y


def slow(x):
    y = x.detach().requires_grad_(True)
    z = y
    for _ in range(3000):
        z = z * y
    for _ in range(1000):
        g = torch.autograd.grad([z.sum()], [y], create_graph=True)[0]
        assert g is not None
        z = z + g
    return z


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "function, limits",
    [
        (endless, scriptlang.Limits(memory=30_000_000)),
        (endless, scriptlang.Limits(seconds=1)),
        (slow, scriptlang.Limits(seconds=1)),
        (slow, scriptlang.Limits(memory=10_000_000)),
    ],
)
def test_limits_hold_for_what_is_recorded(function, limits, engine):
    program = scriptlang.script(function, engine=engine, limits=limits)
    with pytest.raises(scriptlang.errors.LimitError):
        program(scriptlang.ones(2))


def test_a_deep_graph_goes_away():
    x = scriptlang.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + x
    del y
    assert x.requires_grad
