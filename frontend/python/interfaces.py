"""Interfaces: classes that declare methods which an object or module must have, without code.

@jit.interface
class Step:
    def one(self, x: Tensor) -> Tensor: pass
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.objects import python_classes
from scriptlang.source import Source

from ..bodies.signatures import function_schema
from ..syntax.definitions import has_result_type, qualified_name, source_of
from ..syntax.places import span_of
from .resolver import PythonResolver

if TYPE_CHECKING:
    from ...schema import Schema

MARK = "__torch_script_interface__"
"""The attribute that `jit.interface` of PyTorch and of scriptlang sets."""


def is_interface(cls: type) -> bool:
    return MARK in cls.__dict__


def interface_type(cls: type) -> T.InterfaceType:
    """The type of a class that is marked as an interface.  Raises CompileError if it has code."""
    known: Any = python_classes.get(cls)
    if known is not None:
        return known
    node, source = source_of(cls)
    is_module = any(
        b.__name__ == "Module" and b.__module__.partition(".")[0] in ("torch", "scriptlang")
        for b in cls.__mro__
    )
    type = T.InterfaceType(qualified_name(cls), is_module=is_module)
    python_classes[cls] = type
    try:
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef):
                resolver = PythonResolver.of(cls.__dict__[statement.name])
                type.methods[statement.name] = _signature(
                    statement, source, resolver.with_names({cls.__name__: cls}), type
                )
    except BaseException:
        python_classes.pop(cls)
        raise
    return type


def _signature(
    statement: ast.FunctionDef, source: Source, resolver: PythonResolver, type: T.InterfaceType
) -> Schema:
    body = [s for s in statement.body if not _is_docstring(s)]
    if not has_result_type(statement):
        raise CompileError(
            f"{statement.name} of an interface has no result type",
            span_of(statement, source),
            "annotate its result",
        )
    if len(body) > 1 or body and not isinstance(body[0], ast.Pass):
        raise CompileError(
            f"{statement.name} of an interface has code",
            span_of(body[0], source),
            "write pass: the classes that implement it have the code",
        )
    return function_schema(statement, source, resolver, statement.name, type)


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
