"""Checks an operator against its schema on given arguments: `scriptlang.library.opcheck`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..calling import binding
from .operators import CustomOperator, tensors_in


class CheckError(AssertionError):
    """An operator violates its schema, or differs from its fake implementation."""


def test_schema(op: CustomOperator, values: list[Any]) -> None:
    """Check that only those arguments are written or shared for which the schema says so."""
    before = [[copy_of(t) for t in tensors_in(v)] for v in values]
    results = results_of(op, values)
    written = {place for place, _ in op.schema.written}
    for place, (a, value) in enumerate(zip(op.schema.arguments, values)):
        same = all(
            np.array_equal(old, copy_of(t), equal_nan=old.dtype.kind in "fc")
            for old, t in zip(before[place], tensors_in(value))
        )
        if not same and place not in written:
            raise CheckError(f"{op.name} writes {a.name}, which its schema does not say")
    for k, result in enumerate(results):
        for place in range(len(values)):
            shares = shared(result, values[place])
            if shares and place not in op.schema.shared[k]:
                raise CheckError(
                    f"result {k} of {op.name} shares memory with {op.schema.arguments[place].name},"
                    " which its schema does not say"
                )


def test_fake(op: CustomOperator, values: list[Any]) -> None:
    """Check that the fake implementation returns tensors of the right sizes and dtypes."""
    if op.fake is None:
        raise CheckError(f"{op.name} has no fake: scriptlang.library.register_fake gives it one")
    faked = op.results(op.fake, values)
    for k, (real, fake) in enumerate(zip(results_of(op, values), faked)):
        for r, f in zip(tensors_in(real), tensors_in(fake)):
            if (r._size, r.dtype) != (f._size, f.dtype):
                raise CheckError(
                    f"result {k} of {op.name} is {binding.describe(r)}, but its fake gives "
                    f"{binding.describe(f)}"
                )


CHECKS: dict[str, Callable[[CustomOperator, list[Any]], None]] = {
    "test_schema": test_schema,
    "test_faketensor": test_fake,
}


def run_checks(
    op: CustomOperator,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    names: Sequence[str],
    raises: bool,
) -> dict[str, str | Exception]:
    """Check name -> "SUCCESS" or the error, which is raised instead if `raises` is set."""
    found: dict[str, str | Exception] = {}
    for name in names:
        values = binding.bind(op.schema, args, kwargs)
        if isinstance(values, str):
            raise TypeError(f"{op.schema}: {values}")
        try:
            CHECKS[name](op, [cloned(v) for v in values])
            found[name] = "SUCCESS"
        except Exception as e:
            if raises:
                raise
            found[name] = e
    return found


def results_of(op: CustomOperator, values: list[Any]) -> tuple[Any, ...]:
    given = op.call(*values)
    return given if len(op.schema.returns) > 1 else () if not op.schema.returns else (given,)


def copy_of(tensor: Any) -> Any:
    return np.array(tensor.detach().numpy())


def cloned(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [cloned(v) for v in value]
    return value.detach().clone() if tensors_in(value) else value


def shared(a: Any, b: Any) -> bool:
    storages = {id(t._storage) for t in tensors_in(a)}
    return any(id(t._storage) in storages for t in tensors_in(b))
