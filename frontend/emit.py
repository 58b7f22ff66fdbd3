"""The entry of the front end: the syntax of one function becomes a graph.

One emitter serves scripts and the code of archives; what differs is the Resolver.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Graph, Node
from scriptlang.schema import NO_DEFAULT, Argument, Schema
from scriptlang.source import Source, Span

from . import exits, forks, statements
from .annotations import broadcast_size
from .builder import Builder
from .conversions import EMPTY_LIST
from .emitter import Emitter, span_of
from .sugared import ConstantValue, Resolver, StaticSequence, SugaredValue


def emit_function(definition: ast.FunctionDef, source: Source, resolver: Resolver, name: str,
                  schema: Schema | None = None, self_type: T.Type | None = None) -> Graph:
    """The graph of a function.

    definition: its syntax, with positions in `source`.  schema: its types, where they are known;
    else they are read from the annotations and the type of the result is inferred.  self_type: the
    type of the first argument of a method without annotation.  Raises CompileError.
    """
    inferred = schema is None
    if schema is None:
        schema = function_schema(definition, source, resolver, name, self_type)
    result = None if inferred and not has_result_type(definition) else schema.returns[0].type
    graph = Graph(name)
    e = Emitter(graph, source, resolver, name, result, Builder(graph))
    e.self_type = self_type
    for argument in schema.arguments:
        value = graph.block.add_parameter(argument.type, argument.name)
        e.frame.set(argument.name, e.simple(value))
    try:
        statements.emit_statements(e, definition.body)
    except RecursionError:
        raise CompileError(f"{friendly(name)} is nested too deeply", span_of(definition, source),
                           "break long expressions and chains of elif into parts") from None
    if not e.frame.exits and not e.errors:
        _fall_off(e, definition)
    if not e.errors:
        try:
            _finish(e)
        except CompileError as error:
            e.report(error)
    if e.errors:
        raise _together(e.errors, name)
    return graph


def _fall_off(e: Emitter, definition: ast.FunctionDef) -> None:
    """The end of the body is a `return None`."""
    span = e.span(definition.body[-1])
    if e.result is not None and not T.is_subtype(T.NONE, e.result):
        e.report(CompileError(
            f"the result is declared as {e.result.annotation}, but the function may end without a "
            f"return", span, "return a value on every path, or raise"))
        return
    statements.leave_function(e, e.b.constant(None, span), span)


def _together(errors: list[CompileError], name: str) -> CompileError:
    """One error that reports all errors of a function."""
    for error in errors:
        if not error.chain:
            error.message = friendly(error.message)
            error.notes = tuple(map(friendly, error.notes))
            error.help = error.help and friendly(error.help)
    first = errors[0]
    if len(errors) > 1:
        first.notes += tuple(f"also {line}" if i == 0 else line for other in errors[1:]
                             for i, line in enumerate(str(other).split("\n")))
    return first.while_compiling(f"compiling {friendly(name)}")


def friendly(text: str) -> str:
    """A text without the packages of qualified names: `__torch__.a.b.C` is `C`."""
    return re.sub(r"__torch__\.(?:\w+\.)*?((?:[A-Z]\w*\.)?\w+)(?![\w.])", r"\1", text)


def _finish(e: Emitter) -> None:
    """Give the graph its result and its final shape."""
    type = e.result or join_types(e.returns)
    value, = exits.eliminate(e, e.graph.block, e.returns, [type])
    e.graph.block.add_return(value)
    exits.flatten_regions(e.graph)
    for node in list(e.graph.walk()):
        if node.kind == EMPTY_LIST:
            _settle_empty_list(node)
    _sweep(e.graph.block)
    forks.lift(e.graph)


def join_types(returns: list[Node]) -> T.Type:
    """The type of a result that several exits give."""
    joined = returns[0].inputs[0].type if returns else T.NONE
    for node in returns[1:]:
        type = node.inputs[0].type
        unified = T.unify(joined, type)
        if unified is None:
            raise CompileError(f"this returns {type.annotation}, an earlier return "
                               f"{joined.annotation}", node.span,
                               "return values of one type, or declare the result as a Union")
        joined = unified
    return joined


def _settle_empty_list(node) -> None:
    """An `[]` that nothing gave a type is a list of tensors; one that is not used goes."""
    new = node.graph.create("prim::ListConstruct", (), (node.output.type,), like=node)
    new.insert_before(node)
    node.replace_with(new.output)


DISPOSABLE = {"prim::Constant", "prim::ListConstruct", "prim::Uninitialized", "prim::TupleUnpack",
              "prim::TupleConstruct", "prim::TupleIndex", "prim::unchecked_cast"}
"""Kinds that the emitter makes on the way and that mean nothing when they are not used."""


def _sweep(block) -> None:
    """Remove what is not used of what emitting left behind, and casts that change nothing."""
    for node in block.nodes_reversed:
        for inner in node.blocks:
            _sweep(inner)
        if node.kind in DISPOSABLE and not any(v.uses for v in node.outputs):
            node.destroy()
        elif node.kind == "prim::unchecked_cast" and _is_widening(node):
            node.output.replace_all_uses_with(node.inputs[0])
            node.destroy()


def _is_widening(node) -> bool:
    """Whether the value already is of a narrower type and every use may take it so."""
    before, after = node.inputs[0].type, node.output.type
    return (T.is_subtype(before, after) and not isinstance(before, T.TupleType)
            and before != T.NONE
            and all(user.kind not in ("prim::TupleConstruct", "prim::ListConstruct",
                                      "prim::DictConstruct") for user, _ in node.output.uses))


def infer_schema(schema: Schema, graph: Graph) -> Schema:
    """The schema with the type of the result that a graph has."""
    return Schema(schema.name, schema.overload, schema.arguments,
                  (Argument("", graph.outputs[0].type),))


# Signatures

def has_result_type(definition: ast.FunctionDef) -> bool:
    return definition.returns is not None or bool(definition.type_comment)


def function_schema(definition: ast.FunctionDef, source: Source, resolver: Resolver, name: str,
                    self_type: T.Type | None = None,
                    defaults: dict[str, Any] | None = None) -> Schema:
    """The schema that the annotations of a function declare.

    Arguments without annotation are Tensors; a result without one is inferred later and stands as
    NoneType here.  `defaults` are the values of defaults by argument, where they are known; else
    the syntax is read.  Raises CompileError.
    """
    e = Emitter(Graph(name), source, resolver, name, None, None)
    a = definition.args
    if a.vararg or a.kwarg:
        star = a.vararg or a.kwarg
        raise CompileError("*args and **kwargs are not part of the language", e.span(star),
                           "name the arguments one by one, or take a list")
    comment = _comment_types(e, definition)
    positional = [*a.posonlyargs, *a.args]
    syntax = dict(zip([p.arg for p in reversed(positional)], reversed(a.defaults)))
    syntax |= {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None}
    arguments = []
    for i, p in enumerate([*positional, *a.kwonlyargs]):
        if i == 0 and self_type is not None and p.annotation is None:
            type = self_type
        elif comment is not None:
            j = i - (self_type is not None)
            type = comment[0][j] if j < len(comment[0]) else T.TENSOR
        elif p.annotation is not None:
            type = e.type(p.annotation)
        else:
            type = T.TENSOR
        default = NO_DEFAULT
        if defaults is not None and p.arg in defaults:
            default = _check_default(e, p, type, defaults[p.arg])
        elif p.arg in syntax:
            default = static_value(e, syntax[p.arg], type)
        arguments.append(Argument(p.arg, type, default, i >= len(positional),
                                  size=broadcast_size(p.annotation)))
    result = T.NONE
    if comment is not None:
        result = comment[1]
    elif definition.returns is not None:
        result = e.type(definition.returns)
    return Schema(name, "", tuple(arguments), (Argument("", result),))


def _comment_types(e: Emitter, definition: ast.FunctionDef) -> tuple[list[T.Type], T.Type] | None:
    """Types of `# type: (int, Tensor) -> Tensor`."""
    if not definition.type_comment:
        return None
    head, _, tail = definition.type_comment.rpartition("->")
    try:
        arguments = ast.parse(head.strip() or "()", mode="eval").body
        result = ast.parse(tail.strip(), mode="eval").body
    except SyntaxError:
        raise CompileError(f"{definition.type_comment!r} is not a type comment",
                           e.span(definition)) from None
    parts = arguments.elts if isinstance(arguments, ast.Tuple) else [arguments]
    place = Span(e.source, *_head(e, definition))
    return [e.resolver.type(p, place) for p in parts], e.resolver.type(result, place)


def _head(e: Emitter, definition: ast.FunctionDef) -> tuple[int, int]:
    span = e.span(definition)
    return span.start, e.span(definition.body[0]).start


def _check_default(e: Emitter, p: ast.arg, type: T.Type, value: Any) -> Any:
    if isinstance(value, (list, dict, set)):
        raise CompileError(f"a {value.__class__.__name__} as a default is shared by all calls and "
                           "is not part of the language", e.span(p),
                           "take None as the default and make it in the function, or use a tuple")
    plain = T.without_none(type)
    if isinstance(value, int) and not isinstance(value, bool) and plain == T.FLOAT:
        return float(value)
    from .resolver import code_of

    code = code_of(value)
    return value if code is None else code


def static_value(e: Emitter, node: ast.expr, type: T.Type | None = None) -> Any:
    """The Python value of an expression that is known at compile time (a default)."""
    value = _static(e, node)
    if type is not None and T.without_none(type) == T.FLOAT and isinstance(value, int) \
            and not isinstance(value, bool):
        return float(value)
    return value


def _static(e: Emitter, node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_static(e, node.operand)
    if isinstance(node, ast.List):
        return [_static(e, p) for p in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_static(e, p) for p in node.elts)
    if isinstance(node, ast.Dict):
        return {_static(e, k): _static(e, v) for k, v in zip(node.keys, node.values)}
    if isinstance(node, ast.Call) and len(node.args) == 2 and \
            getattr(node.func, "id", getattr(node.func, "attr", "")) == "annotate":
        return _static(e, node.args[1])
    if isinstance(node, (ast.Name, ast.Attribute)):
        meaning = _static_name(e, node)
        if isinstance(meaning, ConstantValue):
            return meaning.constant
        if isinstance(meaning, StaticSequence):
            return tuple(m.constant for m in meaning.elements)
    raise CompileError("a default must be known when the function is compiled", e.span(node))


def _static_name(e: Emitter, node: ast.expr) -> SugaredValue:
    if isinstance(node, ast.Attribute):
        return _static_name(e, node.value).attr(e.b, node.attr, e.span(node))
    return e.lookup(node.id, e.span(node))
