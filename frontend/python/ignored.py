"""Functions whose bodies are not compiled: those with `@ignore` and `@unused`.

A call of an ignored function calls Python.  It is one node, which has the function as a constant;
only the Python engine can run it, and archives cannot store it.  A call of an unused function
raises an error.
"""

from __future__ import annotations

import ast
import copy
import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.ir import Function, Graph
from scriptlang.schema import Argument, Schema
from scriptlang.source import Source, Span

from ..bodies.signatures import function_schema
from ..overloads.operators import overloads
from ..syntax.definitions import defaults_of, has_result_type, qualified_name, source_of
from ..syntax.modifiers import DROPPED, modifier
from ..values.python_calls import KIND, PythonCall
from ..values.sugared import SugaredValue
from ..whole import whole

if TYPE_CHECKING:
    from ..values.builder import Builder
    from ..values.sugared import Arg

_CALLED = "This Python function is annotated to be ignored and cannot be run"
DIRECTLY = "Cannot call @unused methods"
"""Messages of the error that an unused function raises: `_CALLED` if a program calls it, `DIRECTLY`
if `script` was applied to it."""


def ignored_function(
    fn: Callable[..., Any], name: str, self_type: T.Type | None = None, said: str = _CALLED
) -> Function:
    """The function that programs call in place of an ignored or unused Python function.

    `said` is the message of the error that an unused function raises.
    """
    definition, source = source_of(fn)
    resolver = whole.PythonResolver.of(inspect.unwrap(fn))
    if modifier(fn) in DROPPED:
        return whole.declare(
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
    """A Python module of layers among the globals of a function.  A call of it calls Python.

    As in PyTorch, it takes Tensors and returns a Tensor, because it has no declared types.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self.kind = f"the Python module '{type(module).__name__}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
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


_functions: weakref.WeakKeyDictionary[Callable[..., Any], weakref.ref[Function]] = (
    weakref.WeakKeyDictionary()
)
"""Python function -> the function that calls it, as long as a program has that."""


def ignored_once(fn: Callable[..., Any]) -> Function:
    """`ignored_function` for a function outside of classes; made only once."""
    known = _functions.get(fn)
    made = None if known is None else known()
    if made is None:
        made = ignored_function(fn, qualified_name(fn))
        _functions[fn] = weakref.ref(made)
    return made


def _plain_defaults(defaults: dict[str, Any]) -> dict[str, Any]:
    """Replace defaults by None if programs cannot hold them.

    The function is never run, so that their values do not matter.
    """
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
    """The definition with arguments of type Any, and a body that raises an error.

    `drop` also drops the declared type of the result.
    """
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
    """The annotation of the result that a type comment declares; None without one."""
    text = (definition.type_comment or "").rpartition("->")[2].strip()
    if not text:
        return None
    result = ast.parse(text, mode="eval").body
    for node in ast.walk(result):
        ast.copy_location(node, definition)
    return result


def _calling(fn: Callable[..., Any], schema: Schema, source: Source) -> Graph:
    graph = Graph(schema.name)
    inputs = [graph.block.add_parameter(a.type, a.name) for a in schema.arguments]
    result, span = schema.returns[0].type, Span(source, 0, 1)
    callee = graph.constant(PythonCall(fn, result), T.ANY, span)
    node = graph.insert(KIND, [callee, *inputs], (result,), span, schema=overloads(KIND)[0])
    graph.block.add_return(node.output)
    return graph
