"""Archives that PyTorch saved, with gradients inside: both engines, optimised, and saved again.

What is right is what the module gives in PyTorch when it is run as Python: the executor of
torch.jit gives other gradients of `archives.potentials.Ewald` from the second call on.
"""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest

import scriptlang

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

from .archives import fields, message_passing, potentials  # noqa: E402, F401
from .archives.parts import ARCHIVES  # noqa: E402

NOT_BY_THEIRS = {
    "painn": "the gradient of a bias in one of its fused operators fails",
    "spherical": "it takes the gradient of a complex product for a real one",
}
"""Archives -> why torch.jit cannot run them."""


def mapped(value, of):
    """A value with the tensors in it replaced."""
    if isinstance(value, dict):
        return {k: mapped(v, of) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [mapped(v, of) for v in value]
    return of(value) if hasattr(value, "detach") else value


def numbers(value):
    return mapped(value, lambda t: np.array(t.detach().numpy()))


def ours(value):
    return mapped(value, lambda t: scriptlang.from_numpy(t.detach().numpy().copy()))


def check(got, want, where=""):
    """Relative to the largest element: forces of atoms that nothing pulls are rounding."""
    if isinstance(want, dict):
        assert got.keys() == want.keys(), where
        for k in want:
            check(got[k], want[k], f"{where}[{k!r}]")
    elif isinstance(want, list):
        assert len(got) == len(want), where
        for k, (a, b) in enumerate(zip(got, want)):
            check(a, b, f"{where}[{k}]")
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype and got.shape == want.shape, where
        off = 1e-9 if want.dtype in (np.float64, np.complex128) else 2e-5
        scale = np.abs(want).max(initial=0)
        np.testing.assert_allclose(got, want, rtol=off, atol=off * scale, err_msg=where)
    else:
        assert got == pytest.approx(want, rel=1e-5) if isinstance(want, float) else got == want


@pytest.fixture(scope="module")
def saved():
    """Name -> the archive, arguments and what two calls give."""
    made = {}

    def give(name):
        if name not in made:
            torch.manual_seed(0)
            module, args = ARCHIVES[name]()
            buffer = io.BytesIO()
            torch.jit.save(torch.jit.script(module), buffer)
            want = [numbers(module(*copy.deepcopy(args))) for _ in range(2)]
            made[name] = buffer.getvalue(), args, want
        return made[name]

    return give


@pytest.mark.parametrize("engine", ("python", "native"))
@pytest.mark.parametrize("name", sorted(ARCHIVES))
def test_both_engines(name, engine, saved):
    archive, args, want = saved(name)
    loaded = scriptlang.load(io.BytesIO(archive), engine=engine)
    for expected in want:
        check(numbers(loaded(*ours(args))), expected)


@pytest.mark.parametrize("name", sorted(ARCHIVES))
def test_optimised(name, saved):
    archive, args, want = saved(name)
    loaded = scriptlang.optimize(scriptlang.load(io.BytesIO(archive)).eval())
    for expected in want:
        check(numbers(loaded(*ours(args))), expected)


@pytest.mark.parametrize("name", sorted(ARCHIVES.keys() - NOT_BY_THEIRS.keys()))
def test_saved_again_for_pytorch(name, saved):
    archive, args, want = saved(name)
    buffer = io.BytesIO()
    scriptlang.save(scriptlang.load(io.BytesIO(archive)), buffer)
    theirs = torch.jit.load(io.BytesIO(buffer.getvalue()))
    check(numbers(theirs(*copy.deepcopy(args))), want[0])
