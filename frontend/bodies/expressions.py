"""Emits expressions: one function for each kind of syntax node, listed in EXPRESSIONS."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Value
from scriptlang.source import Span

from ..syntax.places import placed
from ..values import variadic
from ..values.environment import bind
from ..values.simple import SimpleValue
from ..values.sugared import Arg, ConstantValue, SugaredValue
from ..whole import whole
from . import indexing, literals, refinement
from .calls import emit_call

if TYPE_CHECKING:
    from .emitter import Emitter

BINARY: dict[type, tuple[str, str, str]] = {
    ast.Add: ("aten::add", "__add__", "+"),
    ast.Sub: ("aten::sub", "__sub__", "-"),
    ast.Mult: ("aten::mul", "__mul__", "*"),
    ast.Div: ("aten::div", "__truediv__", "/"),
    ast.FloorDiv: ("aten::floordiv", "__floordiv__", "//"),
    ast.Mod: ("aten::remainder", "__mod__", "%"),
    ast.Pow: ("aten::pow", "__pow__", "**"),
    ast.MatMult: ("aten::matmul", "__matmul__", "@"),
    ast.BitAnd: ("aten::__and__", "__and__", "&"),
    ast.BitOr: ("aten::__or__", "__or__", "|"),
    ast.BitXor: ("aten::__xor__", "__xor__", "^"),
    ast.LShift: ("aten::__lshift__", "__lshift__", "<<"),
    ast.RShift: ("aten::__rshift__", "__rshift__", ">>"),
}
"""Syntax -> (operator, method that classes define for it, sign)."""

COMPARE: dict[type, tuple[str, str, str]] = {
    ast.Eq: ("aten::eq", "__eq__", "=="),
    ast.NotEq: ("aten::ne", "__ne__", "!="),
    ast.Lt: ("aten::lt", "__lt__", "<"),
    ast.LtE: ("aten::le", "__le__", "<="),
    ast.Gt: ("aten::gt", "__gt__", ">"),
    ast.GtE: ("aten::ge", "__ge__", ">="),
    ast.Is: ("aten::__is__", "", "is"),
    ast.IsNot: ("aten::__isnot__", "", "is not"),
}

UNARY: dict[type, tuple[str, str]] = {
    ast.USub: ("aten::neg", "__neg__"),
    ast.Invert: ("aten::bitwise_not", "__invert__"),
}


def emit_name(e: Emitter, node: ast.Name, expected: T.Type | None) -> SugaredValue:
    return e.lookup(node.id, e.span(node))


def emit_constant(e: Emitter, node: ast.Constant, expected: T.Type | None) -> SugaredValue:
    value = node.value
    if value is Ellipsis:
        raise CompileError("... stands only inside an index", e.span(node), "write x[..., 0]")
    if isinstance(value, bytes):
        raise CompileError("bytes are not part of the language", e.span(node), "use str")
    _check_range(e, value, node)
    if value is None and isinstance(expected, T.OptionalType):
        return e.simple(e.b.constant(None, e.span(node), T.NONE))
    return e.simple(e.b.constant(value, e.span(node)))


def _check_range(e: Emitter, value: Any, node: ast.expr) -> None:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        # Python writes no int of thousands of digits.
        shown = value if value.bit_length() < 1000 else "an int"
        raise CompileError(f"{shown} does not fit 64 bits", e.span(node), "write it as a float")


def emit_attribute(e: Emitter, node: ast.Attribute, expected: T.Type | None) -> SugaredValue:
    owner = e.expr(node.value)
    try:
        return owner.attr(e.b, node.attr, e.span(node))
    except CompileError as error:
        raise placed(error, e.span(node))


def binary(
    e: Emitter,
    kind: type,
    left: SugaredValue,
    right: SugaredValue,
    spans: tuple[Span, Span],
    span: Span,
) -> SugaredValue:
    """Emit `left kind right`: a call of a method if `left` is an object, else of an operator.

    `kind` is the class of a syntax node, such as `ast.Add`.
    """
    operator, method, sign = BINARY.get(kind) or COMPARE[kind]
    x, y = left.value(e.b, spans[0]), right.value(e.b, spans[1])
    if isinstance(x.type, T.ClassType) and method:
        if method not in x.type.methods:
            raise CompileError(
                f"{x.type.name!r} object has no attribute or method {method!r}",
                span,
                f"define {method} in the class to use {sign}",
            )
        return e.b.call_method(x, method, [Arg(SimpleValue(y), spans[1])], {}, span)
    if kind is ast.Mod and x.type == T.STR:
        return SimpleValue(e.b.emit("aten::percentFormat", [x, y], span))
    if isinstance(x.type, T.TupleType) and isinstance(y.type, T.TupleType):
        found = _tuple_operation(e, kind, x, y, span)
        if found is not None:
            return found
    args = [Arg(SimpleValue(x), spans[0]), Arg(SimpleValue(y), spans[1])]
    return e.b.call_operator(operator, args, {}, span)


def _tuple_operation(e: Emitter, kind: type, x: Value, y: Value, span: Span) -> SugaredValue | None:
    """Emit `+`, `==` or `!=` of two tuples; returns None for other operators."""
    a, c = e.b.unpack_tuple(x, span), e.b.unpack_tuple(y, span)
    if kind is ast.Add:
        return SimpleValue(e.b.tuple([*a, *c], span))
    if kind not in (ast.Eq, ast.NotEq):
        return None
    if len(a) != len(c):
        return SimpleValue(e.b.constant(kind is ast.NotEq, span))
    result = e.b.constant(True, span)
    for p, q in zip(a, c):
        same = binary(e, ast.Eq, SimpleValue(p), SimpleValue(q), (span, span), span)
        result = e.b.emit("aten::__and__", [result, same.value(e.b, span)], span)
    return SimpleValue(result if kind is ast.Eq else e.b.emit("aten::__not__", [result], span))


def emit_binary(e: Emitter, node: ast.BinOp, expected: T.Type | None) -> SugaredValue:
    left, right = e.expr(node.left), e.expr(node.right)
    return binary(
        e, type(node.op), left, right, (e.span(node.left), e.span(node.right)), e.span(node)
    )


def emit_unary(e: Emitter, node: ast.UnaryOp, expected: T.Type | None) -> SugaredValue:
    """Emit `not`, `-` or `~`.  A negative literal is a constant."""
    span = e.span(node)
    if isinstance(node.op, ast.Not):
        return e.simple(refinement.condition(e, node).value)
    if isinstance(node.op, ast.USub):
        negated = _literal(node.operand)
        if negated is not None:
            _check_range(e, -negated, node)
            return e.simple(e.b.constant(-negated, span))
    if isinstance(node.op, ast.UAdd):
        raise CompileError("a + before a value is not part of the language", span, "leave it out")
    value = e.value(node.operand)
    operator, method = UNARY[type(node.op)]
    if isinstance(value.type, T.ClassType) and method in value.type.methods:
        return e.b.call_method(value, method, (), {}, span)
    return e.b.call_operator(operator, [Arg(SimpleValue(value), e.span(node.operand))], {}, span)


def _literal(node: ast.expr) -> Any:
    """The value of a literal number with any signs before it; None for other expressions.  An int
    may not fit 64 bits."""
    count = 0
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        count, node = count + 1, node.operand
    if not isinstance(node, ast.Constant) or type(node.value) not in (int, float, complex):
        return None
    value: Any = node.value
    for _ in range(count):
        value = -value
    return value


def emit_condition(e: Emitter, node: ast.expr, expected: T.Type | None) -> SugaredValue:
    """The value of a condition.  What it implies about types matters only for branches."""
    return e.simple(refinement.condition(e, node).value)


def emit_compare(e: Emitter, node: ast.Compare, expected: T.Type | None) -> SugaredValue:
    if len(node.ops) == 1 and not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return compare(e, node.left, node.ops[0], node.comparators[0], e.span(node))
    return emit_condition(e, node, expected)


def compare(e: Emitter, left: ast.expr, op: ast.cmpop, right: ast.expr, span: Span) -> SugaredValue:
    """Emit one comparison, including `in` and `not in`."""
    x, y = e.expr(left), e.expr(right)
    spans = (e.span(left), e.span(right))
    if isinstance(op, (ast.In, ast.NotIn)):
        found = contains(e, y, x, (spans[1], spans[0]), span)
        if isinstance(op, ast.NotIn):
            if isinstance(found, ConstantValue):
                return ConstantValue(not found.constant)
            found = e.simple(e.b.emit("aten::__not__", [found.value(e.b, span)], span))
        return found
    return binary(e, type(op), x, y, spans, span)


def contains(
    e: Emitter, container: SugaredValue, item: SugaredValue, spans: tuple[Any, ...], span: Span
) -> SugaredValue:
    """Emit `item in container`; `spans` are those of the container and of the item."""
    parts = None
    if isinstance(container, variadic.KeywordsValue):
        return ConstantValue(container.contains(e.b, Arg(item, spans[1])))
    if not e.b.is_simple(container):
        parts = container.unpack(e.b, spans[0])
    else:
        value = container.value(e.b, spans[0])
        if isinstance(value.type, T.ClassType):
            return container.attr(e.b, "__contains__", span).call(
                e.b, [Arg(item, spans[1])], {}, span
            )
        if isinstance(value.type, T.TupleType):
            parts = container.unpack(e.b, spans[0])
    if parts is None:
        return e.b.call_operator(
            "aten::__contains__", [Arg(container, spans[0]), Arg(item, spans[1])], {}, span
        )
    result = e.b.constant(False, span)
    for part in parts:
        same = binary(e, ast.Eq, part, item, spans, span).value(e.b, span)
        result = e.b.emit("aten::__or__", [result, same], span)
    return e.simple(result)


def emit_ternary(e: Emitter, node: ast.IfExp, expected: T.Type | None) -> SugaredValue:
    return whole.choose_value(e, node, expected)


def emit_joined(e: Emitter, node: ast.JoinedStr, expected: T.Type | None) -> SugaredValue:
    """Emit an f-string as `aten::format`."""
    form, values = "", []
    for part in node.values:
        if isinstance(part, ast.Constant):
            # `aten::format` has no escape for `{}`, so text that contains it is an argument.
            if "{}" in part.value:
                values.append(e.b.constant(part.value, e.span(node)))
            form += "{}" if "{}" in part.value else part.value
            continue
        if part.format_spec is not None or part.conversion != -1:
            raise CompileError(
                "Don't support formatting in JoinedStr"
                if part.conversion == -1
                else "Don't support conversion in JoinedStr",
                e.span(node),
                "format the number first, or leave the format out",
            )
        form += "{}"
        values.append(e.value(part.value))
    span = e.span(node)
    if not values:
        return e.simple(e.b.constant(form, span))
    return e.simple(e.b.emit("aten::format", [e.b.constant(form, span), *values], span))


def emit_walrus(e: Emitter, node: ast.NamedExpr, expected: T.Type | None) -> SugaredValue:
    value = e.expr(node.value, expected)
    bind(e.frame, e.b, node.target.id, value, e.span(node))
    return e.frame.find(node.target.id)


EXPRESSIONS: dict[type, Callable[..., SugaredValue]] = {
    ast.Name: emit_name,
    ast.Constant: emit_constant,
    ast.Attribute: emit_attribute,
    ast.BinOp: emit_binary,
    ast.UnaryOp: emit_unary,
    ast.Compare: emit_compare,
    ast.BoolOp: emit_condition,
    ast.IfExp: emit_ternary,
    ast.Call: emit_call,
    ast.JoinedStr: emit_joined,
    ast.NamedExpr: emit_walrus,
    ast.Tuple: literals.emit_tuple,
    ast.List: literals.emit_list,
    ast.Dict: literals.emit_dict,
    ast.ListComp: literals.emit_list_comprehension,
    ast.GeneratorExp: literals.emit_list_comprehension,
    ast.DictComp: literals.emit_dict_comprehension,
    ast.Subscript: indexing.emit_subscript,
    variadic.Keywords: variadic.emit_keywords,
}
"""Syntax -> emit(emitter, node, expected type) -> SugaredValue."""
