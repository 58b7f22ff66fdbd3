"""A tensor has the attributes of PyTorch's tensors: those, and no others."""

from __future__ import annotations

import copy
import pickle
import pydoc

import numpy as np
import pytest
from scriptlang.interpreter import engine as engines

import scriptlang
from scriptlang import tensor_members
from scriptlang.ops import table

ENGINES = engines.available()


def x():
    return scriptlang.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))


def value_of(obj, name):
    """An attribute, or the error that asking for it raises."""
    try:
        return getattr(obj, name)
    except Exception as error:
        return error


def is_there(obj, name) -> bool:
    return not isinstance(value_of(obj, name), AttributeError)


@pytest.mark.oracle
def test_every_attribute_of_pytorchs_is_there_or_refused_with_a_reason():
    import torch

    missing = {n for n in dir(torch.Tensor) if not is_there(x(), n)} - {"__slotnames__"}
    assert missing == {n for n in tensor_members.REFUSED if n in dir(torch.Tensor)}
    for name in missing:
        reason = "" if name in ("__dict__", "__annotations__") else ": .+"
        with pytest.raises(
            AttributeError, match=f"'Tensor' object has no attribute '{name}'{reason}"
        ):
            getattr(x(), name)


@pytest.mark.oracle
def test_there_are_no_other_attributes():
    import torch

    names = {op.name.partition("::")[2] for op in table.all_operators()}
    names |= {name.partition("::")[2] for name in table.lacking()} | set(dir(x()))
    names = {n for n in names if not n.startswith("_")}
    assert not [n for n in sorted(names) if is_there(x(), n) and not hasattr(torch.Tensor, n)]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_values_and_methods_are_what_they_are_in_pytorch():
    import torch

    theirs = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    for name in dir(torch.Tensor):
        if name in tensor_members.REFUSED or name.startswith("__"):
            continue
        if name in ("_base", "_is_view"):
            continue  # views know it once something in the process requires a gradient
        ours, there = value_of(x(), name), value_of(theirs, name)
        assert callable(ours) == callable(there), name
        if isinstance(there, (torch.Tensor, Exception)):
            assert type(ours).__name__ == type(there).__name__, name
        elif not callable(there):
            assert str(ours) == str(there), name


def test_operators_of_the_language_are_no_methods():
    for name in (
        "keys",
        "items",
        "append",
        "upper",
        "join",
        "startswith",
        "special_expit",
        "silu",
        "fft_fft",
        "conv2d",
        "get",
        "insert",
    ):
        assert not hasattr(x(), name) and not hasattr(scriptlang.Tensor, name)


def test_methods_are_listed_and_documented():
    assert {"relu", "sum", "to", "storage", "is_xla"} <= set(dir(x()))
    assert not set(dir(x())) & set(tensor_members.REFUSED) - set(dir(object))
    assert "aten::sum.dim_IntList(Tensor self, int[1]? dim" in pydoc.render_doc(x().sum)
    assert scriptlang.Tensor.relu(x()).tolist() == x().tolist()
    assert scriptlang.Tensor.split.__qualname__ == "Tensor.split"
    assert scriptlang.split.__qualname__ == "split"
    for name in tensor_members.METHODS:
        assert callable(getattr(scriptlang.Tensor, name)), name
        assert getattr(scriptlang.Tensor, name).__doc__, name


@pytest.mark.parametrize("engine", ENGINES)
def test_attributes_of_results_of_programs(engine):
    def f(x):
        return x * 2

    y = scriptlang.script(f, engine=engine)(x())
    assert not (y.is_sparse_csr or y.is_xla or y.is_maia or y.is_cuda or y.retains_grad)
    assert y.is_cpu and y.is_leaf and y.grad is None and y.grad_fn is None
    assert str(y.layout) == "torch.strided"


