"""Views share memory, with the strides that PyTorch computes; what cannot be a view says so."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang.ops.calling import dispatch
from scriptlang.ops.calling import functions as F
from scriptlang.tensors import Tensor, from_numpy
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("view")
VIEWS = [
    ("view", [6, 4]),
    ("view", [2, -1]),
    ("view", [2, 3, 2, 2]),
    ("view", [5, 5]),
    ("view", [-1, -1]),
    ("reshape", [4, 6]),
    ("reshape", [-1]),
    ("flatten", 1),
    ("flatten", 0, 1),
    ("permute", [2, 0, 1]),
    ("permute", [0, 1]),
    ("permute", [0, 0, 1]),
    ("transpose", 0, -1),
    ("transpose", 0, 5),
    ("expand", [5, 2, 3, 4]),
    ("expand", [2, 3, -1]),
    ("expand", [2, 2, 4]),
    ("slice", 1, 1, 3),
    ("slice", 2, -3, None, 2),
    ("slice", 0, 5, 1),
    ("select", 1, -1),
    ("select", 1, 3),
    ("narrow", 2, 1, 2),
    ("narrow", 2, 3, 2),
    ("squeeze",),
    ("squeeze", 0),
    ("unsqueeze", 0),
    ("unsqueeze", -1),
    ("unsqueeze", 5),
    ("diagonal",),
    ("diagonal", 1, 1, 2),
    ("diagonal", -1, 0, 2),
    ("unfold", 2, 2, 1),
    ("unfold", 2, 5, 1),
    ("as_strided", [2, 2], [1, 2], 1),
    ("as_strided", [9, 9], [9, 9]),
    ("movedim", 0, 2),
    ("movedim", [0, 1], [1, 0]),
    ("swapaxes", 0, 1),
    ("unflatten", 2, [2, 2]),
    ("unflatten", 2, [3, 2]),
    ("t",),
    ("mT",),
    ("ravel",),
    ("view_as", A.normal(4, 6)),
    ("expand_as", A.normal(2, 3, 4)),
    ("split", 2, 2),
    ("split", [1, 2], 1),
    ("split", [1, 1], 1),
    ("chunk", 2, 1),
    ("chunk", 5, 2),
    ("unbind", 1),
    ("tensor_split", 3, 2),
    ("tensor_split", [1, 3], 2),
    ("hsplit", 3),
    ("vsplit", 2),
    ("dsplit", 2),
    ("view_copy", [6, 4]),
    ("numpy_T",),
    ("alias",),
    ("select_scatter", A.normal(2, 4), 1, 0),
    ("slice_scatter", A.normal(2, 1, 4), 1, 0, 1),
    ("diagonal_scatter", A.normal(4, 2)),
    ("contiguous",),
    ("squeeze", [0, 1]),
]


def samples():
    for x in (A.normal(2, 3, 4), A.normal(1, 3), A.normal(3, 1, 2), A.normal(0, 3), A.normal()):
        for name, *args in VIEWS:
            yield call(name, x, *args)
    yield call("slice_scatter", A.normal(2), A.normal(1), 0, 3)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("view", SAMPLES)


def layouts():
    base = np.arange(24.0, dtype=np.float32)
    yield base.reshape(2, 3, 4)
    yield base.reshape(4, 3, 2).transpose(2, 1, 0)
    yield base.reshape(2, 3, 4)[:, ::2]
    yield np.broadcast_to(base[:4], (2, 3, 4))


@pytest.mark.oracle
@pytest.mark.parametrize("layout", range(4))
@pytest.mark.parametrize("sample", VIEWS, ids=lambda s: s[0])
def test_strides_are_those_of_pytorch(sample, layout):
    import torch

    name, *args = sample
    x = list(layouts())[layout]
    if name == "as_strided" and 0 in x.strides:
        pytest.skip("an expanded numpy array reaches PyTorch with a smaller storage")
    to_torch = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
    try:
        want = getattr(torch.ops.aten, name)(torch.from_numpy(x), *to_torch)
    except Exception:
        with pytest.raises((RuntimeError, IndexError)):
            dispatch.call(f"aten::{name}", (Tensor._wrap(x), *args))
        return
    got = dispatch.call(f"aten::{name}", (Tensor._wrap(x), *args))
    got, want = (x if isinstance(x, list) else [x] for x in (got, want))
    for g, w in zip(got, want):
        assert g.tolist() == w.tolist()
        assert [s for s, n in zip(g.stride(), g.shape) if n != 1] == [
            s for s, n in zip(w.stride(), w.shape) if n != 1
        ]


@pytest.mark.parametrize(
    "sample",
    [
        s
        for s in VIEWS
        if s[0]
        in (
            "view",
            "permute",
            "transpose",
            "slice",
            "select",
            "narrow",
            "squeeze",
            "unsqueeze",
            "diagonal",
            "unfold",
            "movedim",
            "flatten",
            "chunk",
            "unbind",
        )
    ],
    ids=str,
)
def test_views_share_the_memory(sample):
    name, *args = sample
    array = np.zeros((2, 3, 4), np.float32)
    try:
        view = dispatch.call(f"aten::{name}", (from_numpy(array), *args))
    except (RuntimeError, IndexError):
        return
    view = view[0] if isinstance(view, list) else view
    assert view.numpy().size == 0 or np.shares_memory(view.numpy(), array)


def test_a_view_across_a_gap_is_refused_and_reshape_copies():
    x = from_numpy(np.arange(6.0).reshape(2, 3)).t()
    with pytest.raises(RuntimeError, match="Use .reshape"):
        x.view(6)
    assert x.reshape(6).tolist() == [0, 3, 1, 4, 2, 5]


def test_a_view_outside_its_storage_is_refused():
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        F.as_strided(from_numpy(np.zeros(4)), [2, 2], [4, 1])


def test_in_place_view_operators_change_the_tensor():
    x = from_numpy(np.zeros((2, 3)))
    assert x.t_() is x and x.shape == (3, 2)
    assert x.unsqueeze_(0).shape == (1, 3, 2) and x.squeeze_().shape == (3, 2)
