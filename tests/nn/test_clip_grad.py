"""Limits of gradients: PyTorch's numbers and errors."""

from __future__ import annotations

import numpy as np
import pytest

import scriptlang as sl
from scriptlang import nn


def parameters(package, scale=1.0):
    rng = np.random.default_rng(0)
    made = [package.nn.Parameter(package.ones(shape)) for shape in ((2, 3), (4,), ())]
    for p in made:
        values = np.asarray(scale * rng.standard_normal(tuple(p.shape)), "float32")
        p.grad = package.from_numpy(values)
    return [*made, package.nn.Parameter(package.ones(2))]


@pytest.mark.oracle
@pytest.mark.parametrize("norm_type", [2.0, 1, 3.5, 0.0, float("inf")])
@pytest.mark.parametrize("max_norm", [0.5, 100])
def test_norms_are_those_of_pytorch(norm_type, max_norm):
    import torch

    ours, theirs = parameters(sl), parameters(torch)
    mine = nn.utils.clip_grad_norm_(ours, max_norm, norm_type)
    other = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)
    assert mine.item() == pytest.approx(other.item(), rel=1e-6)
    for p, q in zip(ours[:-1], theirs):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), 1e-6)
    nn.utils.clip_grad_value_(ours, 0.1)
    torch.nn.utils.clip_grad_value_(theirs, 0.1)
    for p, q in zip(ours[:-1], theirs):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), 1e-6)


@pytest.mark.oracle
def test_a_norm_that_is_not_finite_is_refused_as_by_pytorch():
    import torch

    texts = []
    for package in (sl, torch):
        with pytest.raises(RuntimeError) as caught:
            package.nn.utils.clip_grad_norm_(
                parameters(package, np.inf), 1.0, error_if_nonfinite=True
            )
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_gradients_are_scaled_in_place():
    p = nn.Parameter(sl.ones(2))
    p.grad = grad = sl.tensor([3.0, 4.0])
    assert nn.utils.clip_grad_norm_(p, 1.0).item() == 5.0
    assert p.grad is grad
    np.testing.assert_allclose(grad.numpy(), [0.6, 0.8], 1e-6)
    nn.utils.clip_grads_with_norm_([p], 0.5, nn.utils.get_total_norm([grad]))
    np.testing.assert_allclose(grad.numpy(), [0.3, 0.4], 1e-5)


def test_without_gradients_the_norm_is_zero():
    with pytest.warns(UserWarning, match="empty generator"):
        assert nn.utils.clip_grad_norm_((p for p in ()), 1.0).item() == 0.0
