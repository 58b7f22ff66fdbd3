"""uint16, uint32, uint64, which PyTorch stores and converts but gives little arithmetic; the hash
of a tensor, which is a uint64; LDL factors."""

from __future__ import annotations

import numpy as np
import pytest

from scriptlang import dtypes
from tests.ops.harness import Arrays, TorchDtype, both_tests, call

A = Arrays("unsigned")
WIDE = ("uint16", "uint32", "uint64")


def conversions(x: np.ndarray):
    for name in (*WIDE, "uint8", "int64", "float32", "float16", "bool", "complex64"):
        yield call("to", x, TorchDtype(dtypes.BY_NAME[name].code))
    for y in (A.integers(-3, 300, 4), A.normal(4) * 100, A.normal(4, dtype="float64") ** 2 > 1):
        yield call("to", y, TorchDtype(dtypes.of_numpy(x.dtype).code))


def samples():
    for dtype in WIDE:
        top = np.iinfo(dtype).max
        x = np.array([[3, top, 0], [top - 1, 7, 3]], dtype)
        yield from conversions(x)
        for name in ("eq", "ne", "mul", "bitwise_and", "bitwise_or", "bitwise_xor"):
            yield call(name, x, x[:, ::-1])
            yield call(name, x, 3)
        for name in (
            "clone sort any all sum prod floor round isnan isfinite sqrt sin contiguous "
            "_unique2 unique_consecutive"
        ).split():
            yield call(name, x)
        yield call("_unique2", x, True, True, True)
        yield call("argsort", x, stable=True, dim=-1)
        yield call("cumsum", x, 1)
        yield call("div", x, 2)
        yield call("fill_", x, 5)
        yield call("cat", [x, x], 1)
        yield call("where", x > 3, x, x[::-1])
        yield call("index", x, [np.array([1, 0])])
        yield call("add", x, A.normal(3))
        for name in ("add", "sub", "lt", "remainder", "floor_divide", "maximum"):
            yield call(name, x, x)  # PyTorch has no kernel
        for other in ("uint8", "int64", "bool"):
            yield call("mul", x, np.ones(3, other))  # nor promotion
        for name in ("neg", "abs", "bitwise_not", "mean"):
            yield call(name, x)


def hashes():
    for dtype in (
        "float32",
        "float64",
        "float16",
        "int64",
        "int8",
        "uint8",
        "bool",
        "complex64",
        "uint32",
    ):
        x = (
            np.array([[1, -2.5, 3], [0, 4, -1]]).astype("int64").astype(dtype)
            if dtype in ("uint8", "uint32")
            else np.array([[1, -2.5, 3], [0, 4, -1]]).astype(dtype)
        )
        yield call("hash_tensor", x)
        yield call("hash_tensor", x, [0], keepdim=True)
        yield call("hash_tensor", x.T, [-1])
    yield call("hash_tensor", np.zeros((0, 3), "float32"))
    yield call("hash_tensor", np.zeros((0, 3), "float32"), [1])
    yield call("hash_tensor", np.zeros((0, 3), "float32"), [0])
    yield call("hash_tensor", np.float64(-2.5))


def factors():
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for n in (0, 1, 2, 5):
            x = (
                A.normal(2, n, n, dtype="float64")
                if dtype[0] == "f"
                else A.normal(2, n, n) + 1j * A.normal(2, n, n)
            )
            x = x.astype(dtype)
            for hermitian in (False, True):
                yield call("linalg_ldl_factor_ex", x, hermitian=hermitian, tolerance=1e-4)
    zero = np.zeros((3, 3))
    yield call("linalg_ldl_factor_ex", zero)
    yield call("linalg_ldl_factor", zero)
    yield call("linalg_ldl_factor", zero[:2])
    data = np.array([[2.0, 0, 0], [3, 1, 0], [0.5, -1, 4]])
    for pivots in ([1, 2, 3], [2, 2, 3], [-2, -2, 3], [1, -3, -3]):
        places = np.array(pivots, np.int32)
        yield call("linalg_ldl_solve", data, places, A.normal(3, 2, dtype="float64"))
        yield call(
            "linalg_ldl_solve",
            data.astype("complex64"),
            places,
            A.normal(4, 3, 2, dtype="complex64"),
            hermitian=True,
            tolerance=1e-4,
        )
    yield call("linalg_ldl_solve", data, places[:2], data)
    yield call("linalg_ldl_solve", data, places, data[:2])


SAMPLES = [*samples(), *hashes(), *factors()]
test_recorded, test_pytorch = both_tests("unsigned", SAMPLES)


@pytest.mark.parametrize("name", WIDE)
def test_promotion_is_refused(name):
    dtype = dtypes.BY_NAME[name]
    assert dtypes.promote(dtype, dtype) is dtype
    assert dtypes.promote(dtype, dtypes.float16) is dtypes.float16
    with pytest.raises(
        RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported"
    ):
        dtypes.promote(dtype, dtypes.int64)
