"""The arguments that a straight graph is made for ahead of any call: examples, or their sizes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from ... import types as T
from ...interpreter.arguments import Mismatch, convert
from ...interpreter.values import type_name
from ...ops.calling import functions
from ...passes.shape_facts import TensorFacts, tensor_facts
from ...passes.sizes import Size
from ...schema import Schema
from ...tensors import Tensor
from ..shape_text import Inputs, ShapeError, by_name, fact_of_input


def example_of(
    schema: Schema, first: Sequence[Any], inputs: Inputs
) -> tuple[list[Any], list[TensorFacts]]:
    """Return (the arguments of a call, the facts of the tensors among them). Tensors of which only
    sizes are given have no elements."""
    given = by_name(schema, inputs)
    values, facts = list(first), list[TensorFacts]()
    symbols: dict[str, Size] = {}
    for a in schema.arguments[len(first) :]:
        if a.name in given:
            values.append(value_of(a.name, a.type, given[a.name], symbols, facts))
        elif a.has_default:
            values.append(a.default)
        else:
            raise ShapeError(f"the input {a.name} of {schema.name} is missing: give its sizes")
    return values, facts


def value_of(
    name: str, type: T.Type, given: Any, symbols: dict[str, Size], facts: list[TensorFacts]
) -> Any:
    """An argument of a call. Facts of its tensors are added to `facts`.

    given: an example, or what `inspect` takes for a tensor; a text is a literal for other types.
    """
    plain = T.without_none(type)
    is_shape = isinstance(given, str) or (
        isinstance(given, (list, tuple)) and all(isinstance(n, (int, str)) for n in given)
    )
    if plain == T.TENSOR and is_shape:
        fact = fact_of_input(name, type, given, symbols, at_least=2)
        assert isinstance(fact, TensorFacts)
        facts.append(fact)
        return functions.zeros([0])
    if isinstance(given, str) and plain != T.STR:
        try:
            given = ast.literal_eval(given)
        except (ValueError, SyntaxError):
            raise ShapeError(f"{given!r} is no {plain.annotation} for the input {name}") from None
    try:
        given = convert(given, type)
    except Mismatch as e:
        raise ShapeError(
            f"the input {name}{e.path} is a {type_name(e.value)}, not a {e.wanted.annotation}"
        ) from None
    facts += (exact(t) for t in tensors_in(given))
    return given


def tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(part)


def exact(t: Tensor) -> TensorFacts:
    """The facts of a tensor, without its elements."""
    return tensor_facts(list(t._size), t.dtype)
