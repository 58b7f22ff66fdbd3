"""Prints types and constants as expressions in the code of an archive.  Constants that have no
literal, such as tensors, are put into a table."""

from __future__ import annotations

import ast
import math
from functools import lru_cache
from typing import Any

from .. import types as T
from ..errors import ArchiveError
from ..frontend.values.python_calls import PythonCall
from ..ir import Function
from ..objects import Device, EnumValue, ScriptObject
from ..tensors import Tensor
from ..types import constant_type

MIN_INT = -(2**63)


class ConstantTable:
    """The table of constants for constants.pkl: `CONSTANTS.c0` is its first value."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.indices: dict[Any, int] = {}

    def name(self, value: Any) -> ast.expr:
        """The expression for a value, which is added to the table if it is new."""
        key = (
            value
            if isinstance(value, str)
            else str(value)
            if isinstance(value, complex)
            else id(value)
        )  # text, since -0j == 0j
        if key not in self.indices:
            self.indices[key] = len(self.values)
            self.values.append(value)
        return dotted_expr(f"CONSTANTS.c{self.indices[key]}")


def name_expr(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


@lru_cache(maxsize=4096)
def dotted_expr(name: str) -> ast.expr:
    """The expression for a name such as `a.b.c`.  Trees share it, so it must not be modified."""
    head, *rest = name.split(".")
    made: ast.expr = name_expr(head)
    for part in rest:
        made = ast.Attribute(made, part, ast.Load())
    return made


@lru_cache(maxsize=4096)
def _annotation_expr(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class Spelling:
    """The names of types and functions in an archive, and its table of constants.

    renamed, functions: those whose name in the archive differs from their own.
    """

    def __init__(self) -> None:
        self.constants = ConstantTable()
        self.renamed: dict[T.Type, str] = {}
        self.functions: dict[Function, str] = {}

    def type(self, t: T.Type) -> ast.expr:
        """The annotation for a type.  Trees share it, so it must not be modified."""
        return _annotation_expr((self.rename(t) if self.renamed else t).annotation)

    def rename(self, t: T.Type) -> T.Type:
        name = self.renamed.get(t)
        return T.AtomType(name) if name is not None else t.map(self.rename)

    def name(self, t: T.Type) -> str:
        """The qualified name of a class, enum, interface or named tuple."""
        known: Any = t
        return self.renamed.get(t) or known.name

    def function(self, function: Function) -> str:
        return self.functions.get(function) or function.name

    def annotate(self, t: T.Type, expr: ast.expr) -> ast.expr:
        """The expression `annotate(T, expr)`."""
        return call("annotate", self.type(t), expr)


def call(function: str | ast.expr, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    target = dotted_expr(function) if isinstance(function, str) else function
    return ast.Call(target, list(args), [ast.keyword(k, v) for k, v in keywords.items()])


def constant_expr(value: Any, t: T.Type | None, spelling: Spelling) -> ast.expr:
    """The expression for a constant of type `t`, or of the type that the value has if `t` is None.

    Raises ArchiveError if an archive cannot hold the value.
    """
    t = T.without_none(t) if t is not None and value is not None else t
    if isinstance(value, str):
        return ast.Constant(value) if is_plain(value) else spelling.constants.name(value)
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return ast.Constant(value)
    if isinstance(value, complex):
        return ast.Constant(value) if is_exact(value) else spelling.constants.name(value)
    if isinstance(value, int):
        if value == MIN_INT:  # PyTorch reads the digits without the sign, and they overflow
            return call("torch.sub", ast.Constant(MIN_INT + 1), ast.Constant(1))
        return ast.Constant(value)
    if isinstance(value, (Tensor, ScriptObject)):
        return spelling.constants.name(value)
    if isinstance(value, list):
        return list_expr(value, t, spelling)
    if isinstance(value, dict):
        return dict_expr(value, t, spelling)
    if isinstance(value, tuple):
        return tuple_expr(value, t, spelling)
    if isinstance(value, Device):
        return call("torch.device", ast.Constant(str(value)))
    if isinstance(value, EnumValue):
        return dotted_expr(f"{spelling.name(value.type)}.{value.name}")
    if isinstance(value, Function):
        return dotted_expr(spelling.function(value))
    if isinstance(value, PythonCall):
        raise ArchiveError(
            f"Could not export Python function call {value.__name__!r}: the program calls it "
            "(@ignore), and an archive cannot hold it",
            None,
            "mark it @unused where it is not needed, or let it be compiled",
        )
    raise ArchiveError(
        f"a constant of class {value.__class__.__name__} cannot be saved",
        None,
        "keep it in an attribute of the module instead",
    )


def is_plain(text: str) -> bool:
    """Whether a string is printed as a literal.  Others are put into the table, as in PyTorch."""
    return all(" " <= c <= "~" or c in "\n\t\r" for c in text)


def is_exact(value: complex) -> bool:
    """Whether the sum of the parts, which readers compute from `1.0+2.0j`, is exactly this number.
    It is not if a part is -0.0."""
    return all(part != 0 or math.copysign(1, part) > 0 for part in (value.real, value.imag))


def list_expr(value: list[Any], t: T.Type | None, spelling: Spelling) -> ast.expr:
    element = t.element if isinstance(t, T.ListType) else None
    made = ast.List([constant_expr(v, element, spelling) for v in value], ast.Load())
    if t is not None and element is not None and (not value or not is_natural(value, element)):
        return spelling.annotate(t, made)
    return made


def dict_expr(value: dict[Any, Any], t: T.Type | None, spelling: Spelling) -> ast.expr:
    kt, vt = (t.key, t.value) if isinstance(t, T.DictType) else (None, None)
    made = ast.Dict(
        [constant_expr(k, kt, spelling) for k in value],
        [constant_expr(v, vt, spelling) for v in value.values()],
    )
    if t is not None and vt is not None and not (value and is_natural([*value.values()], vt)):
        return spelling.annotate(t, made)
    return made


def tuple_expr(value: tuple[Any, ...], t: T.Type | None, spelling: Spelling) -> ast.expr:
    types = (
        t.elements
        if isinstance(t, T.TupleType) and len(t.elements) == len(value)
        else [None] * len(value)
    )
    items = [constant_expr(v, e, spelling) for v, e in zip(value, types)]
    if isinstance(t, T.TupleType) and t.name:
        return call(spelling.name(t), *items)
    return ast.Tuple(items, ast.Load())


def is_natural(values: list[int], element: T.Type) -> bool:
    """Whether readers infer exactly this element type from a literal of the values."""
    try:
        return all(constant_type(v) == element for v in values)
    except TypeError:
        return False
