"""Steps of Adam and AdamW over lists of tensors."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang import ones
from scriptlang.ops import table
from scriptlang.tensors import Tensor
from tests.ops.harness import Arrays, Sample, both_tests, convert, describe
from tests.ops.one_operator import run_natively

A = Arrays("updates")
ADAM = ("_fused_adam", "_fused_adamw")


class Step(Sample):
    """A call of an update; its text has the shapes in the lists."""

    def __str__(self) -> str:
        shapes = ("/".join(map(describe, part)) for part in self.args)
        named = ",".join(f"{k}={v}" for k, v in self.kwargs.items())
        return f"{self.name}({','.join(shapes)},{named})"


def call(name, *args, tolerance=1e-5, **kwargs):
    return Step(name, args, kwargs, tolerance)


def lists(amsgrad=False, shapes=((3, 5), (7,), ()), dtype=np.float32):
    """Parameters, gradients, means, squares, largest squares and counts of steps."""
    made = [[A.normal(*s, dtype=dtype) for s in shapes] for _ in range(3)]
    squares, largest = ([A.uniform(*s, dtype=dtype) for s in shapes] for _ in range(2))
    counts = [np.array(k + 1, np.float32) for k in range(len(shapes))]
    return [*made, squares, largest if amsgrad else [], counts]


def numbers(**given):
    return {
        "lr": 0.1,
        "beta1": 0.9,
        "beta2": 0.99,
        "weight_decay": 0.0,
        "eps": 1e-6,
        "amsgrad": False,
        "maximize": False,
    } | given


def samples():
    for name in ADAM:
        yield call(name, *lists(), **numbers())
        yield call(name, *lists(dtype=np.float64), **numbers(weight_decay=0.1))
        yield call(name, *lists(amsgrad=True), **numbers(amsgrad=True, maximize=True))
        yield call(name, *lists(), **numbers(weight_decay=0.2, maximize=True))
        yield call(name, *lists(), **numbers(beta1=0.0, beta2=0.3))
        yield call(name, *lists(), **numbers(beta1=0.4))
        yield call(name, *lists(dtype=np.float16), **numbers(weight_decay=0.1), tolerance=2e-3)
        yield call(name, *lists(shapes=((40, 50), (0, 3))), **numbers())
        scale = {"grad_scale": np.array(4, np.float32)}
        yield call(name, *lists(), **numbers(**scale, found_inf=np.array(0, np.float32)))
        yield call(name, *lists(), **numbers(**scale, found_inf=np.array(1, np.float32)))
        nan = lists(amsgrad=True, shapes=((32,),))  # PyTorch loses NaN in the last few elements
        nan[1][0][1], nan[3][0][2], nan[4][0][3] = np.nan, np.nan, np.nan
        yield call(name, *nan, **numbers(amsgrad=True))
        few = lists()
        yield call(name, few[0], few[1][:2], *few[2:], **numbers())
        yield call(name, *lists(amsgrad=True), **numbers())
        yield call(name, *lists(), **numbers(amsgrad=True))
        other = lists()
        other[1][0] = other[1][0].astype(np.float64)
        yield call(name, *other, **numbers())
        whole = [[x.astype(np.int64) for x in part] for part in lists()[:4]]
        yield call(name, *whole, [], lists()[5], **numbers())
        yield call(f"{name}_", *lists(), **numbers())


SAMPLES = list(samples())
test_recorded, test_torch = both_tests("updates", SAMPLES)


def eagerly(operator, args):
    return operator.kernel(*args)


BOTH = pytest.mark.parametrize("run", [eagerly, run_natively])


def tensors(made):
    return convert(made, Tensor._wrap)


def update(run, given, name="_fused_adam_", **options):
    return run(table.find(f"aten::{name}"), [*given, *numbers(**options).values(), None, None])


@BOTH
@pytest.mark.parametrize("name", ADAM)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("turned", [False, True])
def test_lists_are_written(name, run, dtype, turned):
    """As the variant that returns new lists tells, whatever the strides; gradients stay."""
    given = tensors(lists(amsgrad=True, dtype=dtype))
    if turned:
        for part in given[1], given[3]:
            part[0] = part[0].t().contiguous().t()
    before = [x.clone() for x in given[1]]
    options = {"amsgrad": True, "weight_decay": 0.1}
    new = update(eagerly, given, name, **options)
    assert update(run, given, f"{name}_", **options) is None
    tolerance = 1e-3 if dtype is np.float16 else 1e-6
    for part, expected in zip((*given[:5], before), (*new, given[1]), strict=True):
        for x, y in zip(part, expected, strict=True):
            np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=tolerance, atol=tolerance)
    assert not given[0][0].equal(new[1][0])


@BOTH
def test_every_element_of_large_parameters_is_updated(run):
    given = tensors(lists(shapes=((300, 400), (3,), (50001,))))
    new = update(eagerly, given, "_fused_adam", weight_decay=0.1)
    update(run, given, weight_decay=0.1)
    for part, expected in zip(given[:4], new[:4]):
        for x, y in zip(part, expected, strict=True):
            np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-5, atol=1e-6)


@BOTH
def test_shared_elements_are_not_written(run):
    given = tensors(lists(shapes=((3,),)))
    given[3] = [ones(1).expand(3)]
    before = given[0][0].clone()
    with pytest.raises(RuntimeError, match="more than one element"):
        update(run, given)
    assert given[0][0].equal(before)
