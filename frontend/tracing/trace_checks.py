"""Checks a trace: records or runs the function again, and compares the results."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from scriptlang.errors import ScriptError
from scriptlang.ir import Graph
from scriptlang.passes import effects
from scriptlang.tensors import Tensor, as_tensor


class TracerWarning(UserWarning):
    """A trace may compute something else than the traced function does."""


class TracingCheckError(ScriptError):
    """Two recordings of a function differ, or a recording fails where the function does not."""


def is_random(graph: Graph) -> bool:
    """Whether the graph draws random numbers, so that two runs differ."""
    return any(map(effects.is_random, graph.walk_all()))


def check_graphs(first: Graph, again: Graph) -> None:
    """Compare two recordings of the same function.  Raises TracingCheckError if they differ."""
    a, b = ([_line(n) for n in g.walk_all() if n.kind != "prim::Constant"] for g in (first, again))
    if a != b:
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        parts = [
            f"{name}: {lines[at] if at < len(lines) else 'nothing more'}"
            for name, lines in (("first", a), ("then", b))
        ]
        raise TracingCheckError(
            "Tracing failed sanity checks: Graphs differed across invocations: "
            + "; ".join(parts)
            + "\n  help: what a traced function does must not depend on "
            "anything but its arguments"
        )
    for x, y in zip(
        *([n for n in g.walk_all() if n.kind == "prim::Constant"] for g in (first, again))
    ):
        values = x.attributes["value"], y.attributes["value"]
        if all(isinstance(v, Tensor) for v in values) and not _same_tensor(*values, 1e-5, 1e-8):
            raise TracingCheckError(
                "Tracing failed sanity checks: Tensor-valued Constant nodes differed in value "
                "across invocations"
                + (f" ({x.span.place})" if x.span else "")
                + "\n  help: a tensor made by numpy, `.data` or random numbers of Python is not "
                "recorded; compute it by operators, or pass it as an argument"
            )
        if not isinstance(values[0], Tensor) and repr(values[0]) != repr(values[1]):
            raise TracingCheckError(
                "Tracing failed sanity checks: Graphs differed across invocations: a constant is "
                f"{values[0]!r} first and {values[1]!r} then"
                + (f" ({x.span.place})" if x.span else "")
                + "\n  help: pass what changes from call to call as an argument"
            )


def _line(node: Any) -> str:
    types = ", ".join(str(v.type) for v in node.outputs)
    return f"{node.kind} -> {types}" + (f" ({node.span.place})" if node.span else "")


def check_traced(
    func: Callable[..., Any],
    traced: Callable[..., Any],
    inputs: Sequence[Sequence[Any]],
    graph: Graph,
    copy: Callable[..., Sequence[Any]],
    tolerance: float,
) -> None:
    """Run the function and its recording on each of the inputs, and warn if the results differ.

    `copy` copies the inputs of a run.  Recordings with random operators are not checked.  Raises
    TracingCheckError if the recording fails.
    """
    if is_random(graph):
        warnings.warn(
            "Trace had nondeterministic nodes. Did you forget call .eval() on your model? The "
            "recording is not compared with the function",
            TracerWarning,
            stacklevel=4,
        )
        return
    for args in inputs:
        expected = call(func, copy(args))
        try:
            found = call(traced, copy(args))
        except Exception as error:
            raise TracingCheckError(
                f"the recorded function fails where the function itself does not: {error}"
            ) from error
        where = difference(expected, found, max(tolerance, 1e-4), tolerance)
        if where is not None:
            warnings.warn(
                "Output of the traced function does not match the corresponding output of the "
                f"Python function{where}; a trace records no control flow, and values that Python "
                "computed become constants",
                TracerWarning,
                stacklevel=4,
            )


def difference(a: Any, b: Any, rtol: float, atol: float, path: str = "") -> str | None:
    """Where two results differ, as text for a message: " at [0]", or "" for the whole result.

    None if they are equal.
    """
    ours = [
        as_tensor(v) if not isinstance(v, (bool, int, float, complex, str)) else None
        for v in (a, b)
    ]
    if ours[0] is not None:
        same = ours[1] is not None and _same_tensor(ours[0], ours[1], rtol, atol)
        return None if same else path and f" at {path}"
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return path and f" at {path}"
        parts = [(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(a, b))]
    elif isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            return path and f" at {path}"
        parts = [(a[k], b[k], f"{path}[{k!r}]") for k in a]
    else:
        return None if a == b else path and f" at {path}"
    found = (difference(x, y, rtol, atol, at) for x, y, at in parts)
    return next((f for f in found if f is not None), None)


def _same_tensor(a: Tensor, b: Tensor, rtol: float, atol: float) -> bool:
    import numpy as np

    if a.dtype is not b.dtype or a._size != b._size:
        return False
    x, y = (np.asarray(t.tolist(), dtype=None) for t in (a, b))
    return x.dtype.kind == "O" or np.allclose(x, y, rtol=rtol, atol=atol, equal_nan=True)


class Named(tuple[Any, ...]):
    """Example inputs that are passed by name, in the order of the function's parameters."""

    names: list[str]


def named(values: Iterable[Any], names: list[str]) -> Named:
    made = Named(values)
    made.names = names
    return made


def with_keywords(func: Callable[..., Any], given: Mapping[str, Any]) -> Named:
    """Example inputs that are given by name.

    Raises TypeError for a name that is not a parameter.
    """
    parameters = inspect.signature(getattr(func, "forward", func)).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return named(given.values(), list(given))
    unknown = [name for name in given if name not in parameters]
    if unknown:
        raise TypeError(f"{name_of(func)}() got an unexpected keyword argument '{unknown[0]}'")
    names = sorted(given, key=list(parameters).index)
    return named((given[name] for name in names), names)


def name_of(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", type(func).__name__)


def call(func: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The result of a function for example inputs."""
    return func(**dict(zip(args.names, args))) if isinstance(args, Named) else func(*args)


def parameters_of(func: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """The names of the parameters that take example inputs; those of `*args` are numbered."""
    if isinstance(args, Named):
        return args.names
    count = len(args)
    try:
        parameters = list(inspect.signature(func).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (names + [f"input_{i}" for i in range(len(names), count)])[:count]
