"""native = numpy on tensors with enough elements for the ways that go by vectors, blocks or columns,
and on a few more than those, for what is left over."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang import dtypes
from scriptlang.interpreter import native
from scriptlang.tensors import Tensor
from tests.interpreter.test_native_equals_numpy import TOLERANCE
from tests.interpreter.test_native_equals_numpy_families import agree

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")


def normal(*shape: int, dtype: str = "float32", seed: int = 0) -> Tensor:
    numbers = np.random.RandomState(seed).standard_normal(shape)
    return Tensor._wrap(numbers.astype(getattr(dtypes, dtype).numpy))


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_grid_sampler(dtype, mode, padding, align):
    """Steps of halves are rounded one by one, so that nothing but the same order gives the same."""
    image, grid = normal(2, 3, 9, 40, dtype=dtype), normal(2, 5, 7, 2, dtype=dtype, seed=1)
    grid._array[0, 0, :4, 0] = [np.nan, np.inf, -np.inf, 0.25]
    exact = dtype in ("float16", "bfloat16")
    with np.errstate(all="ignore"):
        agree("grid_sampler_2d", image, grid, mode, padding, align,
              tolerance=0 if exact else TOLERANCE.get(dtype, 1e-5))
