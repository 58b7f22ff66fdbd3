"""Calls of operators from Python: the native engine's kernels, and the table that finds them."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from scriptlang.interpreter import native

import scriptlang as torch
from scriptlang.ops import table
from scriptlang.ops.calling.current import calls
from scriptlang.ops.calling.kernels import numpy_only
from scriptlang.tensors import Tensor, from_numpy
from tests import children

F = torch.nn.functional
ENGINE, WHY = native.load()
pytestmark = pytest.mark.skipif(ENGINE is None, reason=WHY)

TWICE = range(2)
"""The first call of a kind is Python's; the table makes the later ones."""


def refused(call):
    """What a call gives, and whether the native engine refused it."""
    before = ENGINE.eager_refusals()
    made = call()
    return made, ENGINE.eager_refusals() != before


def test_the_table_makes_calls_of_a_kind_that_is_known():
    x = torch.rand(3, 4)
    args = ("aten::sigmoid", (x,), {}, True)
    x.sigmoid()
    assert type(calls.eager(*args)) is Tensor and calls.eager(*args).shape == (3, 4)
    assert calls.eager("aten::sigmoid", (x, 1, 2), {}, True) is ...  # it learns nothing by asking
    with numpy_only():
        assert calls.eager(*args) is NotImplemented
    calls.eager.forget()
    assert calls.eager(*args) is ...
    assert x.sigmoid().shape == (3, 4) and calls.eager(*args).shape == (3, 4)


def test_an_operator_that_is_declared_later_may_be_chosen():
    x = torch.rand(3, 4)
    x.sigmoid()
    x.sigmoid()
    assert calls.eager("aten::sigmoid", (x,), {}, True).shape == (3, 4)
    for tell in table.LISTENERS:
        tell("aten::sigmoid")
    assert calls.eager("aten::sigmoid", (x,), {}, True) is ...


def test_tensors_stay_themselves():
    x, p = torch.rand(2, 3), torch.nn.Parameter(torch.rand(2, 3))
    for _ in TWICE:
        assert x.contiguous() is x and x.add_(1) is x and x.reshape(2, 3) is not x
        assert F.dropout(x, 0.5, False) is x and p.contiguous() is p
        with torch.no_grad():
            assert p.mul_(2) is p
        a, b = torch.atleast_2d(x, p)
        assert a is x and b is p


def test_views_have_the_storage_of_what_they_see():
    x = torch.zeros(4, 4)
    for made in (x.view(16), x[1:], x.t(), x.unsqueeze(0), x.detach(), *x.chunk(2), *x.unbind()):
        assert made._storage is x._storage
    leaf = torch.ones(3, requires_grad=True)
    for _ in TWICE:
        y = leaf * 1
        kept = y.exp()
        y[1:].mul_(2)
        assert y.tolist() == [1, 2, 2]
        kept.sum().backward()  # exp keeps its result
        y = leaf * 1
        square = y * y
        y[1:].mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            square.sum().backward()


def test_memory_that_must_not_be_written_is_not():
    array = np.arange(6, dtype=np.float32)
    array.flags.writeable = False
    x = from_numpy(array)
    for _ in TWICE:
        made, is_refused = refused(lambda: x + 1)
        assert made.tolist() == [1, 2, 3, 4, 5, 6] and not is_refused
        assert x.view(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
        with pytest.raises((RuntimeError, ValueError), match="read-only"):
            x.add_(1)
    assert array.tolist() == [0, 1, 2, 3, 4, 5]


def test_both_kinds_of_kernels_draw_from_one_stream():
    torch.manual_seed(7)
    whole = torch.rand(40)
    for order in (False, True, False), (True, False, True):
        torch.manual_seed(7)
        parts = []
        for by_numpy, count in zip(order, (5, 20, 15)):
            if by_numpy:
                with numpy_only():
                    parts.append(torch.rand(count))
            else:
                parts.append(torch.rand(count))
        assert torch.equal(torch.cat(parts), whole)


def test_another_default_dtype_counts():
    for _ in TWICE:
        assert torch.ones(2).dtype is torch.float32
        torch.set_default_dtype(torch.float64)
        try:
            assert torch.ones(2).dtype is torch.float64
            assert (torch.arange(3) / 2).dtype is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)


