"""Parses what users say about inputs of a program: `x=1,3,224,224`, `ids=int64[1,s0]`, `n=5`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .. import dtypes
from .. import types as T
from ..passes.shape_facts import Fact, fact_of, tensor_facts
from ..passes.sizes import Size, symbol
from ..schema import Argument, Schema
from ..tensors import Tensor

FORM = re.compile(r"(?:([a-z_]\w*)?\[(.*)\]|([^\[\]]*))")
"""`dtype[sizes]`, or only sizes."""


class ShapeError(ValueError):
    """Raised if a description of an input is invalid or does not fit the program."""


Inputs = Mapping[str, Any] | list[Any] | tuple[Any, ...]
"""What is given for the inputs of a program: by name, or in order."""


def input_facts(schema: Schema, given: Inputs) -> dict[str, Fact]:
    """The facts of inputs, by the name of the argument.

    given: by name, or in order: a text as above, a list or tuple of sizes (ints, and names of
    symbols), or a Tensor, whose shape and dtype count. The default dtype of a text or list is
    float32. Raises ShapeError.
    """
    arguments = {a.name: a for a in inputs_of(schema)}
    symbols: dict[str, Size] = {}
    return {
        name: fact_of_input(name, T.without_none(arguments[name].type), value, symbols)
        for name, value in by_name(schema, given).items()
    }


def inputs_of(schema: Schema) -> list[Argument]:
    """The arguments of a method but the object."""
    return [a for a in schema.arguments if not isinstance(a.type, T.ClassType)]


def by_name(schema: Schema, given: Inputs) -> dict[str, Any]:
    """What is given for inputs, by name or in order. Raises ShapeError for others."""
    names = [a.name for a in inputs_of(schema)]
    if not isinstance(given, Mapping):
        if len(given) > len(names):
            raise ShapeError(
                f"there are {len(given)} inputs given and the program has "
                f"{len(names)}: {', '.join(names)}"
            )
        given = dict(zip(names, given))
    for name in given:
        if name not in names:
            raise ShapeError(f"the program has no input {name!r}; it has {', '.join(names)}")
    return dict(given)


def fact_of_input(
    name: str, type: T.Type, value: Any, symbols: dict[str, Size], at_least: int = 0
) -> Fact:
    """The facts of one input. symbols: those known by their names. at_least: how small they may
    be."""
    if isinstance(value, Tensor) or type != T.TENSOR and not isinstance(value, str):
        return fact_of(value)
    if type == T.INT:
        return size_of(value, symbols, at_least=None)
    if type != T.TENSOR:
        raise ShapeError(
            f"{name} is a {type.annotation}; shapes are of Tensors, and numbers of ints"
        )
    if not isinstance(value, str):
        sizes = [size_of(str(s), symbols, at_least) for s in value]
        return tensor_facts(sizes, dtypes.float32)
    match = FORM.fullmatch(value.replace(" ", ""))
    if match is None:
        raise ShapeError(f"{value!r} is no shape; write {name}=1,3,224,224 or {name}=int64[1,s0]")
    dtype = dtypes.BY_NAME.get(match[1] or "float32")
    if dtype is None:
        raise ShapeError(
            f"{match[1]!r} is no element type; write {name}=int64[...], or another of "
            f"{', '.join(d.name for d in dtypes.ALL)}"
        )
    text = match[2] if match[2] is not None else match[3]
    sizes = [size_of(s, symbols, at_least) for s in text.split(",") if s]
    return tensor_facts(sizes, dtype)


def size_of(text: str, symbols: dict[str, Size], at_least: int | None = 0) -> Size:
    """A number, or the symbol with that name. at_least: for symbols; None allows negative ones."""
    if re.fullmatch(r"-?\d+", text):
        number = int(text)
        if at_least is not None and number < 0:
            raise ShapeError(f"{text} is no size: sizes are not negative")
        return number
    if not text.isidentifier():
        raise ShapeError(
            f"{text!r} is no size; write a number, or a name such as s0 for one that is not known"
        )
    return symbols.setdefault(text, symbol(text, at_least))
