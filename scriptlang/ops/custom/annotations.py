"""Infers schemas from the annotations of functions, as torch.library.infer_schema does.

def scale(x: Tensor, k: int = 1) -> Tensor: ...    ->    (Tensor x, SymInt k=1) -> Tensor
"""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from ... import dtypes
from ...objects import Device
from ...tensors import Tensor

ATOMS: dict[Any, str] = {
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    Tensor: "Tensor",
    dtypes.DType: "ScalarType",
    Device: "Device",
}
"""Classes -> their names in schemas; torch's Tensor, dtype and device are recognized by name."""

TORCH_NAMES = {"Tensor": "Tensor", "Parameter": "Tensor", "dtype": "ScalarType", "device": "Device"}

LISTS = (list, collections.abc.Sequence)

NUMBER = {int, float, bool}

RESULTS = frozenset({"Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"})


def infer_schema(
    function: Callable[..., Any], *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """The schema of a function that becomes an operator, without a name unless `op_name` is given.

    mutates_args: names of the tensors that it writes; "unknown" means all of them.  Raises
    ValueError, naming the argument, for types that an operator cannot take or return.
    """
    signature = inspect.signature(function)
    try:
        notes = typing.get_type_hints(function)
    except NameError as e:
        raise ValueError(f"{name_of(function)}: an annotation names what there is not: {e}") from e
    written = None if mutates_args == "unknown" else set(mutates_args)
    if isinstance(mutates_args, str) and written is not None:
        raise ValueError(f"mutates_args is a list of names or 'unknown', not {mutates_args!r}")
    if unknown := sorted((written or set()) - set(signature.parameters)):
        raise ValueError(
            f"{name_of(function)} has no argument {', '.join(unknown)}, which mutates_args names"
        )
    parts, starred = [], False
    for place, parameter in enumerate(signature.parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(
                f"{name_of(function)}: operators take no *args, **kwargs or arguments that have "
                f"no name for callers, as {parameter} is"
            )
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(argument_of(function, parameter, notes, written, place))
    returned = results_of(function, notes, signature)
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))


def argument_of(
    function: Callable[..., Any],
    parameter: inspect.Parameter,
    notes: dict[str, Any],
    written: set[str] | None,
    place: int,
) -> str:
    name = parameter.name
    if name not in notes:
        raise ValueError(f"{name_of(function)}: the argument {name} has no annotation")
    text = spelled(notes[name])
    if text is None:
        raise ValueError(
            f"{name_of(function)}: the argument {name} is a {notes[name]!r}, which no operator "
            "takes: it may be a Tensor, int, float, bool, str, number, dtype or device, a list or "
            "Optional of such"
        )
    if written is None or name in written:
        if text.startswith("Tensor"):
            text = f"Tensor(a{place}!){text.removeprefix('Tensor')}"
        elif written is not None:
            raise ValueError(
                f"{name_of(function)}: mutates_args names {name}, but only tensors are written"
            )
    if parameter.default is parameter.empty:
        return f"{text} {name}"
    return f"{text} {name}={default_of(function, parameter)}"


def default_of(function: Callable[..., Any], parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dtypes.DType) or type(value).__name__ == "dtype":
        return str(value).removeprefix("torch.")
    if isinstance(value, Device) or type(value).__name__ == "device":
        return f'"{value}"'
    raise ValueError(
        f"{name_of(function)}: the argument {parameter.name} has the default {value!r}; schemas "
        "have numbers, texts, dtypes and None there"
    )


def results_of(
    function: Callable[..., Any], notes: dict[str, Any], signature: inspect.Signature
) -> str:
    if signature.return_annotation is signature.empty:
        raise ValueError(f"{name_of(function)}: no annotation says what it gives; None is nothing")
    note = notes["return"]
    if note in (None, type(None)):
        return "()"
    parts = typing.get_args(note) if typing.get_origin(note) is tuple else (note,)
    if Ellipsis in parts:
        raise ValueError(f"{name_of(function)}: operators give a fixed number of results: {note!r}")
    texts = [spelled(part) for part in parts]
    for part, text in zip(parts, texts):
        if text not in RESULTS:
            raise ValueError(
                f"{name_of(function)}: gives a {part!r}, which no operator gives: it may be a "
                "Tensor, int, float, bool or number, a list of tensors, or a tuple of such"
            )
    whole = ", ".join(map(str, texts))
    return f"({whole})" if typing.get_origin(note) is tuple else whole


def spelled(note: Any) -> str | None:
    """A Python type as spelled in schemas; None if schemas have no such type."""
    if isinstance(note, type) and note in ATOMS:
        return ATOMS[note]
    if isinstance(note, type) and note.__module__.partition(".")[0] == "torch":
        return TORCH_NAMES.get(note.__name__)
    origin, parts = typing.get_origin(note), typing.get_args(note)
    if origin in (typing.Union, types.UnionType):
        if set(parts) == NUMBER:
            return "Scalar"
        rest = [p for p in parts if p is not type(None)]
        if len(rest) == len(parts):
            return None
        inner = "Scalar" if set(rest) == NUMBER else spelled(rest[0]) if len(rest) == 1 else None
        return None if inner is None or inner.endswith("?") else inner + "?"
    if origin in LISTS and len(parts) == 1:
        inner = spelled(parts[0])
        if inner is None or "[" in inner or inner.endswith("?") and inner != "Tensor?":
            return None
        return inner + "[]"
    return None
