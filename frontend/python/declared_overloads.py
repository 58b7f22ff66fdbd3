"""Functions and methods with several declarations and one body.

They are declared by `torch.jit._overload` and `_overload_method`.  The body is compiled once for
each declaration.
"""

from __future__ import annotations

import ast
import copy
import inspect
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Function, Value
from scriptlang.source import Source

from ..bodies.signatures import function_schema, is_default
from ..overloads import matching
from ..overloads.matching import Actual
from ..syntax.definitions import defaults_of, qualified_name, source_of
from ..syntax.places import span_of
from ..values.sugared import Resolver, SugaredValue
from ..whole import whole
from .resolver import PythonResolver

if TYPE_CHECKING:
    from ...source import Span
    from ..values.builder import Builder
    from ..values.sugared import Arg


def function_overloads(fn: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """The declarations of an overloaded function; () for a function without overloads."""
    key = f"__torch__.{fn.__module__}.{fn.__name__}"
    for table in _tables():
        if table.get(key):
            return tuple(f for f in table[key] if f is not fn)
    return _declared_in_source(fn) if _compiled_by_torch(fn) else ()


def _compiled_by_torch(fn: Callable[..., Any]) -> bool:
    """Whether PyTorch has compiled the function's overloads, and so dropped their declarations."""
    state = sys.modules.get("torch.jit._state")
    return state is not None and bool(state._try_get_jit_cached_overloads(fn))


def _declared_in_source(fn: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """The declarations of `fn`, made again from the source of its module.

    They are the functions of the same name before it.
    """
    text = "".join(inspect.findsource(fn)[0])
    body = ast.parse(text).body
    heads = [
        node
        for s in body
        for node in ([*s.body, *s.orelse] if isinstance(s, ast.If) else [s])
        if isinstance(node, ast.FunctionDef)
        and node.name == fn.__name__
        and node.lineno < fn.__code__.co_firstlineno
    ]
    made = []
    for head in heads:
        head.decorator_list = []
        names: dict[str, Any] = {}
        code = compile(ast.Module([head], []), fn.__code__.co_filename, "exec")
        exec(code, fn.__globals__, names)
        made.append(names[fn.__name__])
    return tuple(made)


def _tables() -> list[Any]:
    internal = sys.modules.get("torch._jit_internal")
    tables = [] if internal is None else [internal._overloaded_fns]
    ours = getattr(sys.modules.get("scriptlang.jit"), "_overloaded_fns", None)
    return tables if ours is None else [*tables, ours]


def overload_functions(
    fn: Callable[..., Any],
    declarations: Sequence[Callable[..., Any]],
    names: Sequence[str],
    self_type: T.Type | None = None,
) -> list[Function]:
    """A function for each declaration, under the given names, with the body of `fn`."""
    body, source = source_of(fn)
    made = []
    for declaration, name in zip(declarations, names):
        head, head_source = source_of(declaration)
        if not (head.returns or head.type_comment or any(a.annotation for a in head.args.args)):
            raise CompileError(
                f"an overload of {body.name} has no type annotations",
                span_of(head, head_source),
                "annotate its arguments and result",
            )
        merged = copy.copy(body)
        merged.args, merged.returns = _placed(head, body)
        merged.type_comment = head.type_comment
        defaults = defaults_of(fn)
        for argument, value in defaults_of(declaration).items():
            if (
                argument not in defaults
                or value is not defaults[argument]
                and value != defaults[argument]
            ):
                raise CompileError(
                    f"the overload of {body.name} has a default of {argument!r} "
                    f"that the function does not have",
                    span_of(argument_of(head, argument), head_source),
                    "write the default of the function, which alone counts",
                )
        resolver = PythonResolver.of(inspect.unwrap(fn))
        made.append(
            whole.declare(
                merged,
                source,
                resolver,
                name,
                _fitting(merged, source, resolver, defaults, self_type),
                self_type,
            )
        )
    return made


def _fitting(
    head: ast.FunctionDef,
    source: Source,
    resolver: Resolver,
    defaults: dict[str, Any],
    self_type: T.Type | None,
) -> dict[str, Any]:
    """The defaults of the body whose values fit the types in a declaration.

    The others belong to other overloads.
    """
    schema = function_schema(head, source, resolver, head.name, self_type, {})
    return {
        a.name: defaults[a.name]
        for a in schema.arguments
        if a.name in defaults and is_default(defaults[a.name], a.type, a.size)
    }


def argument_of(head: ast.FunctionDef, name: str) -> ast.arg:
    """The parameter of this name."""
    args = head.args
    return next(a for a in (*args.posonlyargs, *args.args, *args.kwonlyargs) if a.arg == name)


def _placed(head: ast.FunctionDef, body: Any) -> tuple[ast.arguments, ast.expr | None]:
    """The signature of a declaration without its defaults.

    Its nodes get the position of the body, which is the text that errors show.
    """
    args, returns = copy.deepcopy((head.args, head.returns))
    args.defaults, args.kw_defaults = [], [None] * len(args.kwonlyargs)
    for part in [args, returns]:
        for node in ast.walk(part) if part is not None else ():
            if "lineno" in node._attributes:
                node.lineno, node.col_offset = body.lineno, body.col_offset
                node.end_lineno, node.end_col_offset = body.lineno, body.col_offset
    return args, returns


class OverloadedFunction(SugaredValue):
    """A function with several declarations.  A call uses the first that fits."""

    def __init__(self, name: str, functions: Sequence[Function]) -> None:
        self.name, self.functions = name, functions
        self.kind = f"function '{name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        schemas = tuple(b.schema_of(f, span) for f in self.functions)
        positional, named = b.actuals(args, kwargs)
        match = matching.choose(f"overloads of {self.name}", schemas, positional, named, None, span)
        return b.call_function(self.functions[match.index], args, kwargs, span)


class OverloadedMethod(SugaredValue):
    """A method with several declarations.  A call uses the first that fits."""

    def __init__(self, owner: Value, name: str, methods: Sequence[str]) -> None:
        self.owner, self.name, self.methods = owner, name, methods
        self.kind = f"method '{name}'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        functions = [self.owner.type.methods[m] for m in self.methods]
        schemas = tuple(b.schema_of(f, span) for f in functions)
        positional, named = b.actuals(args, kwargs)
        match = matching.choose(
            f"overloads of {self.name}",
            schemas,
            [Actual(self.owner, span), *positional],
            named,
            None,
            span,
        )
        return b.call_method(self.owner, self.methods[match.index], args, kwargs, span)


def forget_declarations(fn: Callable[..., Any]) -> None:
    """Drop the declarations of a function, as a later function of the same name has its own."""
    ours = getattr(sys.modules.get("scriptlang.jit"), "_overloaded_fns", {})
    ours.pop(f"__torch__.{fn.__module__}.{fn.__name__}", None)


_compiled: weakref.WeakKeyDictionary[Callable[..., Any], OverloadedFunction] = (
    weakref.WeakKeyDictionary()
)


def overloaded(fn: Callable[..., Any]) -> OverloadedFunction | None:
    """The meaning of an overloaded function; None for a function without overloads."""
    known = _compiled.get(fn)
    if known is None:
        declarations = function_overloads(fn)
        if not declarations:
            return None

        base = qualified_name(fn)
        names = [base if i == 0 else f"{base}__{i}" for i in range(len(declarations))]
        try:
            known = _compiled[fn] = OverloadedFunction(
                fn.__name__, overload_functions(fn, declarations, names)
            )
        finally:
            forget_declarations(fn)
    return known
