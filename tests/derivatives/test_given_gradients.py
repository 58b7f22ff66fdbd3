"""Gradients that programs give to `autograd.grad` and `backward`, and errors of what does not fit.

The words are those of PyTorch in programs, which differ from those in Python.
"""

from __future__ import annotations

import re
from typing import Optional

import pytest
from scriptlang.interpreter.engine import available

import scriptlang as sl
from scriptlang import nn


class Asking(nn.Module):
    """`forward` takes the gradient of y * w by y, for given gradients."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(sl.full((2, 3), 2.0))

    def forward(self, x: sl.Tensor, given: list[Optional[sl.Tensor]]):
        y = x.detach().requires_grad_(True)
        return sl.autograd.grad([y * self.w], [y], given)[0]

    @sl.jit.export
    def by_backward(self, x: sl.Tensor, given: list[Optional[sl.Tensor]]):
        y = x.detach().requires_grad_(True)
        sl.autograd.backward([y * self.w], given)
        return y.grad

    @sl.jit.export
    def of_constant(self, x: sl.Tensor, given: list[Optional[sl.Tensor]]):
        y = x.detach().requires_grad_(True)
        return sl.autograd.grad([(y * 2).sum()], [y, x])[0]

    @sl.jit.export
    def of_unused(self, x: sl.Tensor, given: list[Optional[sl.Tensor]]):
        y, z = x.detach().requires_grad_(True), x.detach().requires_grad_(True)
        return sl.autograd.grad([(y * 2).sum()], [y, z])[0]

    @sl.jit.export
    def of_integers(self, x: sl.Tensor, given: list[Optional[sl.Tensor]]):
        return x.long().requires_grad_(True)


def module_of(engine):
    module = sl.script(Asking().eval(), engine="auto" if engine == "optimize" else engine)
    return sl.optimize(module) if engine == "optimize" else module


REFUSED = {
    "shape": ([(5,)], "invalid gradient at index 0 - got [5] but expected shape compatible with"),
    "smaller": ([(3,)], "invalid gradient at index 0 - got [3] but expected shape compatible with"),
    "more": ([(2, 3), (2, 3)], "got 1 tensors and 2 gradients"),
    "none": ([None], "grad can be implicitly created only for scalar outputs"),
}
"""Shapes of given gradients, and the error."""


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("engine", [*available(), "optimize"])
def test_gradients_that_do_not_fit(engine, name):
    shapes, text = REFUSED[name]
    module = module_of(engine)
    methods = [module] if engine == "optimize" else [module, module.by_backward]
    for method in methods:
        for _ in range(2):
            with pytest.raises(RuntimeError, match=re.escape(text)):
                method(sl.ones(2, 3), [None if s is None else sl.ones(s) for s in shapes])


@pytest.mark.parametrize("engine", [*available(), "optimize"])
def test_larger_gradients_are_summed_and_others_converted(engine):
    module = module_of(engine)
    methods = [module] if engine == "optimize" else [module, module.by_backward]
    fours = sl.ones(4, 2, 3), 8.0
    for given, wanted in (fours, (sl.ones(2, 3, dtype=sl.float64), 2.0), (sl.ones(2, 3), 2.0)):
        for method in methods:
            made = method(sl.ones(2, 3), [given])
            assert made.dtype == sl.float32 and made.tolist() == [[wanted] * 3] * 2


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("of_constant", "element 1 of the input tensors does not require grad"),
        ("of_unused", "element 1of the differentiated Tensors appears to not have been used"),
        ("of_integers", "Only Tensors of floating point and complex dtype can require gradients"),
    ],
)
@pytest.mark.parametrize("engine", available())
def test_tensors_without_gradients(engine, method, text):
    with pytest.raises(RuntimeError, match=text):
        getattr(module_of(engine), method)(sl.ones(2, 3), [])


class Chosen(nn.Module):
    """The gradient of as many rows as elements choose, for gradients whose shape a run knows."""

    def forward(self, x: sl.Tensor, which: sl.Tensor, like: bool):
        y = x.detach().requires_grad_(True)
        z = (y * y)[which]
        given: list[Optional[sl.Tensor]] = [sl.ones_like(z) if like else sl.ones(2, 3)]
        return sl.autograd.grad([z], [y], given)[0]


def test_shapes_that_only_a_run_knows_are_checked_there():
    module = sl.optimize(sl.script(Chosen().eval()))
    x = sl.ones(3, 3)
    for like in (True, False):
        assert module(x, sl.tensor([True, False, True]), like).sum().item() == 12.0
    assert module(x, sl.tensor([True] * 3), True).sum().item() == 18.0
    with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
        module(x, sl.tensor([True] * 3), False)


def test_words_that_differ_between_a_method_and_an_attribute():
    x = sl.ones(2, dtype=sl.int64)
    with pytest.raises(RuntimeError, match="^only Tensors of floating point dtype can require"):
        x.requires_grad_(True)
    with pytest.raises(RuntimeError, match="^only Tensors of floating point and complex dtype"):
        x.requires_grad = True
