"""Reads types and constant values from the `ast` of the code in archives."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

from .. import type_text
from .. import types as T
from ..errors import ArchiveError

DAMAGED = "the code in the archive is damaged, or not written by torch.jit.save"
MAX_DEPTH = 100

NAMED_NUMBERS = {
    "inf": float("inf"),
    "nan": float("nan"),
    "infj": complex(0, float("inf")),
    "nanj": complex(0, float("nan")),
}
"""The names that PyTorch prints for numbers without a literal in Python."""

NUMBER_TYPES: dict[T.Type | None, type[float] | type[complex]] = {
    T.FLOAT: float,
    T.COMPLEX: complex,
}
"""The Python type to which an int literal is converted if one of these types is wanted."""


def dotted(expr: ast.expr) -> str | None:
    """The text `a.b.c` of a chain of attributes; None for other expressions."""
    parts: list[str] = []
    while isinstance(expr, ast.Attribute):
        parts.append(expr.attr)
        expr = expr.value
    if not isinstance(expr, ast.Name):
        return None
    parts.append(expr.id)
    return ".".join(reversed(parts))


class TypeReader:
    """Reads annotations.  `resolve` maps qualified names of the archive to types, or to None."""

    def __init__(self, resolve: Callable[[str], T.Type | None]) -> None:
        self.resolve = resolve

    def read(self, expr: ast.expr, record: str, depth: int = 0) -> T.Type:
        """The type that an expression names.  Raises ArchiveError if it names none.

        record: the record with the code, for errors.
        """
        if depth > MAX_DEPTH:
            self._fail("a type is nested too deep", expr, record)
        if isinstance(expr, ast.Constant):
            if expr.value is None:
                return T.NONE
            if isinstance(expr.value, str):
                return self._named(expr.value, expr, record)
        if isinstance(expr, ast.Tuple):
            return T.TupleType(self._all(expr.elts, record, depth))
        if isinstance(expr, ast.Subscript):
            return self._generic(expr, record, depth)
        name = dotted(expr)
        if name is None:
            self._fail("this is no type", expr, record)
        return self._named(name, expr, record)

    def _named(self, name: str, expr: ast.expr, record: str) -> T.Type:
        known = T.ATOMS.get(name) or type_text.SPELLINGS.get(name) or self.resolve(name)
        if known is None:
            self._fail(f"unknown type {name}", expr, record)
        return known

    def _generic(self, expr: ast.Subscript, record: str, depth: int) -> T.Type:
        name = dotted(expr.value) or ""
        make = type_text.GENERICS.get(name.rpartition(".")[2])
        if make is None:
            self._fail(f"unknown type {name}[...]", expr, record)
        inner = expr.slice
        if isinstance(inner, ast.Tuple):
            parts = self._all(inner.elts, record, depth)
        else:
            parts = (self.read(inner, record, depth + 1),)
        try:
            return make(*parts)
        except TypeError:
            self._fail(f"wrong number of parts of {name}", expr, record)

    def _all(self, exprs: list[ast.expr], record: str, depth: int) -> tuple[T.Type, ...]:
        return tuple(self.read(e, record, depth + 1) for e in exprs)

    @staticmethod
    def _fail(why: str, expr: ast.expr, record: str) -> NoReturn:
        raise ArchiveError(f"line {expr.lineno}: {why}", record, DAMAGED)


class ConstantReader:
    """Reads constant expressions: defaults of arguments, values of Final and enum members.

    name: returns the value of a dotted name (`CONSTANTS.c0`, `__torch__.Color.RED`), or raises
    KeyError.  device: makes a device from its text.
    """

    def __init__(self, name: Callable[[str], Any], device: Callable[[str], Any]) -> None:
        self.name, self.device = name, device

    def read(self, expr: ast.expr, type: T.Type | None, record: str, depth: int = 0) -> Any:
        """The value of an expression.  Raises ArchiveError if it is not a constant.

        type: the declared type, if any; an int is converted if this is a float or complex.
        """
        if depth > MAX_DEPTH:
            self._fail("a constant is nested too deep", expr, record)
        value = self._value(expr, type, record, depth)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            # Python writes no int of thousands of digits.
            shown = value if value.bit_length() < 1000 else "an int"
            self._fail(f"{shown} does not fit 64 bits", expr, record)
        wanted = T.without_none(type) if type is not None else None
        number_type = NUMBER_TYPES.get(wanted)
        if number_type and isinstance(value, int) and not isinstance(value, bool):
            return number_type(value)
        return value

    def _value(self, expr: ast.expr, type: T.Type | None, record: str, depth: int) -> Any:
        if isinstance(expr, ast.Constant):
            return self._literal(expr, record)
        if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.USub):
            inner = expr.operand
            if isinstance(inner, ast.Constant):  # 2**63 does not fit, but -(2**63) does
                value = self._literal(inner, record)
            else:
                value = self.read(inner, type, record, depth + 1)
            if isinstance(value, (int, float, complex)):
                return -value
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, (ast.Add, ast.Sub)):
            return self._complex(expr, record, depth)
        if isinstance(expr, (ast.List, ast.Tuple)):
            return self._sequence(expr, type, record, depth)
        if isinstance(expr, ast.Dict):
            return self._dict(expr, type, record, depth)
        if isinstance(expr, ast.Call):
            return self._call(expr, record, depth)
        name = dotted(expr)
        if name in NAMED_NUMBERS:
            return NAMED_NUMBERS[name]
        if name is not None:
            try:
                return self.name(name)
            except KeyError:
                pass
        self._fail("this is no constant", expr, record)

    def _literal(self, expr: ast.Constant, record: str) -> Any:
        value = expr.value
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return value
        self._fail("this is no constant", expr, record)

    def _complex(self, expr: ast.BinOp, record: str, depth: int) -> complex:
        """A sum such as `1.+2.j`."""
        parts = [self.read(e, None, record, depth + 1) for e in (expr.left, expr.right)]
        if not all(isinstance(p, (int, float, complex)) for p in parts):
            self._fail("this is no constant", expr, record)
        return complex(parts[0] + parts[1] if isinstance(expr.op, ast.Add) else parts[0] - parts[1])

    def _sequence(
        self, expr: ast.List | ast.Tuple, type: T.Type | None, record: str, depth: int
    ) -> Any:
        type = T.without_none(type) if type is not None else None
        if isinstance(expr, ast.List):
            element = type.element if isinstance(type, T.ListType) else None
            return [self.read(e, element, record, depth + 1) for e in expr.elts]
        if isinstance(type, T.TupleType) and len(type.elements) == len(expr.elts):
            parts = zip(expr.elts, type.elements)
            return type.make([self.read(e, t, record, depth + 1) for e, t in parts])
        return tuple([self.read(e, None, record, depth + 1) for e in expr.elts])

    def _dict(self, expr: ast.Dict, type: T.Type | None, record: str, depth: int) -> dict[Any, Any]:
        made = {}
        for k, v in zip(expr.keys, expr.values):
            key = None if k is None else self.read(k, None, record, depth + 1)
            if not isinstance(key, (bool, int, float, complex, str)):
                self._fail("the key of a dict is no constant", expr, record)
            made[key] = self.read(
                v, type.value if isinstance(type, T.DictType) else None, record, depth + 1
            )
        return made

    def _call(self, expr: ast.Call, record: str, depth: int) -> Any:
        name, args = dotted(expr.func), expr.args
        if name == "annotate" and len(args) == 2:
            return self.read(args[1], None, record, depth + 1)
        if (
            name == "torch.device"
            and args
            and all(isinstance(a, ast.Constant) and isinstance(a.value, (str, int)) for a in args)
        ):
            try:
                return self.device(":".join(str(ast.literal_eval(a)) for a in args))
            except RuntimeError as e:
                self._fail(str(e), expr, record)
        if name == "torch.sub" and len(args) == 2:  # PyTorch prints the least int as a difference
            return self._difference(expr, record, depth)
        self._fail("this is no constant", expr, record)

    def _difference(self, expr: ast.Call, record: str, depth: int) -> int:
        parts = [self.read(a, T.INT, record, depth + 1) for a in expr.args]
        if all(type(p) is int for p in parts) and -(2**63) <= parts[0] - parts[1] < 2**63:
            return parts[0] - parts[1]
        self._fail("this is no constant", expr, record)

    @staticmethod
    def _fail(why: str, expr: ast.expr, record: str) -> NoReturn:
        raise ArchiveError(f"line {expr.lineno}: {why}", record, DAMAGED)
