"""Writes the code/ of an archive: a source for each qualifier, with its classes and functions.

sources = CodeWriter()
sources.add([*types, *functions])
sources.files()        # "__torch__.vad.model" -> Text
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from .. import types as T
from ..ir import Function
from ..schema import Schema
from ..types import constant_type
from .dependencies import Dependencies
from .naming import is_identifier
from .print_values import Spelling, constant_expr, name_expr
from .printer import function_ast
from .unparse import Text, unparse

MANGLED = re.compile(r"___torch_mangle_\d+")
LEGAL = re.compile(r"\W", re.ASCII)


class CodeWriter:
    """Gives every class and function of a program a name in code/, and prints them.

    taken: the classes and functions by qualified name.
    """

    def __init__(self) -> None:
        self.spelling = Spelling()
        self.dependencies = Dependencies()
        self.taken: dict[str, Any] = {}
        self.mangles = 0

    def add(self, roots: Iterable[Any]) -> None:
        """Add types and functions, and all that they refer to."""
        self.dependencies.add(roots)

    def files(self) -> dict[str, Text]:
        """The text of every source by its qualifier."""
        t: Any
        for t in self.dependencies.types:
            if not t.name.startswith(T.CUSTOM_CLASSES):
                self._name_type(t)
        for function in self.dependencies.functions:
            self.spelling.functions[function] = self._place(function.name, function)
        modules: dict[str, list[ast.stmt]] = {}
        for name, item in self.taken.items():
            qualifier, _, short = name.rpartition(".")
            definition = (
                function_ast(item, short, self.spelling)
                if isinstance(item, Function)
                else class_ast(item, short, self.spelling)
            )
            modules.setdefault(qualifier, []).append(definition)
            for hook in hooks_of(item):
                hook_ast = function_ast(item.methods[hook], hook, self.spelling)
                modules.setdefault(name, []).append(hook_ast)
        return {qualifier: unparse(ast.Module(body, [])) for qualifier, body in modules.items()}

    def _name_type(self, t: Any) -> None:
        name = self._place(t.name, t)
        if name != t.name:
            self.spelling.renamed[t] = name

    def _place(self, name: str, item: Any) -> str:
        """Register `item` under a qualified name below `__torch__` and return that.  It is `name`
        made legal, and mangled if it is taken."""
        parts = [LEGAL.sub("_", part) for part in name.split(".")]
        parts = [part if is_identifier(part) else f"_{part}" for part in parts]
        if parts[0] != "__torch__":
            parts.insert(0, "__torch__")
        if isinstance(item, Function):
            while isinstance(self.taken.get(".".join(parts[:-1])), T.Type):
                del parts[-2]  # a static method becomes a function beside its class
        placed = ".".join(parts)
        while placed in self.taken:
            kept = [p for p in parts[:-1] if not MANGLED.fullmatch(p)]
            placed = ".".join([*kept, f"___torch_mangle_{self.mangles}", parts[-1]])
            self.mangles += 1
        self.taken[placed] = item
        return placed


def hooks_of(item: Any) -> list[str]:
    """The hooks of a class.  PyTorch also wants them as functions, in a source whose qualifier is
    the name of the class."""
    return [*item.pre_hooks, *item.hooks] if isinstance(item, T.ClassType) else []


def class_ast(t: Any, name: str, spelling: Spelling) -> ast.ClassDef:
    """The definition of a class, interface, enum or named tuple."""
    if isinstance(t, T.TupleType):
        return class_def(name, "NamedTuple", named_tuple_body(t, spelling))
    if isinstance(t, T.EnumType):
        members: list[ast.stmt] = [
            assign(m, constant_expr(v, t.value, spelling)) for m, v in t.members.items()
        ]
        return class_def(name, "Enum", members)
    if isinstance(t, T.InterfaceType):
        base = "ModuleInterface" if t.is_module else "Interface"
        return class_def(
            name, base, [interface_method(m, schema, spelling) for m, schema in t.methods.items()]
        )
    body = attributes_body(t, spelling)
    body += [function_ast(method, m, spelling) for m, method in t.methods.items()]
    return class_def(name, "Module" if t.is_module else "", body)


def class_def(name: str, base: str, body: list[ast.stmt]) -> ast.ClassDef:
    bases: list[ast.expr] = [name_expr(base)] if base else []
    return ast.ClassDef(name, bases, [], body or [ast.Pass()], [])


def named_tuple_body(t: T.TupleType, spelling: Spelling) -> list[ast.stmt]:
    """The fields, without defaults: PyTorch does not read those, and printed calls pass every
    field."""
    return [
        ast.AnnAssign(name_expr(field), spelling.type(element), None, 1)
        for field, element in zip(t.fields or (), t.elements)
    ]


def interface_method(name: str, schema: Schema, spelling: Spelling) -> ast.FunctionDef:
    args = [ast.arg("self", None)] + [
        ast.arg(a.name, spelling.type(a.type)) for a in schema.arguments[1:]
    ]
    return ast.FunctionDef(
        name,
        ast.arguments([], args, None, [], [], None, []),
        [ast.Pass()],
        [],
        spelling.type(schema.returns[0].type),
    )


def attributes_body(t: T.ClassType, spelling: Spelling) -> list[ast.stmt]:
    body: list[ast.stmt] = []
    if t.is_module:
        body.append(assign("__parameters__", names_of_kind(t, "parameter")))
        body.append(assign("__buffers__", names_of_kind(t, "buffer")))
        if t.pre_hooks:
            body.append(assign("__forward_pre_hooks__", strings(t.pre_hooks)))
        if t.hooks:
            body.append(assign("__forward_hooks__", strings(t.hooks)))
    for a in t.attributes:
        if is_identifier(a.name):
            body.append(ast.AnnAssign(name_expr(a.name), spelling.type(a.type), None, 1))
        else:
            key = ast.Subscript(name_expr("__annotations__"), ast.Constant(a.name), ast.Store())
            body.append(ast.Assign([key], spelling.type(a.type)))
    for name, value in t.constants.items():
        final = final_constant(name, value, spelling)
        if final is not None:
            body.append(final)
    return body


def final_constant(name: str, value: Any, spelling: Spelling) -> ast.stmt | None:
    """The statement `name : Final[T] = value`; None if the type of the value is not known or the
    name is not an identifier."""
    try:
        t = constant_type(value)
    except TypeError:
        return None
    if not is_identifier(name):
        return None
    annotation = ast.Subscript(name_expr("Final"), spelling.type(t), ast.Load())
    return ast.AnnAssign(name_expr(name), annotation, constant_expr(value, t, spelling), 1)


def names_of_kind(t: T.ClassType, kind: str) -> ast.expr:
    return strings([a.name for a in t.attributes if a.kind == kind])


def strings(values: list[str]) -> ast.expr:
    return ast.List([ast.Constant(v) for v in values], ast.Load())


def assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([name_expr(name)], value)


def print_class(t: T.ClassType) -> str:
    """The code of a class with its methods."""
    return str(unparse(ast.Module([class_ast(t, t.short_name, Spelling())], [])))
