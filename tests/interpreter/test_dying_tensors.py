"""Tensors that nobody else has: their headers become views, their memory results."""

from __future__ import annotations

from typing import List, Tuple

import numpy as np
import pytest
from scriptlang.interpreter import native

import scriptlang as torch
from scriptlang import Tensor

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")


def views_of_fresh(x: Tensor) -> List[Tensor]:
    return [
        (x + 1)[1:],
        (x + 2)[:, 1],
        (x + 3).transpose(0, 1),
        (x + 4).permute([1, 0]),
        (x + 5).unsqueeze(1).squeeze(1),
        (x + 6).view(-1),
        (x + 7).t().reshape([2, -1]),
        (x + 8)[:1].expand([4, x.size(1)]),
        (x + 9)[::2, 1:].squeeze(),
    ]


def views_of_kept(x: Tensor) -> List[Tensor]:
    a = x + 1
    rows, columns, turned = a[1:], a[:, 1], a.transpose(0, 1)
    again = a.view(-1)
    again.add_(1)
    return [a, rows, columns, turned, again, a.unsqueeze(0).expand([2, -1, -1]), a.t().reshape(-1)]


def chains(x: Tensor) -> Tuple[Tensor, Tensor]:
    a = torch.relu(x * 2)
    b = a[1:].transpose(0, 1)
    a = a * 3
    c = torch.cat([a, a + 1, a], 1)[:, 1:5].unsqueeze(0)
    return b, c.sum(-1) + b.sum()


def lists_that_stay(x: Tensor) -> List[Tensor]:
    made = [x + 1, x * 2]
    joined = torch.cat(made, 0)
    made.append(joined[1:3])
    stacked = torch.stack([made[0], made[1]], 0)
    made.append(stacked.select(0, 1))
    return made


def groups(x: Tensor, y: Tensor) -> List[Tensor]:
    a = x + y
    b = torch.sigmoid(a * x) - y
    kept = a.neg()
    c = torch.cat([b, b], 1)[:, 0:3]
    d = (c * c).relu() + c
    return [kept, d, (d - 1).exp() * d.sum(1, keepdim=True)]


def names(x: Tensor) -> Tuple[Tensor, Tensor]:
    a = x + 1
    b = a
    c = a[1:]
    b.mul_(2)
    return b, c


def flat(values) -> list:
    return list(values) if isinstance(values, (list, tuple)) else [values]


@pytest.mark.parametrize(
    "program", [views_of_fresh, views_of_kept, chains, lists_that_stay, names, groups]
)
@pytest.mark.parametrize("shape", [(3, 3), (1, 3), (4, 3)])
def test_engines_agree(program, shape):
    if program is views_of_fresh and shape[0] % 2:
        shape = (shape[0] + 1, shape[1])
    x = torch.tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 4)
    arguments = [x, x * 0.5] if program is groups else [x]
    native_one = torch.script(program, engine="native")
    python_one = torch.script(program, engine="python")
    before = x.numpy().copy()
    for _ in range(3):
        got, want = flat(native_one(*arguments)), flat(python_one(*arguments))
        assert len(got) == len(want)
        for g, w in zip(got, want):
            assert g.shape == w.shape and g.stride() == w.stride()
            np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-6)
    assert tuple(x.shape) == shape and (x.numpy() == before).all()
