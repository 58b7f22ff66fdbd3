"""Values and gradients at infinities, nan, zeros of both signs and ties are PyTorch's."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import scriptlang

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

INF, NAN = np.inf, np.nan
EDGES = np.array([-INF, -3, -2, -1, -0.5, -0.0, 0, 0.5, 1, 2, 3, 6, INF, NAN])
LOGIT = (EDGES != 0) | ~np.signbit(EDGES)  # all but -0.0
PAIRS = np.array(list(itertools.product(EDGES, EDGES))).T

POINTWISE = """
abs acos acosh angle asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2
expm1 frac i0 lgamma log log10 log1p log2 logit nan_to_num neg reciprocal round rsqrt sigmoid
sign sin sinc sinh sqrt square tan tanh trunc relu special.i0e special.i1 special.i1e special.ndtr
special.ndtri special.log_ndtr special.entr special.erfcx nn.functional.hardshrink
nn.functional.hardsigmoid nn.functional.hardswish nn.functional.hardtanh nn.functional.leaky_relu
nn.functional.logsigmoid nn.functional.mish nn.functional.relu6 nn.functional.selu
nn.functional.silu nn.functional.softplus nn.functional.softshrink nn.functional.elu
nn.functional.celu nn.functional.gelu
""".split()

OF_TWO = """
add mul div atan2 copysign fmax fmin fmod remainder hypot logaddexp logaddexp2 maximum minimum pow
xlogy float_power ldexp special.xlog1py
""".split()

EXPONENTS = (0, 0.5, 1, 2, 3, -1, -0.5)

ROWS = {
    "numbers": EDGES[1:-2],
    "zeros": np.zeros(4),
    "ties": np.array([2.0, 2, 2]),
    "signs": np.array([1.0, 1, 0, -1]),
    "inf": np.array([INF, 1, 2]),
    "two inf": np.array([INF, INF, 1]),
    "-inf": np.array([-INF, -INF]),
    "nan": np.array([NAN, 1, NAN]),
}

REDUCTIONS: dict[str, Callable] = {
    "max": lambda m, x: m.max(x),
    "min": lambda m, x: m.min(x),
    "max of a dimension": lambda m, x: m.max(x, 0)[0],
    "amax": lambda m, x: m.amax(x, [0]),
    "aminmax": lambda m, x: m.aminmax(x)[0],
    "logsumexp": lambda m, x: m.logsumexp(x, [0]),
    "prod": lambda m, x: m.prod(x),
    "median": lambda m, x: m.median(x),
    "nanmedian": lambda m, x: m.nanmedian(x),
    "mode": lambda m, x: m.mode(x)[0],
    "std": lambda m, x: m.std(x),
    "var": lambda m, x: m.var(x),
    "nansum": lambda m, x: m.nansum(x),
    "nanmean": lambda m, x: m.nanmean(x),
    "cumprod": lambda m, x: m.cumprod(x, 0),
    "cummax": lambda m, x: m.cummax(x, 0)[0],
    "logcumsumexp": lambda m, x: m.logcumsumexp(x, 0),
    "softmax": lambda m, x: m.softmax(x, 0),
    "log_softmax": lambda m, x: m.log_softmax(x, 0),
    "sort": lambda m, x: m.sort(x)[0],
    "dist": lambda m, x: m.dist(x, x.detach().clone()),
    **{
        f"norm {p}": lambda m, x, p=p: m.linalg.vector_norm(x, p)
        for p in (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1)
    },
}


def named(library, name: str):
    for part in name.split("."):
        library = getattr(library, part)
    return library


def gives(library, tensor, function, arrays):
    """The value, and the gradients of its sum; zeros where there is none."""
    leaves = [tensor(a.copy()).requires_grad_(True) for a in arrays]
    value = function(library, *leaves)
    ones = library.ones_like(value)
    found = library.autograd.grad([value], leaves, [ones], allow_unused=True)
    parts = [value, *(library.zeros_like(x) if g is None else g for g, x in zip(found, leaves))]
    return [np.array(p.detach().numpy()) for p in parts]


def check(function, *arrays):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = gives(torch, torch.from_numpy, function, arrays)
        have = gives(scriptlang, scriptlang.from_numpy, function, arrays)
    for what, a, b in zip(("value", "first gradient", "second gradient"), have, want):
        np.testing.assert_allclose(a, b, 1e-9, 1e-12, err_msg=what)


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(name):
    check(lambda m, x: named(m, name)(x), EDGES[LOGIT] if name == "logit" else EDGES)


def test_logit_at_minus_zero():
    """Where PyTorch gives one infinity or the other, by the processor and the tensor's length."""
    x = scriptlang.from_numpy(np.full(17, -0.0)).requires_grad_()
    scriptlang.logit(x).sum().backward()
    assert x.grad.numpy().tolist() == [INF] * 17


@pytest.mark.parametrize("name", OF_TWO)
def test_of_two(name):
    check(lambda m, x, y: named(m, name)(x, y), *PAIRS)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers(exponent):
    check(lambda m, x: m.pow(x, exponent), EDGES)
    check(lambda m, x: m.pow(float(exponent), x), EDGES)


def test_powers_that_are_inverse_roots():
    """-0.5 had other values at -0 and at -inf."""
    check(lambda m, x: m.pow(x, -0.5), np.array([-0.0, -INF, 4.0]))
    check(lambda m, x: m.float_power(x, -0.5), np.array([-0.0, -INF, 4.0]))


@pytest.mark.parametrize("bounds", [(-1, 1), (1, -1), (None, 1), (0, None)], ids=str)
def test_clamp(bounds):
    check(lambda m, x: m.clamp(x, *bounds), EDGES)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, row):
    check(REDUCTIONS[name], ROWS[row])
