"""Samples of the operator tests as plausible arguments: {argument name: value} by operator."""

from __future__ import annotations

import importlib
from functools import lru_cache

import numpy as np

from scriptlang.ops import table
from scriptlang.tensors import Tensor, contiguous_strides
from tests.ops import harness
from tests.ops.one_operator import chosen

from .values import D, T

LARGE = 20_000
"""Samples with more elements are left out."""


@lru_cache(maxsize=None)
def by_name() -> dict[str, list[tuple[str, int]]]:
    """Operator name without namespace -> (family, number) of its samples."""
    found: dict[str, list[tuple[str, int]]] = {}
    for path in sorted(harness.RECORDED.glob("*.npz")):
        for i, sample in enumerate(samples_of(path.stem)):
            name = sample.name.partition(".")[0].rpartition("::")[2]
            found.setdefault(name, []).append((path.stem, i))
    return found


def samples_of(family: str) -> list[harness.Sample]:
    return importlib.import_module(f"tests.ops.test_{family}").SAMPLES


def bases(name: str) -> list[str]:
    """Names whose samples may fit an operator's arguments, the likeliest first."""
    plain = name.rpartition("::")[2]
    names = [
        plain,
        plain.removesuffix("_"),
        plain.removesuffix("_copy"),
        plain.removeprefix("_"),
        plain.removeprefix("special_"),
        plain.removeprefix("linalg_"),
        plain.removesuffix("_backward"),
        plain.strip("_"),
    ]
    names += [ALIASES[n] for n in names if n in ALIASES]
    return list(dict.fromkeys(names))


ALIASES = {
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "multiply": "mul",
    "subtract": "sub",
    "clip": "clamp",
    "absolute": "abs",
    "greater": "gt",
    "less": "lt",
    "greater_equal": "ge",
    "less_equal": "le",
    "not_equal": "ne",
    "moveaxis": "movedim",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "row_stack": "vstack",
}


@lru_cache(maxsize=4)
def arguments_for(overload: str) -> list[dict]:
    """What samples give for the arguments of an overload, by name; arrays are T."""
    name, _, short = overload.partition(".")
    operator = table.find(name, short)
    wanted = {a.name for a in operator.schema.arguments}
    exact, others = [], []
    for base in bases(name):
        for family, i in by_name().get(base, ()):
            found = arguments_of(family, i)
            if found is None:
                continue
            sampled, values = found
            same = sampled.overload in (short, short.removesuffix("out").removesuffix("_"))
            fitting = {k: v for k, v in values.items() if k in wanted}
            if fitting:
                (exact if same else others).append(fitting)
    return exact or others


@lru_cache(maxsize=None)
def arguments_of(family: str, i: int):
    """(operator, {argument: value}) of a sample; None where no overload takes it."""
    sample = samples_of(family)[i]
    arrays: list[np.ndarray] = []

    def wrapped(array):
        arrays.append(array)
        return Tensor._wrap(array)

    args = harness.convert(sample.args, wrapped)
    kwargs = {k: harness.convert(v, wrapped) for k, v in sample.kwargs.items()}
    places = {id(t): k for k, t in enumerate(_tensors([args, kwargs]))}
    if sum(a.size for a in arrays) > LARGE:
        return None
    try:
        operator, bound = chosen(sample.name, args, kwargs)
    except Exception:  # a sample of what is refused
        return None
    values = [_described(v, f"{family}/{i}/", places) for v in bound]
    return operator, dict(zip((a.name for a in operator.schema.arguments), values))


def _tensors(value):
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from _tensors(v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _tensors(v)


def _described(value, path: str, places: dict[int, int]):
    if isinstance(value, Tensor):
        if id(value) not in places:
            return None
        size = tuple(value._size)
        room = max(int(np.prod(size)), 0)
        return T(
            value.dtype.name,
            size,
            contiguous_strides(size),
            0,
            room,
            f"sample:{path}{places[id(value)]}",
            0,
        )
    if type(value).__name__ == "Device":
        return D(str(value))
    if isinstance(value, (list, tuple)):
        return type(value)(_described(v, path, places) for v in value)
    if isinstance(value, dict):
        return {k: _described(v, path, places) for k, v in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    return value


def array_at(path: str) -> np.ndarray:
    """The array of a sample: `family/number/place`."""
    family, i, place = path.split("/")
    sample = samples_of(family)[int(i)]
    arrays: list[np.ndarray] = []
    harness.convert(sample.args, lambda a: arrays.append(a))
    for v in sample.kwargs.values():
        harness.convert(v, lambda a: arrays.append(a))
    return arrays[int(place)]
