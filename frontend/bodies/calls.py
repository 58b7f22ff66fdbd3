"""Emits calls: evaluates the arguments (positional, keyword, starred), then calls the callee."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from scriptlang import types as T
from scriptlang.errors import CompileError

from ..syntax.places import placed
from ..values.sugared import Arg, SpecialForm, SugaredValue
from ..values.variadic import KeywordsValue

if TYPE_CHECKING:
    from .emitter import Emitter


def emit_call(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    callee = e.expr(node.func)
    if isinstance(callee, SpecialForm):
        return callee.emit(e, node, expected)
    args, kwargs = arguments(e, node)
    try:
        result = callee.call(e.b, args, kwargs, e.span(node))
    except CompileError as error:
        raise placed(error, e.span(node))
    if expected is not None:
        result.declare(expected)
    return result


def arguments(e: Emitter, node: ast.Call) -> tuple[list[Arg], dict[str, Arg]]:
    """The positional and keyword arguments of a call.

    Starred tuples, and the `**kwargs` of the function that is compiled, are unpacked.
    """
    args: list[Arg] = []
    for part in node.args:
        if not isinstance(part, ast.Starred):
            args.append(Arg(e.expr(part), e.span(part)))
            continue
        meaning = e.expr(part.value)
        found = meaning.unpack(e.b, e.span(part))
        if found is None:
            raise CompileError(
                "cannot statically infer the expected size of a list in this context"
                if meaning.kind.startswith("a value of type List")
                else f"{meaning.kind} cannot be used as a tuple",
                e.span(part),
                "pass the elements one by one, or the list itself",
            )
        args += [Arg(v, e.span(part)) for v in found]
    kwargs: dict[str, Arg] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            meaning = e.expr(keyword.value)
            if isinstance(meaning, KeywordsValue):
                kwargs |= {n: Arg(v, e.span(keyword.value)) for n, v in meaning.entries.items()}
                continue
            raise CompileError(
                "keyword-arg expansion is not supported",
                e.span(keyword.value),
                "name the arguments one by one",
            )
        kwargs[keyword.arg] = Arg(e.expr(keyword.value), e.span(keyword.value))
    return args, kwargs
