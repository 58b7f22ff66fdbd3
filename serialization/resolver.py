"""Resolves the names in an archive's code: `torch`, `ops`, `CONSTANTS`, `__torch__` and types."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .. import types as T
from ..errors import ArchiveError, CompileError
from ..frontend.names.special_forms import ARCHIVE_FORMS
from ..frontend.overloads import operators
from ..frontend.overloads.language_functions import is_language_function
from ..frontend.values.sugared import (
    ClassValue,
    ConstantValue,
    EnumClassValue,
    FunctionValue,
    NamedTupleValue,
    Namespace,
    SugaredValue,
    TypeValue,
)
from ..objects import EnumValue
from ..source import Span
from ..tensors import Tensor
from ..types import constant_type
from .annotations import NAMED_NUMBERS
from .unknown_operators import KnownOperator, UnknownOperator
from .upgraders import former_operator

if TYPE_CHECKING:
    from .importer import Importer


def operator(name: str, version: int) -> SugaredValue:
    """The operator of a qualified name, which may be unknown.

    version: that of the archive's format, on which the meaning of some operators depends.
    """
    former = former_operator(name, version)
    if former is not None:
        return former
    if operators.overloads(name) or is_language_function(name):
        return KnownOperator(name)
    return UnknownOperator(name)


def operators_of(namespace: str, spelled: str, version: int) -> Namespace:
    return Namespace(spelled, lambda name: operator(f"{namespace}::{name}", version))


class ArchiveResolver:
    """The Resolver of an archive's functions (see frontend.values.sugared)."""

    def __init__(self, importer: Importer) -> None:
        self.importer = importer
        version = importer.version
        self.namespaces = {
            "torch": operators_of("aten", "torch", version),
            "ops": Namespace(
                "ops", lambda namespace: operators_of(namespace, f"ops.{namespace}", version)
            ),
            "CONSTANTS": Namespace("CONSTANTS", self._constant),
            "__torch__": self._namespace("__torch__"),
        }

    def value(self, name: str, span: Span) -> SugaredValue | None:
        found: SugaredValue | None = self.namespaces.get(name) or ARCHIVE_FORMS.get(name)
        if found is None and name in NAMED_NUMBERS:
            found = ConstantValue(NAMED_NUMBERS[name])
        if found is None and name in T.ATOMS:
            found = None if name in CALLABLE_TYPES else TypeValue(T.ATOMS[name])
        return found

    def type(self, expr: ast.expr, span: Span) -> T.Type:
        try:
            return self.importer.type_reader.read(expr, span.source.name)
        except ArchiveError as e:
            raise CompileError(e.message, span, e.help) from None

    def _constant(self, name: str) -> SugaredValue | None:
        try:
            value = self.importer.constant(name)
        except KeyError:
            return None
        return ConstantValue(value, type_of_constant(value))

    def _namespace(self, prefix: str) -> Namespace:
        return Namespace(prefix, lambda name: self._member(f"{prefix}.{name}"))

    def _member(self, name: str) -> SugaredValue | None:
        """The meaning of a qualified name in the archive: a type, a function or a namespace."""
        t = self.importer.find_type(name)
        if isinstance(t, T.ClassType):
            return ClassValue(t)
        if isinstance(t, T.TupleType):
            return NamedTupleValue(t)
        if isinstance(t, T.EnumType):
            return EnumClassValue(t, {m: EnumValue(t, m, v) for m, v in t.members.items()})
        if t is not None:
            return TypeValue(t)
        function = self.importer.find_function(name)
        if function is not None:
            return FunctionValue(function)
        return self._namespace(name) if self.importer.files.has_folder(name) else None


CALLABLE_TYPES = ("int", "float", "bool", "str", "complex", "list", "tuple")
"""Names of types that are also functions.  As values they are the builtins of Python."""


def type_of_constant(value: Tensor | str) -> T.Type:
    """The type of a value of the constants table."""
    if isinstance(value, Tensor):
        return T.TENSOR
    known = getattr(value, "type", None)
    return known if isinstance(known, T.Type) else constant_type(value)
