"""native = numpy on random shapes, strides (transposed, sliced, expanded, flipped), types and zero
sizes: the same values, shape and type, or an error from both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scriptlang.interpreter import native

from scriptlang.ops import table
from scriptlang.tensors import Tensor
from tests.ops.harness import check, plain
from tests.ops.one_operator import run_natively

pytestmark = pytest.mark.skipif(bool(native.why_absent()), reason="the native engine is not built")

TYPES = (
    "float32",
    "float64",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
    "float16",
)
TOLERANCE = {"float16": 2e-3, "complex64": 1e-4}

UNARY = (
    "abs neg exp sin cos tanh sqrt reciprocal sigmoid floor ceil round trunc sign square "
    "logical_not bitwise_not isnan isinf isfinite relu log1p expm1 erf sgn positive"
).split()
BINARY = (
    "add.Tensor sub.Tensor mul.Tensor div.Tensor maximum minimum eq.Tensor lt.Tensor "
    "ge.Tensor logical_and logical_xor bitwise_and.Tensor bitwise_or.Tensor atan2 hypot fmax "
    "copysign.Tensor"
).split()
REDUCTIONS = "sum.dim_IntList mean.dim amax amin prod.dim_int any.dim all.dim argmax argmin".split()
SETTINGS = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def operator(name: str):
    name, _, overload = name.partition(".")
    found = table.find(f"aten::{name}", overload)
    assert found is not None and found.kernel, name
    return found


def laid_out(array: np.ndarray, how: str) -> np.ndarray:
    """The same elements at other places of memory, or some of them."""
    if how == "transposed":
        return array.T
    if how == "sliced" and array.ndim:
        return array[::2]
    if how == "columns" and array.ndim > 1:
        return array[:, 1:]
    if how == "expanded":
        return np.broadcast_to(array, (2, *array.shape))
    return array


@st.composite
def arrays(
    draw, shape=None, dtype=None, layouts=("plain", "transposed", "sliced", "columns", "expanded")
):
    shape = draw(st.lists(st.integers(0, 4), max_size=3)) if shape is None else shape
    dtype = np.dtype(draw(st.sampled_from(TYPES)) if dtype is None else dtype)
    random = np.random.RandomState(draw(st.integers(0, 2**16)))
    values = (
        random.randint(-4, 5, shape)
        if dtype.kind in "ib"
        else random.randint(0, 9, shape)
        if dtype.kind == "u"
        else random.randint(-12, 13, shape) / 4
    )
    if dtype.kind == "c":
        values = values + 1j * random.randint(-12, 13, shape) / 4
    return laid_out(np.asarray(values).astype(dtype), draw(st.sampled_from(layouts)))


def tensor(array: np.ndarray, flipped: bool = False) -> Tensor:
    return Tensor._wrap(array[::-1] if flipped and array.ndim else array)


def outcome(run):
    try:
        return plain(run())
    except Exception as error:
        return error


def agree(name: str, *args, tolerance: float = 1e-5) -> None:
    """Both engines give the same, or both refuse."""
    found = operator(name)
    with np.errstate(all="ignore"):
        want = outcome(lambda: found.kernel(*args))
    got = outcome(lambda: run_natively(found, list(args)))
    check(got, want, tolerance)


def tolerance_of(*values: np.ndarray) -> float:
    return max(TOLERANCE.get(v.dtype.name, 1e-5) for v in values)


@SETTINGS
@given(name=st.sampled_from(UNARY), x=arrays())
def test_unary(name, x):
    agree(name, tensor(x), tolerance=tolerance_of(x))


@SETTINGS
@given(data=st.data(), name=st.sampled_from(BINARY))
def test_binary(data, name):
    x = data.draw(arrays())
    shape = data.draw(st.sampled_from([x.shape, x.shape[1:], (1,) * x.ndim, ()]))
    y = data.draw(arrays(shape=shape, layouts=("plain",)))
    more = {"add": [1], "sub": [1]}.get(name.partition(".")[0], [])
    agree(name, tensor(x), tensor(y), *more, tolerance=tolerance_of(x, y))


@SETTINGS
@given(name=st.sampled_from(REDUCTIONS), x=arrays(), dim=st.integers(-4, 3), keepdim=st.booleans())
def test_reductions(name, x, dim, keepdim):
    many = name in ("sum.dim_IntList", "mean.dim", "amax", "amin")
    typed = name in ("sum.dim_IntList", "mean.dim", "prod.dim_int")
    agree(
        name,
        tensor(x),
        [dim] if many else dim,
        keepdim,
        *([None] if typed else []),
        tolerance=tolerance_of(x),
    )


VIEWS = {
    "transpose.int": lambda d: (d(-4, 3), d(-4, 3)),
    "slice.Tensor": lambda d: (d(-4, 3), d(-6, 6), d(-6, 6), d(1, 3)),
    "select.int": lambda d: (d(-4, 3), d(-5, 4)),
    "narrow": lambda d: (d(-4, 3), d(-5, 4), d(0, 4)),
    "unsqueeze": lambda d: (d(-5, 4),),
    "squeeze.dim": lambda d: (d(-4, 3),),
    "flatten.using_ints": lambda d: (d(-4, 3), d(-4, 3)),
    "reshape": lambda d: ([d(-1, 6) for _ in range(d(0, 3))],),
    "view": lambda d: ([d(-1, 6) for _ in range(d(0, 3))],),
    "expand": lambda d: ([d(-1, 4) for _ in range(d(0, 4))], False),
    "diagonal": lambda d: (d(-3, 3), d(-4, 3), d(-4, 3)),
    "unfold": lambda d: (d(-4, 3), d(0, 4), d(1, 3)),
    "flip": lambda d: ([d(-4, 3) for _ in range(d(0, 2))],),
    "roll": lambda d: ([d(-5, 5)], [d(-4, 3)]),
    "repeat": lambda d: ([d(0, 3) for _ in range(d(0, 4))],),
    "movedim.int": lambda d: (d(-4, 3), d(-4, 3)),
}
"""Arguments after the tensor, from a function that draws an integer between two."""


@SETTINGS
@given(data=st.data(), name=st.sampled_from(sorted(VIEWS)), x=arrays(), flipped=st.booleans())
def test_views(data, name, x, flipped):
    args = VIEWS[name](lambda low, high: data.draw(st.integers(low, high)))
    agree(name, tensor(x, flipped), *args)


@SETTINGS
@given(data=st.data(), x=arrays())
def test_indexing(data, x):
    draw = data.draw
    index = draw(
        arrays(
            shape=draw(st.lists(st.integers(0, 3), max_size=2)),
            dtype="int64",
            layouts=("plain", "transposed"),
        )
    )
    name = draw(st.sampled_from(["index_select", "gather", "take", "index.Tensor", "index_fill"]))
    dim = draw(st.integers(-4, 3))
    if name == "index.Tensor":
        agree(name, tensor(x), [tensor(index)])
    elif name == "take":
        agree(name, tensor(x), tensor(index))
    elif name == "gather":
        agree(name, tensor(x), dim, tensor(index), False)
    elif name == "index_select":
        agree(name, tensor(x), dim, tensor(index))
    else:
        agree("index_fill.int_Scalar", tensor(x), dim, tensor(index), 1)


@SETTINGS
@given(
    data=st.data(),
    m=st.integers(0, 4),
    k=st.integers(0, 4),
    n=st.integers(0, 4),
    dtype=st.sampled_from(["float32", "float64", "int64", "complex64", "float16"]),
)
def test_products(data, m, k, n, dtype):
    batch = data.draw(st.sampled_from([(), (2,), (0,)]))
    left = data.draw(arrays(shape=(*batch, m, k), dtype=dtype, layouts=("plain",)))
    turned = data.draw(st.booleans())
    right = data.draw(arrays(shape=(n, k) if turned else (k, n), dtype=dtype, layouts=("plain",)))
    right = right.T if turned else right
    tolerance = tolerance_of(left)
    agree("matmul", tensor(left), tensor(right), tolerance=tolerance)
    if not batch:
        agree("mm", tensor(left), tensor(right), tolerance=tolerance)
        agree("addmm", tensor(left[:1, :1]), tensor(left), tensor(right), 2, 3, tolerance=tolerance)
