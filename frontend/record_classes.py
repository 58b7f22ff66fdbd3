"""Dataclasses: the `__init__` and `__eq__` that Python writes for them, as syntax."""

from __future__ import annotations

import ast
import dataclasses

from scriptlang.errors import CompileError
from scriptlang.source import Source

from .emitter import span_of


def written_methods(cls: type, node: ast.ClassDef, source: Source) -> list[ast.FunctionDef]:
    """The methods that `@dataclass` adds to a class; none for another class."""
    if not dataclasses.is_dataclass(cls):
        return []
    own = {s.name for s in node.body if isinstance(s, ast.FunctionDef)}
    fields = [s for s in node.body if isinstance(s, ast.AnnAssign)]
    methods = []
    if "__init__" not in own and cls.__dataclass_params__.init:
        methods.append(_init(node, fields, source, "__post_init__" in own))
    if "__eq__" not in own and cls.__dataclass_params__.eq:
        methods.append(_eq(node, fields))
    return methods


def _init(node: ast.ClassDef, fields: list[ast.AnnAssign], source: Source,
          has_post_init: bool) -> ast.FunctionDef:
    for field in fields:
        if isinstance(field.value, ast.Call):
            raise CompileError("field(...) of a dataclass is not part of the language",
                               span_of(field.value, source), "write the default itself")
    parameters = [ast.arg(f.target.id, f.annotation) for f in fields]
    defaults = [f.value for f in fields if f.value is not None]
    body: list[ast.stmt] = [_parsed(f"self.{f.target.id} = {f.target.id}", f) for f in fields]
    if has_post_init:
        body.append(_parsed("self.__post_init__()", node))
    return _function("__init__", parameters, defaults, body or [ast.Pass()], "None", node)


def _eq(node: ast.ClassDef, fields: list[ast.AnnAssign]) -> ast.FunctionDef:
    test = " and ".join(f"self.{f.target.id} == other.{f.target.id}" for f in fields) or "True"
    other = ast.arg("other", ast.Name(node.name, ast.Load()))
    return _function("__eq__", [other], [], [_parsed(f"return {test}", node)], "bool", node)


def _parsed(text: str, place: ast.AST) -> ast.stmt:
    """A statement from its text, placed at a node of the class."""
    statement = ast.parse(text if not text.startswith("return") else f"def f():\n {text}").body[0]
    if isinstance(statement, ast.FunctionDef):
        statement = statement.body[0]
    for inner in ast.walk(statement):
        _place(inner, place)
    return statement


def _place(node: ast.AST, place: ast.AST) -> None:
    if "lineno" in node._attributes:
        ast.copy_location(node, place)


def _function(name: str, parameters: list[ast.arg], defaults: list[ast.expr], body: list[ast.stmt],
              result: str, node: ast.ClassDef) -> ast.FunctionDef:
    """A method with a declared result, placed at the class."""
    made = ast.FunctionDef(
        name, ast.arguments([], [ast.arg("self", None), *parameters], None, [], [], None, defaults),
        body, [], ast.Constant(None) if result == "None" else ast.Name(result, ast.Load()))
    made.type_comment = None
    for inner in ast.walk(made):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, node)
    return made
