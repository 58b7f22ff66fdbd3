"""Tensors print as PyTorch's, whatever `set_printoptions` says."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang

OPTIONS = [
    {},
    {"precision": 2},
    {"precision": 8},
    {"threshold": 5},
    {"edgeitems": 1, "threshold": 3},
    {"linewidth": 40},
    {"linewidth": 200},
    {"profile": "short"},
    {"profile": "full"},
    {"sci_mode": True},
    {"sci_mode": False},
    {"precision": 0},
    {"sci_mode": True, "precision": 2, "linewidth": 60},
]

NUMBERS = [
    [1e-5, 1],
    [1e9, 1.0],
    [np.nan, 1.5],
    [np.inf, 2.0],
    [-np.inf, np.nan],
    [1e-40],
    [1, 2, 3.0],
    [1e5, 1.0],
    [100000.0, 0.5],
    [0.0, -0.0],
    [1e8],
    [1e8 + 1],
    [123456.789],
]


@pytest.fixture(autouse=True)
def defaults():
    yield
    scriptlang.set_printoptions(profile="default")


def arrays():
    random = np.random.default_rng(0)
    for shape in (
        (),
        (1,),
        (5,),
        (3, 4),
        (2, 3, 4),
        (30, 40),
        (2, 2, 2, 2),
        (1001,),
        (0,),
        (0, 3),
        (7, 200),
    ):
        for dtype in ("f4", "f8", "f2", "i8", "i4", "u1", "?", "c8", "c16"):
            made = random.standard_normal(shape) * 10
            made = made + 1j * random.standard_normal(shape) if dtype[0] == "c" else made
            yield np.asarray(made).astype(dtype)
    for row in NUMBERS:
        yield from (np.array(row).astype(dtype) for dtype in ("f4", "f8", "c8"))
        yield np.array(row).astype("c8") * 1j


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_texts_are_pytorchs(options):
    import torch

    try:
        torch.set_printoptions(profile="default")
        torch.set_printoptions(**options)
        scriptlang.set_printoptions(**options)
        for array in arrays():
            assert repr(scriptlang.from_numpy(array)) == repr(torch.from_numpy(array)), array
    finally:
        torch.set_printoptions(profile="default")


def test_options_change_what_is_printed():
    x = scriptlang.tensor([1.23456, 2.0, 3.0, 4.0])
    assert repr(x) == "tensor([1.2346, 2.0000, 3.0000, 4.0000])"
    scriptlang.set_printoptions(precision=2, threshold=3, edgeitems=1)
    assert repr(x) == "tensor([1.23,  ..., 4.00])"
    scriptlang.set_printoptions(profile="default", sci_mode=True)
    assert repr(x[:1]) == "tensor([1.2346e+00])"
    for wrong, error in (
        ({"profile": "x"}, ValueError),
        ({"precision": "a"}, TypeError),
        ({"linewidth": -1}, TypeError),
        ({"edgeitems": True}, TypeError),
    ):
        with pytest.raises(error):
            scriptlang.set_printoptions(**wrong)
