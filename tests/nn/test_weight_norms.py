"""nn.utils.weight_norm and spectral_norm: weights that hooks compute."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang as torch
from scriptlang import nn
from scriptlang.errors import CompileError
from scriptlang.nn import utils


def test_a_weight_is_its_length_and_its_direction():
    layer = nn.Linear(3, 2)
    before, x = layer.weight.detach().clone(), torch.ones(4, 3)
    expected = layer(x).detach()
    assert utils.weight_norm(layer) is layer
    assert sorted(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert torch.allclose(layer(x), expected)
    with torch.no_grad():
        layer.weight_g *= 2
    assert torch.allclose(layer(x) - layer.bias, 2 * (expected - layer.bias))
    layer(x).sum().backward()
    assert layer.weight_g.grad.shape == (2, 1) and layer.weight_v.grad.shape == (2, 3)
    utils.remove_weight_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"] and layer.weight.requires_grad
    assert torch.allclose(layer.weight, 2 * before)
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in Linear"):
        utils.remove_weight_norm(layer)


def test_a_spectral_norm_comes_near_one_in_training():
    torch.manual_seed(0)
    layer = utils.spectral_norm(nn.Conv2d(3, 4, 3))
    x = torch.ones(1, 3, 5, 5)
    for _ in range(60):
        layer(x)
    matrix = layer.weight.detach().reshape(4, -1).numpy()
    assert np.linalg.norm(matrix, 2) == pytest.approx(1, abs=1e-3)
    layer.eval()
    u = layer.weight_u.clone()
    layer(x)
    assert torch.equal(layer.weight_u, u)  # only training iterates
    utils.remove_spectral_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(layer.weight.detach().numpy().reshape(4, -1), matrix, 1e-5, 1e-6)


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
def test_scripting_asks_to_remove_them_and_a_trace_records_them(norm):
    layer, x = getattr(utils, norm)(nn.Linear(3, 2)).eval(), torch.ones(4, 3)
    with pytest.raises(CompileError, match=rf"no function but a .*Norm(.|\n)*remove_{norm}"):
        torch.jit.script(layer)
    traced = torch.jit.trace(layer, (x,))
    assert sorted(traced.state_dict()) == sorted(layer.state_dict())
    assert torch.allclose(traced(x), layer(x))
    with pytest.raises(RuntimeError, match=f"two {norm} hooks on the same parameter weight"):
        getattr(utils, norm)(layer)
    with pytest.raises(ValueError, match="no parameter 'other'"):
        getattr(utils, norm)(nn.Linear(3, 2), "other")


KINDS = {
    "weight, rows": ("weight", "Conv1d", {}, (2, 3, 8)),
    "weight, whole": ("weight", "Linear", {"dim": None}, (2, 3)),
    "weight, columns": ("weight", "ConvTranspose1d", {"dim": 1}, (2, 3, 8)),
    "spectral": ("spectral", "Conv2d", {"n_power_iterations": 2}, (1, 3, 6, 6)),
    "spectral, transposed": ("spectral", "ConvTranspose2d", {}, (1, 3, 5, 5)),
}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_as_in_pytorch(kind):
    oracle = pytest.importorskip("torch")
    norm, layer, options, shape = KINDS[kind]
    values = np.linspace(-0.3, 1, np.prod(shape), dtype=np.float32).reshape(shape)
    found = []
    for library in (torch, oracle):
        library.manual_seed(3)
        m = getattr(library.nn, layer)(3, 4, *[] if layer == "Linear" else [3])
        getattr(library.nn.utils, f"{norm}_norm")(m, **options)
        x = library.from_numpy(values)
        results = []
        for _ in range(3):
            y = m(x)
            (y * y).mean().backward()
            results.append(y)
        results += [p.grad for p in m.parameters()]
        names = [*m.state_dict()]
        m.eval()
        results.append(m(x))
        getattr(library.nn.utils, f"remove_{norm}_norm")(m)
        results += [m(x), m.weight]
        found.append(([*names, *m.state_dict()], [r.detach().numpy() for r in results]))
    (names, ours), (expected_names, theirs) = found
    assert names == expected_names
    for got, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got, expected, 1e-4, 1e-5)
