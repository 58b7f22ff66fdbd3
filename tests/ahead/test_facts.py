"""Facts that are found by trying an operator on zeros hold for its samples, whose elements are
others: an operator whose elements decide sizes says so (`dynamic_shape`)."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scriptlang import types as T
from scriptlang.ops import table
from scriptlang.passes.ahead.facts import tried
from scriptlang.passes.shape_facts import fact_of
from scriptlang.passes.shape_rules import rule_of
from scriptlang.tensors import Tensor
from tests.ops.harness import convert
from tests.ops.one_operator import chosen
from tests.passes.test_shapes import FAMILIES

MOST = 8
"""Samples of one operator that are compared."""


def samples() -> Iterator[tuple[table.Operator, list[Any]]]:
    """The samples of operators whose results are tensors, as the overload and all its arguments."""
    for family in FAMILIES:
        for sample in getattr(importlib.import_module(f"tests.ops.{family}"), "SAMPLES", []):
            args, kwargs = convert((sample.args, list(sample.kwargs.values())), Tensor._wrap)
            try:
                operator, values = chosen(sample.name, args, dict(zip(sample.kwargs, kwargs)))
            except Exception:
                continue  # a sample of an error
            types = [t for r in operator.schema.returns for t in r.type.walk()]
            if T.TENSOR in types and not any(isinstance(t, T.VarType) for t in types):
                yield operator, values


def fact(value: Any) -> Any:
    """A fact as `Growing` has it, of what the samples give."""
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        return tuple(map(fact, value))
    return fact_of(value) if isinstance(value, Tensor) else value


def shown(value: Any) -> Any:
    """The types and sizes of results."""
    if isinstance(value, Tensor):
        return value.dtype, tuple(value.shape)
    return list(map(shown, value)) if isinstance(value, (list, tuple)) else None


def is_tried(operator: table.Operator) -> bool:
    schema, facts = operator.schema, operator.facts
    if schema.is_mutable or schema.is_vararg or facts.effect or facts.dynamic_shape:
        return False
    return rule_of(operator.name, schema.overload) is None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_zeros_say_holds_for_other_elements():
    met: Counter[str] = Counter()
    wrong = set()
    for operator, values in samples():
        if not is_tried(operator) or met[operator.qualified_name] >= MOST:
            continue
        with np.errstate(all="ignore"):
            made = tried(operator.kernel, list(map(fact, values)))
            if made is None:
                continue
            try:
                result = operator.kernel(*values)
            except Exception:
                continue  # these elements are refused, as they should
        met[operator.qualified_name] += 1
        if shown(made) != shown(result):
            wrong.add(operator.qualified_name)
    assert not wrong, "tell the fact dynamic_shape of them"
    assert len(met) > 150


def test_operators_that_depend_on_elements_are_not_tried():
    operator = table.find("aten::nonzero_numpy")
    assert operator.facts.dynamic_shape and not is_tried(operator)
    zeros, ones = (Tensor._wrap(np.full((2, 2), x, np.float32)) for x in (0, 1))
    assert shown(operator.kernel(zeros)) != shown(operator.kernel(ones))
