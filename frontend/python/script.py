"""Compiles Python functions, and texts with functions, to functions of the IR.

def f(x: Tensor, n: int = 2): ...
script_function(f)   ->  ir.Function "__torch__.f" with its graph
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from scriptlang.building import alone, uncollected
from scriptlang.errors import CompileError
from scriptlang.ir import Function
from scriptlang.source import Source, Span

from ..bodies.emit import emit_function
from ..bodies.signatures import function_schema, infer_schema
from ..syntax.definitions import defaults_of, has_result_type, parse, qualified_name, source_of
from ..syntax.modifiers import DROPPED, modifier
from ..syntax.places import called_at, friendly, span_of
from ..values.variadic import VariadicValue
from .classes import script_class
from .declared_overloads import function_overloads
from .ignored import DIRECTLY, ignored_function
from .resolver import PythonResolver

if TYPE_CHECKING:
    from ...types import Type

__all__ = ["compile_text", "script_class", "script_function", "source_of"]

_functions: weakref.WeakKeyDictionary[Callable[..., Any], Function] = weakref.WeakKeyDictionary()


@uncollected
@alone
def script_function(fn: Callable[..., Any], place: Span | None = None) -> Function:
    """Compile a Python function and the functions that it calls, each only once.

    `place` is the span of the call that needs the function, None if `script` was applied to it.
    Raises CompileError.
    """
    fn = inspect.unwrap(fn)
    known = _functions.get(fn)
    if known is not None:
        return known
    definition, source = source_of(fn)
    if place is None and function_overloads(fn):
        raise CompileError(
            f"{definition.name} has overloads and cannot be compiled by itself",
            Span(source, 0, source.text.index(":")),
            "call it in a function: its arguments choose the overload",
        )
    name = qualified_name(fn)
    try:
        if modifier(fn) in DROPPED:
            function = ignored_function(fn, name, said=DIRECTLY)
        else:
            function = declare(definition, source, PythonResolver.of(fn), name, defaults_of(fn))
        _functions[fn] = function
        function.ensure_defined()
    except CompileError as error:
        _functions.pop(fn, None)
        error.while_compiling(f"compiling {friendly(name)}")
        if place is not None:
            called_at(error, name, place)
        raise
    except BaseException:
        _functions.pop(fn, None)
        raise
    return function


_variadic: weakref.WeakKeyDictionary[Callable[..., Any], VariadicValue] = (
    weakref.WeakKeyDictionary()
)


@alone
def variadic_function(fn: Callable[..., Any]) -> VariadicValue:
    """A Python function with `*args` or `**kwargs`, which each call specialises."""
    known = _variadic.get(fn)
    if known is None:
        definition, source = source_of(fn)
        known = _variadic[fn] = VariadicValue(
            definition, source, PythonResolver.of(fn), qualified_name(fn), defaults_of(fn)
        )
    return known


def declare(
    definition: ast.FunctionDef,
    source: Source,
    resolver: Any,
    name: str,
    defaults: Mapping[str, Any] | None = None,
    self_type: Type | None = None,
) -> Function:
    """A function whose body is compiled when it is first used.

    If the type of its result is not declared, it has no schema before that.
    """
    schema = function_schema(definition, source, resolver, name, self_type, defaults)

    def define(function: Function) -> None:
        graph = emit_function(definition, source, resolver, name, schema, self_type)
        if function.schema is None:
            function.schema = infer_schema(schema, graph)
        function.graph = graph

    return Function(name, schema if has_result_type(definition) else None, define=define)


@alone
def compile_text(
    text: str, names: Mapping[str, Any] | None = None, file: str = "<string>"
) -> dict[str, Function]:
    """Compile all functions in a source text, which may call each other.

    `names` are objects that they may also use, by name.  Returns the functions by name.  Raises
    CompileError.
    """
    functions: dict[str, Function] = {}
    known = copy.copy(names) if isinstance(names, dict) else dict(names or {})

    class Compiled:
        def __init__(self, function: Function) -> None:
            self._function = function

    resolver = PythonResolver.of_mapping(known)
    for node, source in functions_of_text(text, file):
        functions[node.name] = declare(node, source, resolver, f"__torch__.{node.name}")
        known[node.name] = Compiled(functions[node.name])
    for function in functions.values():
        function.ensure_defined()
    return functions


def _refuse_several_iterables(function: ast.FunctionDef, source: Source) -> None:
    """Raises CompileError for `for x in a, b` without parentheses, which PyTorch refuses, too."""
    for node in ast.walk(function):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
            place = span_of(node.iter, source)
            if not place.text.startswith("("):
                raise CompileError(
                    "a loop runs over one iterable",
                    place,
                    "write the tuple in parentheses, or zip(a, b)",
                )


def functions_of_text(text: str, file: str = "<string>") -> list[tuple[ast.FunctionDef, Source]]:
    """The definitions of functions in a source text.

    Imports are ignored.  Raises CompileError for other statements.
    """
    source = Source(textwrap.dedent(text), file)
    found: list[tuple[ast.FunctionDef, Source]] = []
    for node in parse(source).body:
        if isinstance(node, ast.FunctionDef):
            _refuse_several_iterables(node, source)
            found.append((node, source))
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            place = Span(
                source,
                source.offset(node.lineno, node.col_offset),
                source.offset(node.lineno, node.col_offset) + 1,
            )
            raise CompileError(
                "only functions can be compiled from a text",
                place,
                "leave out all but def and import",
            )
    return found
