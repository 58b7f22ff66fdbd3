"""scriptlang run: runs a method on files, literals or random inputs; can compare engines."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from .inputs import add_inputs, arguments, by_place, told
from .main import DIFFERS, OK, add_archive, add_engine, add_method, load_module, method_of
from .output import Output


def add(command: argparse.ArgumentParser) -> None:
    add_archive(command)
    add_inputs(command)
    add_method(command, "which method to run")
    command.add_argument(
        "-o", "--output", metavar="FILE.npz", help="write the results to this file"
    )
    add_engine(command)
    command.add_argument(
        "--compare",
        choices=("python", "native", "torch"),
        help="run it on another engine, too, or by PyTorch, and tell the first value that differs",
    )


def run(options: argparse.Namespace, out: Output) -> int:
    module = load_module(options.archive, options, out, options.engine)
    method = method_of(module, options.method, options.archive)
    args, kwargs = arguments(options, method.schema)
    comparison = None
    if options.compare:
        from ..observing.comparing import compare

        args, kwargs = by_place(args, kwargs, method.schema), {}
        with out.working(f"comparing with {options.compare}"):
            names = options.archive, options.compare
            comparison = compare(module, options.compare, args, method=options.method, names=names)
    with out.working(f"running {options.method}"), told(method.schema, args, kwargs):
        result = method(*args, **kwargs)
    arrays = dict(flatten(result, "output"))
    if options.output:
        with open(options.output, "wb") as file:
            saved: dict[str, Any] = {k: np.asarray(v) for k, v in arrays.items()}
            np.savez(file, **saved)
    if out.json:
        data: dict[str, Any] = {"results": {k: to_json(v) for k, v in arrays.items()}}
        if comparison is not None:
            data["comparison"] = {"equal": comparison.equal, "text": str(comparison)}
        out.data(data)
    else:
        for name, value in arrays.items():
            out.text(describe_value(name, value))
        if not arrays:
            out.text(f"output: {result}")
        if comparison is not None:
            out.text(str(comparison))
    return OK if comparison is None or comparison.equal else DIFFERS


def flatten(value: Any, name: str, depth: int = 0) -> Iterator[Any]:
    """The (name, array or scalar) pairs of all leaves of a result."""
    if depth > 100:
        yield name, "..."
    elif isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None) or range(len(value))
        for n, v in zip(names, value):
            yield from flatten(v, f"{name}.{n}", depth + 1)
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from flatten(v, f"{name}.{k}", depth + 1)
    elif value is not None:
        yield name, value.detach().numpy() if hasattr(value, "detach") else value


def describe_value(name: str, value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return f"{name}: {type(value).__name__} = {value!r}"
    text = np.array2string(value, threshold=12, edgeitems=2, precision=6)
    return f"{name}: {value.dtype}{list(value.shape)}\n{text}"


MOST_JSON = 10_000


def to_json(value: Any) -> Any:
    """A value for JSON; a large array is only summarised."""
    if not isinstance(value, np.ndarray):
        return value
    facts: dict[str, Any] = {"dtype": str(value.dtype), "shape": list(value.shape)}
    if value.size <= MOST_JSON:
        return {**facts, "values": value.tolist()}
    numbers = value.astype(np.float64) if value.dtype.kind in "fiub" else np.abs(value)
    return {
        **facts,
        "min": float(numbers.min()),
        "mean": float(numbers.mean()),
        "max": float(numbers.max()),
    }
