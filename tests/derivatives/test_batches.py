"""Operators for all examples of a batch at once give what they give example by example."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scriptlang.batching import Batch
from scriptlang.ops import table
from scriptlang.ops.calling import dispatch
from scriptlang.ops.derivatives.tangents import NotMapped
from scriptlang.ops.families import random
from scriptlang.tensors import Tensor
from tests.derivatives.test_recorded_samples import FAMILIES, leaves, samples_of
from tests.ops import harness

SIZE = 3

OTHERWISE = {
    "as_strided": "its offset is from the start of the memory, which examples share",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "samples do not fit each other",
}
"""Operators whose samples have no meaning for other examples."""


NEVER = {"prim", "random", "scalar", "string", "updates"}
"""Families without an operator that takes a batch."""


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, (np.ndarray, np.generic)):
        yield np.asarray(value)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from arrays_in(part)


def with_tensors(value: Any, tensors: Iterator[Tensor]) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return next(tensors)
    if isinstance(value, (list, tuple)):
        return type(value)(with_tensors(part, tensors) for part in value)
    return value


def examples_like(array: np.ndarray) -> np.ndarray:
    """Examples with the same elements in other orders, so that all are as valid."""
    flat = array.reshape(-1)
    return np.stack([array, np.roll(flat, 1).reshape(array.shape), flat[::-1].reshape(array.shape)])


class Mapped:
    """A sample as a function of its tensors, some of which are batches."""

    def __init__(self, sample: harness.Sample, batched: set[int]) -> None:
        self.sample, self.batched = sample, batched
        self.names = list(sample.kwargs)
        self.tree = (tuple(sample.args), tuple(sample.kwargs[k] for k in self.names))

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        args, named = with_tensors(self.tree, iter(tensors))
        name = self.sample.name
        if "::" in name:
            name, _, overload = name.partition(".")
            result = dispatch.run(table.find(name, overload), list(args))
        else:
            result = dispatch.call(f"aten::{name}", args, dict(zip(self.names, named)))
        return tuple(part for part in leaves(result) if isinstance(part, Tensor))

    def outcome(self, at_once: bool) -> Any:
        """(results, arguments afterwards), or the exception."""
        made = []
        for k, array in enumerate(arrays_in(self.tree)):
            made.append(Tensor._wrap(examples_like(array) if k in self.batched else array.copy()))
        dims = [0 if k in self.batched else None for k in range(len(made))]
        random.manual_seed(harness.SEED)
        batch = Batch(self, tuple(made), {}, dims, 0, "different", "f")
        try:
            found = batch.at_once(0, SIZE) if at_once else batch.one_by_one(SIZE)
        except (NotMapped, Exception) as error:
            return error
        return [*found, *made]


def choices(sample: harness.Sample) -> Iterator[set[int]]:
    """Which tensors are batches: each one alone, the first two, and all."""
    count = len(list(arrays_in((tuple(sample.args), tuple(sample.kwargs.values())))))
    if count <= 6:
        yield from ({k} for k in range(count))
        if count > 2:
            yield {0, 1}
        if count > 1:
            yield set(range(count))


def check_same(wanted: Any, found: Any, tolerance: float) -> None:
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        assert isinstance(wanted, Exception) and isinstance(found, Exception), (wanted, found)
        return
    for a, b in zip(wanted, found, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        harness.check(b.numpy(), a.numpy(), tolerance if a.dtype.itemsize > 2 else 2e-2)


@pytest.mark.parametrize("family", FAMILIES)
def test_all_at_once_as_one_by_one(family: str) -> None:
    at_once = 0
    for sample in samples_of(family):
        if sample.name in OTHERWISE:
            continue
        for batched in choices(sample):
            mapped = Mapped(sample, batched)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = mapped.outcome(True)
                if isinstance(found, NotMapped):
                    continue
                at_once += 1
                check_same(mapped.outcome(False), found, max(sample.tolerance, 2e-5))
    assert at_once or family in NEVER, "none of its operators takes a batch"