def test_errors_say_the_same_each_time():
    x = torch.rand(3)
    for call in (
        lambda: x + torch.rand(4),
        lambda: x.view(2, 2),
        lambda: torch.zeros(-1),
        lambda: x.sum(3),
        lambda: torch.cat([x, torch.rand(2, 2)]),
        lambda: F.conv2d(x, x),
    ):
        texts = set()
        for _ in range(3):
            with pytest.raises((RuntimeError, IndexError)) as raised:
                call()
            texts.add((raised.type, str(raised.value)))
        assert len(texts) == 1


def test_kinds_of_values_do_not_mix():
    """Values that only differ in what the choice of an overload depends on."""
    x, i = torch.tensor([2.0, 3.0]), torch.tensor([2, 3])
    for _ in range(3):
        assert (x + 1).dtype is torch.float32 and (i + 1).dtype is torch.int64
        assert (i + 1.5).dtype is torch.float32 and (i + True).tolist() == [3, 4]
        assert (x + torch.tensor(1.0, dtype=torch.float64)).dtype is torch.float32
        assert (i + torch.tensor(1.5)).dtype is torch.float32
        assert (i == 2).tolist() == [True, False] and (i == 2.0).tolist() == [True, False]
        assert torch.sum(x, 0).item() == 5 and torch.sum(x, (0,)).item() == 5
        assert torch.sum(x, dim=0, keepdim=True).shape == (1,) and x.sum().shape == ()
        assert torch.zeros(2, 3).shape == torch.zeros((2, 3)).shape == torch.zeros([2, 3]).shape
        pooled = [F.adaptive_avg_pool2d(torch.ones(1, 2, 4, 4), n).shape for n in (2, (2, 2))]
        assert pooled == [(1, 2, 2, 2)] * 2
        assert torch.zeros(2, dtype=torch.int64).dtype is torch.int64
        for device in ("cpu", torch.device("cpu")):
            assert torch.zeros(2, device=device).shape == (2,)
        assert x.to(torch.float64).dtype is torch.float64 and x.to(x).dtype is torch.float32
        assert x[torch.tensor([1, 0])].tolist() == [3, 2] and x[[True, False]].tolist() == [2]
        assert torch.max(x, 0).indices.item() == 1 and torch.max(x).item() == 3
        assert x.max(0)._fields == ("values", "indices")
        assert torch.where(x > 2, x, 0.0).tolist() == [0, 3]
        assert np.float64(2) * x == pytest.approx([4, 6]) and (x * np.float32(2)).tolist() == [4, 6]


def test_inference_mode_marks_what_is_made():
    x = torch.rand(3)
    for _ in TWICE:
        with torch.inference_mode():
            y, (values, indices) = x * 2, x.max(0)
            assert y.is_inference() and values.is_inference() and indices.is_inference()
            assert F.dropout(x, 0.5, False) is x and not x.is_inference()
            assert (y + 1).is_inference() and y.view(3).is_inference()
        assert not (x * 2).is_inference()


def test_nothing_is_left_of_a_graph():
    w = torch.rand(4, 4, requires_grad=True)

    def step():
        a, b = (w @ w).relu().chunk(2)
        F.layer_norm(torch.cat([a, b]), (4,)).softmax(-1)[:, 1].sum().backward()
        w.grad = None

    for _ in range(3):
        step()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(50):
            step()
        assert len(gc.get_objects()) - before < 50
    finally:
        gc.enable()


def test_threads_that_begin_together_get_the_same_gradients():
    """Everything is found for the first time by several threads at once."""
    program = """
import sys, threading
import scriptlang as torch
F = torch.nn.functional
sys.setswitchinterval(1e-6)
w = torch.arange(16.0).view(4, 4) / 16

def gradient():
    x = w.clone().requires_grad_()
    y = F.layer_norm(torch.cat([x @ x, F.linear(x, x)]).softmax(-1), (4,)) * torch.arange(4.0)
    (y.std() + torch.stack([x, x]).mean() + x.var() + x[1:].prod()).backward()
    return x.grad

found, barrier = [], threading.Barrier(6)

def work():
    barrier.wait()
    found.extend(gradient() for _ in range(3))

threads = [threading.Thread(target=work) for _ in range(6)]
for t in threads: t.start()
for t in threads: t.join()
assert len(found) == 18, len(found)
assert all(torch.equal(g, found[0]) for g in found)
"""
    for _ in range(3):
        children.run("-c", program, check=True)
