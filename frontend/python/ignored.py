"""Functions that stay in Python: `@ignore` is called when the program runs, `@unused` raises.

A call of an ignored function is one node with the callable as its constant; only the Python engine
runs it, and it cannot be kept in an archive.
"""

from __future__ import annotations

import ast
import copy
import inspect
import weakref
from collections.abc import Callable
from typing import Any

from scriptlang import types as T
from scriptlang.ir import Function, Graph
from scriptlang.schema import Argument, Schema
from scriptlang.source import Source, Span

from ..overloads.operators import overloads
from ..syntax.modifiers import DROPPED, modifier
from ..values.sugared import SugaredValue

KIND = "prim::IgnoredPythonOp"
"""Kind of the node that calls Python; its first input is the `PythonCall`."""

_CALLED = "This Python function is annotated to be ignored and cannot be run"
DIRECTLY = "Cannot call @unused methods"
"""What an unused function raises: where a program calls it, and where it is scripted itself."""


class PythonCall:
    """A Python function as a constant of a program.

    Called with run-time values; gives a run-time value of the type `result`.  `see` makes of a
    run-time value what a function sees, `take` of what it gives a run-time value of a type: both
    are set by the public API, which knows objects as users see them.
    """

    see: Callable[[Any, Callable], Any] = staticmethod(lambda value, fn: value)
    take: Callable[[Any, T.Type], Any] = staticmethod(lambda value, type: value)

    def __init__(self, fn: Callable, result: T.Type):
        self.fn, self.result = fn, result
        self.__name__ = getattr(fn, "__name__", "function")

    def __call__(self, *args: Any) -> Any:
        given = self.fn(*[PythonCall.see(a, self.fn) for a in args])
        return PythonCall.take(given, self.result)

    def __repr__(self) -> str:
        return f"<Python function {self.__name__}>"


def ignored_function(
    fn: Callable, name: str, self_type: T.Type | None = None, said: str = _CALLED
) -> Function:
    """The function of the program that stands for an ignored or unused one of Python."""
    from ..bodies.signatures import function_schema, has_result_type
    from .resolver import PythonResolver
    from .script import declare, defaults_of, source_of

    definition, source = source_of(fn)
    resolver = PythonResolver.of(inspect.unwrap(fn))
    if modifier(fn) in DROPPED:
        return declare(
            _raising(definition, modifier(fn) == "_drop", said),
            source,
            resolver,
            name,
            _plain_defaults(defaults_of(fn)),
            self_type,
        )
    definition = _without_stars(definition)
    schema = function_schema(definition, source, resolver, name, self_type, defaults_of(fn))
    if not has_result_type(definition):
        schema = Schema(name, "", schema.arguments, (Argument("", T.TENSOR),))
    return Function(name, schema, _calling(fn, schema, source))


class PythonModuleValue(SugaredValue):
    """A module that a function finds among its globals: it runs in Python, on Tensors.

    As in PyTorch, what has no declared types takes Tensors and gives one.
    """

    def __init__(self, module: Any):
        self.module = module
        self.kind = f"the Python module '{type(module).__name__}'"

    def call(self, b, args, kwargs, span):
        for arg in (*args, *kwargs.values()):
            found = arg.value.type(b, arg.span)
            if kwargs or not T.is_subtype(found, T.TENSOR):
                self.fail(
                    "takes only Tensors, by position",
                    arg.span,
                    "pass the module to script, and call it in its own forward",
                )
        callee = b.constant(PythonCall(self.module, T.TENSOR), span, T.ANY)
        values = [a.value.value(b, a.span) for a in args]
        return b.simple(
            b.graph.insert(
                KIND, [callee, *values], (T.TENSOR,), span, schema=overloads(KIND)[0]
            ).output
        )


_functions: weakref.WeakKeyDictionary[Callable, Function] = weakref.WeakKeyDictionary()


def ignored_once(fn: Callable) -> Function:
    """The function that stands for an ignored or unused one outside of classes."""
    from .script import qualified_name

    if fn not in _functions:
        _functions[fn] = ignored_function(fn, qualified_name(fn))
    return _functions[fn]


def _plain_defaults(defaults: dict[str, Any]) -> dict[str, Any]:
    """Defaults of a function that is never run: only that there is one counts."""
    return {
        n: v if isinstance(v, (bool, int, float, str, type(None))) else None
        for n, v in defaults.items()
    }


def _without_stars(definition: ast.FunctionDef) -> ast.FunctionDef:
    made = copy.copy(definition)
    made.args = copy.copy(definition.args)
    made.args.vararg = made.args.kwarg = None
    return made


def _raising(definition: ast.FunctionDef, drop: bool, said: str) -> ast.FunctionDef:
    """The same signature, arguments of any type, and a body that raises."""
    made = _without_stars(definition)
    place = definition.body[0]
    args = made.args = copy.copy(made.args)
    for field in ("posonlyargs", "args", "kwonlyargs"):
        changed = []
        for i, a in enumerate(getattr(args, field)):
            new = copy.copy(a)
            if not (i == 0 and a.arg == "self"):
                new.annotation = ast.copy_location(ast.Name("Any", ast.Load()), a)
            changed.append(new)
        setattr(args, field, changed)
    made.returns = None if drop else definition.returns or _result_of_comment(definition)
    made.type_comment = None
    statement = ast.parse(f"raise RuntimeError({said!r})").body[0]
    for node in ast.walk(statement):
        if "lineno" in node._attributes:
            ast.copy_location(node, place)
    made.body = [statement]
    return made


def _result_of_comment(definition: ast.FunctionDef) -> ast.expr | None:
    """The result that a type comment declares."""
    text = (definition.type_comment or "").rpartition("->")[2].strip()
    if not text:
        return None
    result = ast.parse(text, mode="eval").body
    for node in ast.walk(result):
        ast.copy_location(node, definition)
    return result


def _calling(fn: Callable, schema: Schema, source: Source) -> Graph:
    graph = Graph(schema.name)
    inputs = [graph.block.add_parameter(a.type, a.name) for a in schema.arguments]
    result, span = schema.returns[0].type, Span(source, 0, 1)
    callee = graph.constant(PythonCall(fn, result), T.ANY, span)
    node = graph.insert(KIND, [callee, *inputs], (result,), span, schema=overloads(KIND)[0])
    graph.block.add_return(node.output)
    return graph
