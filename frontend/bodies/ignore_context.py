"""`with torch.jit._IgnoreContextManager(a="inp:int", b="out:int"):`, whose body runs in Python.

The keywords name the variables that the body reads and sets, with their types.  The body becomes a
Python function, which is called by one node, as an ignored function is.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError

from ..overloads.operators import overloads
from ..values.python_calls import KIND, PythonCall
from ..values.sugared import MISSING, SugaredValue
from .assignment import assign

if TYPE_CHECKING:
    from ...source import Span
    from ..values.builder import Builder
    from ..values.sugared import Arg
    from .emitter import Emitter

HELP = 'write `with torch.jit._IgnoreContextManager(a="inp:int", b="out:List[int]"):`'


class IgnoreContext(SugaredValue):
    """The context manager.  It can be used only after `with`, so that a call of it is an error."""

    kind = "'torch.jit._IgnoreContextManager'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        self.fail("stands only after with, alone", span, HELP)


IGNORE_CONTEXT = IgnoreContext()


def ignoring(e: Emitter, node: ast.With) -> ast.Call | None:
    """The call of this context manager if a `with` enters only it; else None."""
    call = node.items[0].context_expr
    if (
        len(node.items) != 1
        or not isinstance(call, ast.Call)
        or not isinstance(call.func, (ast.Name, ast.Attribute))
    ):
        return None
    last = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
    known = last == "_IgnoreContextManager" and e.expr(call.func) is IGNORE_CONTEXT
    return call if known else None


def emit_ignoring(e: Emitter, node: ast.With, call: ast.Call) -> None:
    """Emit the body as a call of a Python function; assigns the variables that it sets."""
    span = e.span(call)
    ways: dict[str, list[tuple[str, T.Type]]] = {"inp": [], "out": []}
    for keyword in call.keywords:
        way, type = _declared(e, keyword)
        ways[way].append((keyword.arg, type))
    inputs, outputs = ways["inp"], ways["out"]
    results = [t for _, t in outputs]
    result = (
        T.NONE if not results else results[0] if len(results) == 1 else T.TupleType(tuple(results))
    )
    function = _function(e, node, [n for n, _ in inputs], [n for n, _ in outputs])
    callee = e.b.constant(PythonCall(function, result), span, T.ANY)
    values = [e.b.convert(e.lookup(n, span).value(e.b, span), t, span, True) for n, t in inputs]
    output = e.b.graph.insert(
        KIND, [callee, *values], (result,), span, schema=overloads(KIND)[0]
    ).output
    parts = [output] if len(outputs) == 1 else e.b.unpack_tuple(output, span) if outputs else []
    for (name, _), part in zip(outputs, parts):
        target = ast.copy_location(ast.Name(name, ast.Store()), call)
        assign(e, target, e.simple(part), span)


def _declared(e: Emitter, keyword: ast.keyword) -> tuple[str, T.Type]:
    """The two parts of a keyword such as `a="inp:int"`: "inp" or "out", and the type."""
    text = getattr(keyword.value, "value", None)
    way, _, type = text.partition(":") if isinstance(text, str) else ("", "", "")
    if keyword.arg is None or way not in ("inp", "out"):
        raise CompileError(
            "an argument says whether a variable goes in or comes out, and its type",
            e.span(keyword.value),
            HELP,
        )
    try:
        return way, e.resolver.type(
            ast.parse(type.strip(), mode="eval").body, e.span(keyword.value)
        )
    except SyntaxError:
        raise CompileError(f"{type!r} is no type", e.span(keyword.value), HELP) from None


def _function(e: Emitter, node: ast.With, inputs: list[str], outputs: list[str]) -> Any:
    """The body as a Python function, with the global names that the compiled function uses."""
    # Only the resolver of Python source has `names`; archives cannot use this context manager.
    names = e.resolver.names
    arguments = ast.arguments([], [ast.arg(n) for n in inputs], None, [], [], None, [])
    results: list[ast.expr] = [ast.Name(n, ast.Load()) for n in outputs]
    returned = ast.Return(
        results[0] if len(results) == 1 else ast.Tuple(results, ast.Load()) if results else None
    )
    definition = ast.FunctionDef("ignored", arguments, [*node.body, returned], [])
    module = ast.fix_missing_locations(ast.copy_location(ast.Module([definition], []), node))
    seen: dict[Any, Any] = {"__builtins__": builtins}
    for part in ast.walk(module):
        if isinstance(part, ast.Name) and part.id not in seen and not hasattr(builtins, part.id):
            found = names(part.id)
            if not _is_missing(found):
                seen[part.id] = found
    exec(compile(module, e.source.name, "exec"), seen)
    return seen["ignored"]


def _is_missing(found: Any) -> bool:
    return found is MISSING