def test_torch_tensor_as_a_constructor():
    assert scriptlang.Tensor(2, 3).shape == (2, 3) and scriptlang.Tensor().shape == (0,)
    assert scriptlang.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert scriptlang.Tensor(np.array([1, 2])).dtype is scriptlang.float32
    assert scriptlang.Tensor(2, 3, 4, 5, 6, 0).shape == (2, 3, 4, 5, 6, 0)
    assert scriptlang.Tensor(scriptlang.Size([2, 1])).shape == (2, 1)
    assert scriptlang.Tensor(size=(1, 2)).shape == (1, 2)
    shared = x()
    scriptlang.Tensor(shared)[0, 0] = 9
    assert shared[0, 0] == 9 and isinstance(scriptlang.Tensor(2), scriptlang.Tensor)
    assert x().new(4).shape == (4,) and x().new([1, 2]).tolist() == [1, 2]
    assert scriptlang.LongTensor([1, 2]).dtype is scriptlang.int64
    for wrong in ((1.5,), ("a",), (2, "a"), (x().long(),)):
        with pytest.raises(TypeError):
            scriptlang.Tensor(*wrong)
    with pytest.raises(RuntimeError, match="CPU only"):
        scriptlang.Tensor(2, device="cuda")


def test_python_operators():
    assert (+x()).tolist() == x().tolist()
    assert list(map(float, reversed(x())[0])) == [5, 4, 3]
    with pytest.raises(RuntimeError):
        +scriptlang.tensor([True])
    assert copy.deepcopy(x()).tolist() == pickle.loads(pickle.dumps(x())).tolist() == x().tolist()
    assert x().apply_(lambda v: v + 1).tolist() == (x() + 1).tolist()
    assert x().map_(x(), lambda a, b: a * b).tolist() == (x() * x()).tolist()
    assert x().t().dim_order() == (1, 0)


def test_storages():
    base = x()
    view = base[1]
    assert view.untyped_storage() == base.untyped_storage()
    assert view.untyped_storage().data_ptr() == base.data_ptr()
    assert len(base.untyped_storage()) == base.untyped_storage().nbytes() == 24
    assert base.storage().tolist() == [0, 1, 2, 3, 4, 5] and view.storage().size() == 6
    base.storage()[4] = 8
    assert view[1] == 8 and view.storage()[4] == 8
    base.untyped_storage().fill_(0)
    assert not view.any() and base.storage().type() == "torch.FloatStorage"
    assert base.storage().clone() != base.storage()


@pytest.mark.parametrize("engine", ENGINES)
def test_shared_memory_is_seen_by_processes_that_fork(engine):
    import os

    shared, view = x(), None
    view = shared[0]
    assert not shared.is_shared()
    assert shared.share_memory_() is shared and shared.is_shared() and view.is_shared()
    assert shared.tolist() == x().tolist()
    child = os.fork()
    if not child:
        view.fill_(7)
        os._exit(0)
    os.waitpid(child, 0)
    assert shared[0].tolist() == [7, 7, 7]
    assert scriptlang.script(lambda_free, engine=engine)(shared).tolist() == shared.tolist()


def lambda_free(x):
    return x + 0


# Derivatives


def test_derivatives_want_what_requires_them():
    y = x().sum()
    for call in (y.backward, y.retain_grad, lambda: y.register_hook(print)):
        with pytest.raises(RuntimeError, match="requires? grad|requires_grad"):
            call()
    with pytest.raises(RuntimeError, match="floating point"):
        x().long().requires_grad_()


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_in_a_program(engine):
    def f(x):
        y = (x * x).sum()
        y.backward()
        return y

    def remembered(x):
        x.requires_grad_()
        return x.requires_grad

    with pytest.raises(RuntimeError, match="does not require grad"):
        scriptlang.script(f, engine=engine)(x())
    kept = x().requires_grad_()
    scriptlang.script(f, engine=engine)(kept)
    assert kept.grad.tolist() == (2 * x()).tolist()
    kept = x()
    assert scriptlang.script(remembered, engine=engine)(kept) is True
    with pytest.raises(RuntimeError, match="floating point"):
        scriptlang.script(remembered, engine=engine)(x().long())
