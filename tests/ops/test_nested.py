"""Nested sequences: made from a mask, padded again, and run through a transformer layer."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang.ops import table
from scriptlang.ops.calling import functions as F
from scriptlang.tensors import from_numpy

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
MASK = np.array([[True, True, False], [True, True, True]])


def nested():
    return F._nested_tensor_from_mask(from_numpy(X), from_numpy(MASK))


def test_padding_comes_back():
    padded = F.to_padded_tensor(nested(), 7.0).numpy()
    assert (padded == np.where(MASK[..., None], X, 7)).all()
    assert F.to_padded_tensor(nested(), 0.0, [2, 5, 4])._size == (2, 5, 4)


def test_it_knows_that_it_is_nested():
    is_nested = table.find("prim::is_nested", "").kernel
    assert is_nested(nested()) and not is_nested(from_numpy(X)) and nested().dim() == 3


def test_alignment_of_masks():
    aligned = F._nested_tensor_from_mask_left_aligned
    assert aligned(from_numpy(X), from_numpy(MASK))
    assert not aligned(from_numpy(X), from_numpy(MASK[:, ::-1].copy()))


def test_a_mask_with_gaps_is_refused():
    with pytest.raises(RuntimeError, match="left-aligned without gaps"):
        F._nested_tensor_from_mask(from_numpy(X), from_numpy(MASK[:, ::-1].copy()))


def test_it_cannot_be_padded_to_less():
    with pytest.raises(RuntimeError, match="Truncation is not supported"):
        F.to_padded_tensor(nested(), 0.0, [2, 2, 4])


def test_an_encoder_layer_sees_only_the_elements():
    random = np.random.RandomState(0)
    shapes = ((12, 4), (12,), (4, 4), (4,), (4,), (4,), (4,), (4,), (8, 4), (8,), (4, 8), (4,))
    w = [from_numpy(random.randn(*s).astype(np.float32)) for s in shapes]

    def layer(x):
        return F._transformer_encoder_layer_fwd(x, 4, 2, *w[:4], True, False, 1e-5, *w[4:])

    got = F.to_padded_tensor(layer(nested()), 0.0).numpy()
    alone = layer(from_numpy(X[:1, :2].copy())).numpy()
    np.testing.assert_allclose(got[:1, :2], alone, rtol=1e-5)
    assert (got[0, 2] == 0).all()
