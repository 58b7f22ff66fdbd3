"""Dropout in inference is the identity: the very same tensor."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang.ops.calling import functions as F
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, both_tests, call

A = Arrays("dropout")
NAMES = ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")

SAMPLES = [
    call(name + suffix, A.normal(*shape), p, train)
    for name in NAMES
    for suffix in ("", "_")
    for shape in ((3, 4), (2, 3, 4), (0, 3))
    for p, train in ((0.5, False), (0.0, True), (1.0, True), (1.5, False))
]
SAMPLES += [call("native_dropout", A.normal(3, 4), 0.5, False)]
test_recorded, test_pytorch = both_tests("dropout", SAMPLES)


@pytest.mark.parametrize("name", [n + s for n in NAMES for s in ("", "_")])
def test_inference_returns_the_tensor_itself(name):
    x = from_numpy(np.ones((2, 3), np.float32))
    assert getattr(F, name)(x, 0.5, False) is x
