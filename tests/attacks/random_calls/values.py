"""Values of a call as text: what `repr` gives can be read again, and each engine builds from it.

    T(dtype, size, stride, offset, room, fill, seed)   a tensor on memory of `room` elements
    V(k, size, stride, offset)                         a view of the tensor that came k-th
    A(k)                                               the tensor that came k-th, once more
    Q(codes, scale, zero_point, axis)                  a quantized tensor; axis None or a number
    P(operator, arguments)                             what a packing operator makes of these
    D(name)                                            a device

`k` counts the T of a call, as they come from left to right.
"""

from __future__ import annotations

import math
from collections import namedtuple
from functools import lru_cache
from typing import Any, Callable

import numpy as np

from scriptlang import dtypes

T = namedtuple("T", "dtype size stride offset room fill seed")
V = namedtuple("V", "k size stride offset")
A = namedtuple("A", "k")
Q = namedtuple("Q", "codes scale zero_point axis")
P = namedtuple("P", "operator arguments")
D = namedtuple("D", "name")
Call = namedtuple("Call", "overload arguments")

DESCRIBED = (T, V, A, Q, P, D)


def text_of(value: Any) -> str:
    """A value as Python that `read` understands."""
    if isinstance(value, DESCRIBED):
        return f"{type(value).__name__}({', '.join(map(text_of, value))})"
    if type(value) is list:
        return f"[{', '.join(map(text_of, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(text_of, value))}{',' * (len(value) == 1)})"
    if type(value) is dict:
        return "{" + ", ".join(f"{text_of(k)}: {text_of(v)}" for k, v in value.items()) + "}"
    if type(value) is complex:
        return f"complex({value.real!r}, {value.imag!r})"
    return repr(value)


def text_of_call(call: Call) -> str:
    return f"{call.overload}({', '.join(map(text_of, call.arguments))})"


def read(text: str) -> Call:
    """The call that `text_of_call` wrote."""
    overload, _, arguments = text.strip().partition("(")
    known = {c.__name__: c for c in DESCRIBED}
    made = eval(
        f"lambda nan, inf: ({arguments.removesuffix(')')},)"
        if arguments != ")"
        else "lambda nan, inf: ()",
        {**known, "complex": complex},
    )
    return Call(overload, list(made(math.nan, math.inf)))


WILD_FLOATS = np.array(
    [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1e30,
        -1e30,
        1e-40,
        1.0,
        -1.0,
        0.5,
        2.5,
        3.4e38,
        65504.0,
        -7.5,
        1e-7,
    ]
)


def wild_ints(dtype: np.dtype) -> np.ndarray:
    info = np.iinfo(dtype)
    wanted = (info.min, info.max, info.max - 1, info.min // 2, 0, 1, 2, 3, 7, -1, 1 << 31, 1 << 40)
    return np.array([v for v in wanted if info.min <= v <= info.max], dtype)


def filled(fill: str, count: int, dtype: np.dtype, seed: int) -> np.ndarray:
    """`count` elements of a kind: plain, unit, positive, wild, zeros, ones, index:n, signed:n."""
    random = np.random.RandomState(seed)
    kind, _, n = fill.partition(":")
    if kind == "zeros" or kind == "sample":
        return np.zeros(count, dtype)
    if kind == "ones":
        return np.ones(count, dtype)
    if kind in ("index", "signed"):
        low = -int(n) if kind == "signed" else 0
        return random.randint(low, max(int(n), low + 1), count).astype(dtype)
    if dtype.kind == "b":
        return random.randint(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        if kind == "wild":
            return random.choice(wild_ints(dtype), count)
        low = -4 if dtype.kind == "i" and kind == "plain" else int(kind == "positive")
        return random.randint(low, 2 if kind == "unit" else 9, count).astype(dtype)
    parts = [numbers(kind, count, random) for _ in range(1 + (dtype.kind == "c"))]
    with np.errstate(all="ignore"):
        if len(parts) == 2:
            made = np.empty(count, dtype)
            made.real, made.imag = parts
            return made
        return parts[0].astype(dtype)


def numbers(kind: str, count: int, random) -> np.ndarray:
    if kind == "unit":
        return random.randint(0, 257, count) / 256
    if kind == "positive":
        return random.randint(1, 40, count) / 8
    if kind == "wild":
        return random.choice(WILD_FLOATS, count)
    return random.randint(-12, 13, count) / 4


@lru_cache(maxsize=None)
def sample_array(path: str) -> np.ndarray:
    from .samples import array_at

    return array_at(path)


def memory_of(t: T) -> np.ndarray:
    """What lies in the memory of a tensor, as a flat array of numpy's type."""
    dtype = dtypes.as_dtype(t.dtype).numpy
    flat = filled(t.fill, t.room, dtype, t.seed)
    if t.fill.startswith("sample:") and math.prod(t.size):
        view = np.lib.stride_tricks.as_strided(
            flat[t.offset :], t.size, [s * dtype.itemsize for s in t.stride]
        )
        with np.errstate(all="ignore"):
            array = sample_array(t.fill[7:])
            view[...] = np.resize(array if array.size else np.zeros(1), t.size).astype(dtype)
    return flat


class Builder:
    """Makes the values of a call for an engine; `tensors` are those that came, in order; `held`
    the same, but quantized tensors instead of their codes.

    make_tensor: (T, its memory) -> tensor; make_view: (tensor, V) -> tensor on the same memory;
    quantized: (codes, scale, zero point, axis) -> tensor; packed: (operator, arguments) -> object;
    device: name -> device.
    """

    def __init__(
        self,
        make_tensor: Callable,
        make_view: Callable,
        quantized: Callable,
        packed: Callable,
        device: Callable,
    ):
        self.make_tensor, self.make_view, self.quantized = make_tensor, make_view, quantized
        self.packed, self.device = packed, device
        self.tensors: list[Any] = []
        self.held: list[Any] = []

    def of(self, value: Any) -> Any:
        kind = type(value)
        if kind is T:
            made = self.make_tensor(value, memory_of(value))
            self.tensors.append(made)
            self.held.append(made)
            return made
        if kind is V:
            made = self.make_view(self.tensors[value.k], value)
            return made
        if kind is A:
            return self.tensors[value.k]
        if kind is Q:
            codes, place = self.of(value.codes), len(self.tensors) - 1
            made = self.quantized(codes, value.scale, value.zero_point, value.axis)
            if type(value.codes) is T:
                self.held[place] = made  # in PyTorch its memory is its own
            return made
        if kind is P:
            return self.packed(value.operator, [self.of(v) for v in value.arguments])
        if kind is D:
            return self.device(value.name)
        if kind in (list, tuple):
            return kind(map(self.of, value))
        if kind is dict:
            return {self.of(k): self.of(v) for k, v in value.items()}
        return value
