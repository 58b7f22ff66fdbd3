"""Samples of operators, checked twice: against recorded results of PyTorch, and against PyTorch
itself.

A test module lists samples and takes both tests from `both_tests`.  `python -m tests.ops.record
conv` (where torch is installed) writes the recorded results of a family anew.
"""

from __future__ import annotations

import functools
import io
import json
import pathlib
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scriptlang.interpreter import native

from scriptlang import dtypes
from scriptlang.ops import table
from scriptlang.ops.calling import dispatch
from scriptlang.ops.calling.kernels import numpy_only
from scriptlang.ops.families import random
from scriptlang.tensors import Tensor

SEED = 20190620
"""Both generators start from it in every sample."""
RECORDED = pathlib.Path(__file__).parent / "recorded"
OTHER_ERRORS = pathlib.Path(__file__).parent / "other_errors.txt"
"""Errors that are not PyTorch's: engine, family, sample, class and first line, with tabs between.
A line too many, or one that lacks, is a failure; `python -m tests.ops.record errors` writes it."""


@dataclass
class Sample:
    """A call of an operator.  `name` is `conv2d` (the overload is chosen) or `aten::add.int`."""

    name: str
    args: tuple
    kwargs: dict = field(default_factory=dict)
    tolerance: float = 1e-5

    def __str__(self) -> str:
        shapes = ",".join(map(describe, self.args))
        named = "".join(f",{k}={v}" for k, v in self.kwargs.items())
        return f"{self.name}({shapes}{named})"


def describe(value: Any) -> str:
    if isinstance(value, (np.ndarray, np.generic)):
        return "x".join(map(str, value.shape)) + value.dtype.kind
    return str(value).replace(" ", "")


def call(name: str, *args, tolerance: float = 1e-5, **kwargs) -> Sample:
    return Sample(name, args, kwargs, tolerance)


class Arrays:
    """Reproducible arrays of a family: the same in every run of a module."""

    def __init__(self, family: str):
        self.random = np.random.RandomState(zlib.crc32(family.encode()) & 0xFFFFFFFF)

    def normal(self, *shape: int, dtype=np.float32) -> np.ndarray:
        return np.asarray(self.random.randn(*shape)).astype(dtype)

    def uniform(self, *shape: int, dtype=np.float32) -> np.ndarray:
        return np.asarray(self.random.rand(*shape)).astype(dtype)

    def integers(self, low: int, high: int, *shape: int, dtype=np.int64) -> np.ndarray:
        return np.asarray(self.random.randint(low, high, shape)).astype(dtype)

    def complex(self, *shape: int, dtype="complex64") -> np.ndarray:
        return (self.normal(*shape) + 1j * self.normal(*shape)).astype(dtype)

    def every_kind(self) -> Iterator[np.ndarray]:
        """Arrays of each kind of element, without dimensions, without elements, with NaN."""
        yield self.normal(3, 4, 2)
        yield self.normal(3, 4, dtype=np.float64)
        yield self.integers(-4, 5, 3, 4)
        yield self.integers(0, 2, 3, 4, dtype=np.bool_)
        yield self.integers(0, 5, 3, 2, dtype=np.uint8)
        yield self.normal(3, 4).astype(np.float16)
        yield self.normal(3, 2).astype(np.complex64)
        yield self.normal()
        yield self.normal(0, 3)
        yield np.array([[1, np.nan, 3], [2, 5, -np.inf]], np.float32)


def convert(value: Any, array) -> Any:
    """A tree of arguments with a fresh copy of every array passed through `array`."""
    if isinstance(value, (np.ndarray, np.generic)):
        return array(np.array(value))
    if isinstance(value, (list, tuple)):
        return type(value)(convert(v, array) for v in value)
    return value


def run(sample: Sample) -> Any:
    """What numpy's kernels compute, tensors as arrays; or the exception."""
    with numpy_only():
        return run_eagerly(sample)


def run_eagerly(sample: Sample) -> Any:
    """What a call from Python computes, tensors as arrays; or the exception."""
    args = convert(sample.args, Tensor._wrap)
    kwargs = {k: convert(v, Tensor._wrap) for k, v in sample.kwargs.items()}
    random.manual_seed(SEED)
    before = refusals()
    try:
        if "::" in sample.name:
            name, _, overload = sample.name.partition(".")
            result = dispatch.run(table.find(name, overload), args)
        else:
            result = dispatch.call(f"aten::{sample.name}", args, kwargs)
    except Exception as error:
        return error
    assert refusals() == before, f"the native engine refuses {sample}, and numpy's kernel runs it"
    return plain(result)


def refusals() -> int:
    """How many calls of operators the native engine has refused."""
    engine, _ = native.load()
    return engine.eager_refusals() if engine else 0


def plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.numpy().copy()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def run_torch(sample: Sample) -> Any:
    """What PyTorch computes, tensors as arrays; or the exception.

    Raises LookupError for an operator that PyTorch does not have.
    """
    import torch

    if "::" not in sample.name and not hasattr(torch.ops.aten, sample.name):
        raise LookupError(
            f"PyTorch has no {sample.name}, so no results of it: compare it with numpy, in a test "
            "of the family, as test_fused does"
        )

    def value_of(x):
        if isinstance(x, torch.Tensor):
            return x.detach().resolve_conj().resolve_neg().numpy().copy()
        return [value_of(v) for v in x] if isinstance(x, (list, tuple)) else x

    def argument(x):
        return x.to_torch() if isinstance(x, TorchDtype) else x

    args = [argument(a) for a in convert(sample.args, torch.from_numpy)]
    kwargs = {k: argument(convert(v, torch.from_numpy)) for k, v in sample.kwargs.items()}
    torch.manual_seed(SEED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if "::" in sample.name:
                name, _, overload = sample.name.partition(".")
                return value_of(torch._C._get_operation_overload(name, overload)[0](*args))
            return value_of(getattr(torch.ops.aten, sample.name)(*args, **kwargs))
    except Exception as error:
        return error


class TorchDtype(int):
    """A dtype argument: its number for scriptlang, the dtype itself for PyTorch."""

    def to_torch(self):
        import torch

        return getattr(torch, dtypes.by_code(int(self)).name)


class RecordedError(Exception):
    """An error of PyTorch that was recorded: the name of its class and its first line."""

    @property
    def line(self) -> str:
        return f"{self.args[0]}: {self.args[1]}"


def error_line(error: Exception) -> str:
    """`IndexError: ...`: the builtin class that an error is of, and the first line of its text."""
    if isinstance(error, RecordedError):
        return error.line
    cls = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
    return f"{cls.__name__}: {str(error).partition(chr(10))[0]}"


def one_line(sample: Sample) -> str:
    return " ".join(str(sample).split())


def check_error(got: Any, want: Any, engine: str, family: str, sample: Sample) -> None:
    """Both are errors of the same class and first line, or of those that other_errors.txt tells."""
    assert isinstance(want, Exception) and isinstance(got, Exception), (got, want)
    others = other_errors().get((engine, family, one_line(sample)), ())
    assert error_line(got) in (error_line(want), *others), (
        f"the {engine} engine raises {error_line(got)}\nPyTorch raises {error_line(want)}\n"
        "Give PyTorch's message. If it has to be another: python -m tests.ops.record errors"
    )


@functools.cache
def other_errors() -> dict[tuple[str, str, str], list[str]]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in OTHER_ERRORS.read_text(encoding="utf-8").splitlines():
        engine, family, sample, line = row.split("\t")
        found.setdefault((engine, family, sample), []).append(line)
    return found


def check(got: Any, want: Any, tolerance: float) -> None:
    """Equal structure, types, shapes and dtypes; floats within the tolerance; errors for errors."""
    if isinstance(want, Exception) or isinstance(got, Exception):
        assert isinstance(want, Exception) and isinstance(got, Exception), (got, want)
        assert not isinstance(got, (KeyError, AttributeError, AssertionError)), repr(got)
        return
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), (got, want)
        for g, w in zip(got, want):
            check(g, w, tolerance)
    elif isinstance(want, np.ndarray):
        assert isinstance(got, np.ndarray), (got, want)
        assert (got.dtype, got.shape) == (want.dtype, want.shape), (got, want)
        np.testing.assert_allclose(got, want, rtol=tolerance * 10, atol=tolerance)
    elif isinstance(want, (float, complex)):
        assert type(got) is type(want), (got, want)
        np.testing.assert_allclose(got, want, rtol=1e-14)
    else:
        assert type(got) is type(want) and got == want, (got, want)


def encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A result as JSON, its arrays put aside by number."""
    if isinstance(value, Exception):
        kind, _, line = error_line(value).partition(": ")
        return {"error": line, "class": kind}
    if isinstance(value, np.ndarray):
        arrays[str(len(arrays))] = value
        return {"array": len(arrays) - 1}
    if isinstance(value, list):
        return [encode(v, arrays) for v in value]
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return value


def decode(value: Any, arrays) -> Any:
    if isinstance(value, list):
        return [decode(v, arrays) for v in value]
    if isinstance(value, dict):
        if "error" in value:
            return RecordedError(value["class"], value["error"])
        if "complex" in value:
            return complex(*value["complex"])
        return arrays[str(value["array"])]
    return value


def write(family: str, samples: list[Sample]) -> None:
    arrays: dict[str, np.ndarray] = {}
    rows = [[str(s), encode(run_torch(s), arrays)] for s in samples]
    text = np.frombuffer(json.dumps(rows).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, rows=text, **arrays)
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{family}.npz").write_bytes(buffer.getvalue())


def read(family: str) -> list[tuple[str, Any]]:
    """(text of the sample, result) rows of a family."""
    with np.load(RECORDED / f"{family}.npz") as arrays:
        rows = json.loads(arrays["rows"].tobytes())
        return [(text, decode(value, arrays)) for text, value in rows]


def both_tests(family: str, samples: list[Sample]):
    """(test against the recorded results, test against PyTorch) of a family."""
    ids = [f"{i}-{s}" for i, s in enumerate(samples)]
    recorded: list = []

    @pytest.mark.parametrize("i", range(len(samples)), ids=ids)
    def test_recorded(i):
        if not recorded:
            recorded.extend(read(family))
        assert len(recorded) == len(samples) and recorded[i][0] == str(samples[i]), (
            f"the samples changed: python -m tests.ops.record {family}"
        )
        compare(samples[i], recorded[i][1])

    def compare(sample: Sample, want: Any) -> None:
        # The second call of a kind goes through the table of the native engine.
        for got in (run(sample), run_eagerly(sample), run_eagerly(sample)):
            if isinstance(got, Exception) or isinstance(want, Exception):
                check_error(got, want, "python", family, sample)
            else:
                check(got, want, sample.tolerance)

    @pytest.mark.oracle
    @pytest.mark.parametrize("i", range(len(samples)), ids=ids)
    def test_pytorch(i):
        compare(samples[i], run_torch(samples[i]))

    return test_recorded, test_pytorch
