"""Facts about tensors, conversions, in-place forms, and operators that other families leave out."""

from __future__ import annotations

import numpy as np
import pytest
from scriptlang.interpreter.engine import available

from scriptlang.jit import CompilationUnit
from scriptlang.ops.calling import functions as F
from scriptlang.tensors import from_numpy
from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("geometry")
FACTS = (
    "size stride dim numel element_size storage_offset is_contiguous is_floating_point "
    "is_complex is_signed is_same_size is_set_to is_conj is_neg is_leaf is_inference "
    "is_nonzero item"
).split()
PREDICATES = "isnan isinf isfinite isposinf isneginf signbit isreal logical_not".split()


def samples():
    f, i, b = A.normal(2, 3), A.integers(-3, 4, 2, 3), A.integers(0, 2, 2, 3, dtype=bool)
    wave = (A.normal(2, 2) + 1j * A.normal(2, 2)).astype(np.complex64)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1], np.float32)
    for x in (f, i, b, wave, special, A.normal(), A.normal(0, 2)):
        for name in FACTS:
            if name == "stride" and not x.size:  # numpy's empty arrays have other ones
                continue
            yield call(name, x, *([x] if name in ("is_same_size", "is_set_to") else []))
        for name in PREDICATES:
            yield call(name, x)
        for name in (
            "conj",
            "real",
            "imag",
            "resolve_conj",
            "mH",
            "adjoint",
            "matrix_H",
            "detach",
            "zero_",
            "lift",
            "fliplr",
            "flipud",
            "argwhere",
            "trace",
            "ravel",
        ):
            yield call(name, x)
        yield call("fill_", x, 2)
        yield call("copy_", x, f[:1])
        yield call("broadcast_to", x, [2, 2, 3])
        yield call("sum_to_size", x, [1, 3])
        if x.size >= 4:  # PyTorch does not grow numpy's memory
            yield call("resize_", x, [2, 2])
        yield call("float_power", x, 2)
        yield call("vander", x)
        yield call("masked_fill_", x, x > 0 if x.dtype.kind != "c" else x.real > 0, 1)
        yield call("split_with_sizes", x, [1, 1])
        yield call("unsafe_split", x, 1)
        yield call("unsafe_chunk", x, 2)
        yield call("moveaxis", x, 0, -1)
        yield call("_to_copy", x, dtype=TorchDtype(6))
        yield call("_unsafe_view", x, [3, 2])
    for name in (
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "multiply",
        "divide",
        "subtract",
        "true_divide",
        "heaviside",
        "nextafter",
        "arctan2",
        "logaddexp2",
        "special_xlog1py",
        "special_xlogy",
        "equal",
    ):
        yield call(name, f, A.normal(2, 3))
        yield call(name, i, i)
    for name in ("__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__"):
        yield call(name, i, np.abs(i))
        yield call(name, b, b)
    at, source = np.array([0, 1, 1]), A.normal(3, 3)
    yield call("index_add_", f, 0, at, source)
    yield call("index_add_", f, 0, at, source, alpha=2)
    yield call("index_copy_", f, 0, at[:2], source[:2])
    yield call("index_fill_", f, 1, at, 9.0)
    yield call("index_put_", f, [at, at], source[0])
    yield call("scatter_", f, 0, np.array([[0, 1, 0]]), source)
    yield call("scatter_add_", f, 0, np.array([[0, 1, 0]]), source)
    for reduce in ("prod", "mean", "amax", "amin", "sum"):
        yield call("index_reduce_", f, 0, at, source, reduce)
        yield call("index_reduce_", f, 0, at, source, reduce, include_self=False)
    yield call("new_empty_strided", f * 0, [0, 2], [2, 1])
    yield call("range", 1, 4)
    yield call("range", 1, 2, 0.25)
    yield call("norm_except_dim", f, 2, 0)
    yield call("nonzero_numpy", i)
    yield call("view_as", f, A.normal(3, 2))
    yield call("reshape_as", f, A.normal(6))
    yield call("swapdims", f, 0, 1)
    yield call("special_logsumexp", f, [1])
    yield call("special_round", f, decimals=1)
    yield call("select_backward", A.normal(3), [2, 3], 0, 1)
    yield call("slice_backward", A.normal(1, 3), [2, 3], 0, 1, 2, 1)
    yield call("as_strided_scatter", f, A.normal(2, 2), [2, 2], [2, 1], 1)
    yield call("_shape_as_tensor", f)


SAMPLES = list(samples())
test_recorded, test_pytorch = both_tests("geometry", SAMPLES)


@pytest.mark.parametrize(
    "name, args",
    [
        ("add_", (1,)),
        ("mul_", (2,)),
        ("t_", ()),
        ("zero_", ()),
        ("clamp_", (0, 1)),
        ("copy_", (from_numpy(np.ones(3)),)),
    ],
)
def test_in_place_forms_return_their_tensor(name, args):
    x = from_numpy(np.ones((3, 3)))
    assert getattr(x, name)(*args) is x


def test_resizing_keeps_the_elements_and_what_shares_the_storage():
    x = from_numpy(np.arange(4.0))
    view = x[:2]
    x.resize_(2, 3)
    assert x.reshape(-1)[:4].tolist() == [0, 1, 2, 3] and view.tolist() == [0, 1]
    x[0, 0] = 9
    assert view[0].item() == 9


def test_set_makes_a_tensor_another():
    x, y = from_numpy(np.zeros(2)), from_numpy(np.ones((2, 2), np.float32))
    F.set_(x, y)
    assert x.shape == (2, 2) and x.dtype is y.dtype and x.data_ptr() == y.data_ptr()


def test_a_conversion_that_changes_nothing_is_the_tensor_itself():
    x = from_numpy(np.ones(2, np.float32))
    assert x.to(dtype=6) is x and x.contiguous() is x and x.float() is x and x.clone() is not x
    assert x.to(dtype=6, copy=True) is not x and x.cpu() is x


@pytest.mark.parametrize("engine", sorted(available()))
@pytest.mark.parametrize("rank, strides", [(4, (60, 1, 15, 3)), (5, (360, 1, 90, 18, 3))])
def test_empty_tensors_lie_in_a_memory_format(rank, strides, engine):
    name = "channels_last" if rank == 4 else "channels_last_3d"
    body = f"torch.empty({[2, 3, 4, 5, 6][:rank]}, memory_format=torch.{name})"
    f = CompilationUnit(f"def f():\n    return {body}\n").f
    made = type(f)(f._function, engine, None, None)()
    assert made.stride() == strides
