"""`with torch.jit._IgnoreContextManager(a="inp:int", b="out:int"):` leaves its body to Python.

The keywords name the variables that go in and come out, and their types.  The body becomes a
function of Python, whose call is one node, as that of an ignored function is.
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
    """The context manager as a name: it stands only after `with`."""

    kind = "'torch.jit._IgnoreContextManager'"

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        self.fail("stands only after with, alone", span, HELP)


IGNORE_CONTEXT = IgnoreContext()


def ignoring(e: Emitter, node: ast.With) -> ast.Call | None:
    """The call of the context manager, where it is what a `with` enters."""
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
    """The body as a call of Python: variables in, variables out."""
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
    """`"inp:int"` as its two parts."""
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
    """The body as a function of Python; it sees the names that the program's function sees."""
    names = e.resolver.names  # archives cannot name the context
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
