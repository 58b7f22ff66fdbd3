"""Potentials with gradients inside, optimised: forces, stress and Hessians by straight programs."""

from __future__ import annotations

import io
from typing import Dict, List, Optional, Tuple

import numpy as np
import pytest
from scriptlang.interpreter.arguments import bind
from scriptlang.interpreter.gradients import STRAIGHT

import scriptlang
from tests.derivatives.test_programs import ARCHIVES, arrays, ours, same

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

ENGINES = ("python", "native")


class Crystal(torch.nn.Module):
    """A network of pair distances in a periodic cell; forces and stress by a strain."""

    def __init__(self):
        super().__init__()
        self.kinds = torch.nn.Embedding(4, 3)
        self.net = torch.nn.Sequential(
            torch.nn.Linear(10, 8), torch.nn.SiLU(), torch.nn.Linear(8, 1)
        )
        self.register_buffer("centers", torch.linspace(0.5, 4.0, 4))

    def forward(self, data: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
        positions, cell, edges = data["positions"], data["cell"], data["edges"]
        positions.requires_grad_(True)
        strain = torch.zeros_like(cell)
        strain.requires_grad_(True)
        symmetric = 0.5 * (strain + strain.t())
        moved = positions + positions @ symmetric
        box = cell + cell @ symmetric
        vectors = moved[edges[1]] - moved[edges[0]] + data["shifts"] @ box
        d = torch.linalg.norm(vectors, dim=1)
        radial = torch.exp(-2.0 * (d.unsqueeze(-1) - self.centers).square())
        kinds = self.kinds(data["kinds"])
        features = torch.cat([radial, kinds[edges[0]], kinds[edges[1]]], dim=-1)
        smooth = torch.where(d < 3.0, 0.5 * (1 + torch.cos(np.pi * d / 3.0)), torch.zeros_like(d))
        per_edge = self.net(features).squeeze(-1) * smooth
        per_atom = torch.zeros(positions.size(0), dtype=per_edge.dtype)
        energy = per_atom.scatter_add(0, edges[0], per_edge).sum()
        grads = torch.autograd.grad([energy], [positions, strain], create_graph=self.training)
        forces, virial = grads[0], grads[1]
        assert forces is not None
        assert virial is not None
        volume = torch.linalg.det(cell).abs()
        return {"energy": energy, "forces": -forces, "stress": virial / volume}


class Shared(torch.nn.Module):
    """An energy that does not need one of the inputs; a gradient that may be missing."""

    def forward(
        self, positions: torch.Tensor, field: Optional[torch.Tensor], scale: float
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        x = positions.detach().clone().requires_grad_(True)
        spare = torch.ones(2).requires_grad_(True)
        energy = (x * x).sum() * scale
        if field is not None:
            energy = energy + (x * field).sum()
        found = torch.autograd.grad([energy], [x, spare], allow_unused=True)
        g = found[0]
        assert g is not None
        return g, torch.zeros(1) if found[1] is None else torch.ones(1)


class Curvature(torch.nn.Module):
    """The Hessian row by row, and a vector times it."""

    def forward(self, x: torch.Tensor, v: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        x = x.detach().requires_grad_(True)
        d = (x.unsqueeze(0) - x.unsqueeze(1)).square().sum(-1)
        energy = torch.exp(-d).sum() + (x**4).sum()
        g = torch.autograd.grad([energy], [x], create_graph=True)[0]
        assert g is not None
        flat = g.reshape(-1)
        rows: List[torch.Tensor] = []
        for i in range(flat.size(0)):
            row = torch.autograd.grad([flat[i]], [x], retain_graph=True)[0]
            assert row is not None
            rows.append(row.reshape(-1))
        given: List[Optional[torch.Tensor]] = [v]
        product = torch.autograd.grad([g], [x], given)[0]
        assert product is not None
        return torch.stack(rows), product


def numbers(*size, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).uniform(0, 3, size).astype(np.float32))


def crystal(n: int, m: int):
    rng = np.random.default_rng(n * m)
    return (
        {
            "positions": numbers(n, 3, seed=n),
            "cell": torch.eye(3) * 3 + 0.1 * numbers(3, 3),
            "edges": torch.from_numpy(rng.integers(0, n, (2, m))),
            "shifts": torch.from_numpy(rng.integers(-1, 2, (m, 3)).astype(np.float32)),
            "kinds": torch.from_numpy(rng.integers(0, 4, n)),
        },
    )


CASES = {
    "crystal": (Crystal, [crystal(4, 9), crystal(5, 12), crystal(3, 20), crystal(5, 12)]),
    "shared": (
        Shared,
        [(numbers(n, 3), f, 0.5) for n, f in ((3, None), (3, numbers(3, 3)), (4, None))],
    ),
    "curvature": (Curvature, [(numbers(n, 2), numbers(n, 2, seed=1)) for n in (2, 3)]),
} | {name: (make, [inputs()]) for name, (make, inputs) in ARCHIVES.items()}  # fmt: skip


def mine(value):
    return {k: ours(v) for k, v in value.items()} if isinstance(value, dict) else ours(value)


def why_not(module) -> list[str]:
    """Why calls of an optimised module were recorded."""
    straight = module._type.methods["forward"].attributes[STRAIGHT]
    return [
        made.reason
        for inside in straight.by_engine.values()
        for made in (*inside.kinds.exact.values(), *(p[2] for p in inside.kinds.patterns))
    ]


def stored(make):
    """Return (a potential that PyTorch has scripted, its archive)."""
    torch.manual_seed(0)
    scripted = torch.jit.script(make().eval())
    buffer = io.BytesIO()
    torch.jit.save(scripted, buffer)
    return scripted, buffer.getvalue()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_forces_are_those_of_pytorch(name, engine):
    make, calls = CASES[name]
    scripted, archive = stored(make)
    fast = scriptlang.optimize(scriptlang.load(io.BytesIO(archive), engine=engine))
    for args in [*calls, calls[0]]:
        want = scripted(*args)
        got = fast(*map(mine, args))
        assert same(arrays(got), arrays(want))
    reasons = why_not(fast)
    assert reasons
    assert not any(reasons), reasons


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_graphs_that_an_archive_has(name, engine):
    """A compiled archive has the graphs for all calls; PyTorch loads it, too."""
    make, calls = CASES[name]
    scripted, archive = stored(make)
    target = io.BytesIO()
    kinds = [tuple(map(mine, args)) for args in calls]
    scriptlang.compile_archive(io.BytesIO(archive), target, inputs={"forward": kinds})
    fast = scriptlang.load(io.BytesIO(target.getvalue()), engine=engine)
    straight = fast._type.methods["forward"].attributes[STRAIGHT]
    for args, kind in zip(calls, kinds):
        want = arrays(scripted(*args))
        assert same(arrays(fast(*kind)), want)
        bound = bind(straight.schema, [fast._object_, *kind], None)
        assert straight(engine, bound, None) is not NotImplemented
    again = torch.jit.load(io.BytesIO(target.getvalue()))
    assert same(arrays(again(*calls[0])), arrays(scripted(*calls[0])))


def test_a_caller_who_wants_gradients_gets_them():
    _, archive = stored(Crystal)
    fast = scriptlang.optimize(scriptlang.load(io.BytesIO(archive)))
    args = {k: ours(v) for k, v in crystal(4, 9)[0].items()}
    args["shifts"].requires_grad_()
    got = fast(args)
    assert got["energy"].requires_grad


def test_what_cannot_be_straight_is_recorded():
    class Until(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x.detach().requires_grad_(True)
            y = x * x
            while bool(y.sum() > 1.0):
                y = y * 0.5
            g = torch.autograd.grad([y.sum()], [x])[0]
            assert g is not None
            return g

    scripted, archive = stored(Until)
    fast = scriptlang.optimize(scriptlang.load(io.BytesIO(archive)))
    x = numbers(3)
    assert same(arrays(fast(ours(x))), arrays(scripted(x)))
    assert "depends on elements" in why_not(fast)[0]
