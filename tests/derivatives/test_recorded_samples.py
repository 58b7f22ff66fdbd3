"""A call of an operator gives the same, or the same error, whether it is recorded or not."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scriptlang.ops import table
from scriptlang.ops.calling import dispatch
from scriptlang.ops.calling.kernels import numpy_only
from scriptlang.ops.derivatives.recorder import activate
from scriptlang.ops.families import random
from scriptlang.tensors import Tensor
from tests.ops import harness

FAMILIES = sorted(p.stem for p in harness.RECORDED.glob("*.npz"))

OF_GRADIENTS = ("equire", "leaf Variable", "out=", "differentia")
"""Parts of errors that are about gradients."""


def samples_of(family: str) -> list[harness.Sample]:
    return list(getattr(importlib.import_module(f"tests.ops.test_{family}"), "SAMPLES", ()))


def outcome(sample: harness.Sample, requires: bool) -> Any:
    def tensor(array: np.ndarray) -> Tensor:
        made = Tensor._wrap(array)
        if requires and made.dtype.kind in "fc":
            made.requires_grad_()
        return made

    args = harness.convert(sample.args, tensor)
    kwargs = {k: harness.convert(v, tensor) for k, v in sample.kwargs.items()}
    random.manual_seed(harness.SEED)
    try:
        if "::" in sample.name:
            name, _, overload = sample.name.partition(".")
            return dispatch.run(table.find(name, overload), list(args))
        return dispatch.call(f"aten::{sample.name}", args, kwargs)
    except Exception as error:
        return error


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def check_same(sample: harness.Sample, plain: Any, recorded: Any) -> None:
    if isinstance(plain, Exception) or isinstance(recorded, Exception):
        if isinstance(recorded, Exception) and any(w in str(recorded) for w in OF_GRADIENTS):
            return
        assert isinstance(plain, Exception), f"recorded, it raises {recorded!r}"
        assert isinstance(recorded, Exception), f"recorded, it does not raise {plain!r}"
        return
    both = list(zip(leaves(plain), leaves(recorded), strict=True))
    for a, b in both:
        if isinstance(a, Tensor):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            least = 1e-5 if a.dtype.itemsize > 2 else 2e-3
            harness.check(b.detach().numpy(), a.numpy(), max(sample.tolerance, least))


@pytest.mark.parametrize("engine", ["numpy", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_calls_give_what_others_give(family: str, engine: str) -> None:
    activate()
    kernels = numpy_only if engine == "numpy" else contextlib.nullcontext
    for sample in samples_of(family):
        if is_other_way(sample):
            continue
        with warnings.catch_warnings(), kernels():
            warnings.simplefilter("ignore")
            check_same(sample, outcome(sample, False), outcome(sample, True))


def is_other_way(sample: harness.Sample) -> bool:
    """PyTorch, too, refuses a mask with `is_causal` only if the mask requires a gradient."""
    return sample.name == "scaled_dot_product_attention" and len(sample.args) > 3
