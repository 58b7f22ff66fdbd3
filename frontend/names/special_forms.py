"""Functions that need the syntax of their arguments, as these may be types or attribute names."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError

from ..bodies.forks import emit_awaitable, emit_fork
from ..bodies.literals import common_type
from ..bodies.refinement import is_instance
from ..values.iteration import known_elements
from ..values.sugared import Arg, ConstantValue, SpecialForm, SugaredValue
from ..values.variadic import KeywordsValue
from ..whole import whole

if TYPE_CHECKING:
    from ...source import Span
    from ..bodies.emitter import Emitter


def _args(e: Emitter, node: ast.Call, name: str, least: int, most: int | None = None) -> list[Any]:
    most = least if most is None else most
    if node.keywords or not least <= len(node.args) <= most:
        raise CompileError(
            f"{name} takes {least if least == most else f'{least} to {most}'} arguments",
            e.span(node),
            "give each by position",
        )
    return node.args


def _annotate(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    """`annotate(T, x)`: `x` converted to the type `T`."""
    type_node, value_node = _args(e, node, "annotate", 2)
    type = e.type(type_node)
    value = e.value(value_node, type)
    converted = e.b.convert(value, type, e.span(value_node), True)
    if not T.is_subtype(converted.type, type):
        raise CompileError(
            f"expected an expression of type {type.annotation} but found "
            f"{converted.type.annotation}",
            e.span(value_node),
            "convert it, or name the type that it has",
        )
    return e.simple(e.b.cast(converted, type, e.span(node)))


def _uninitialized(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    type = e.type(_args(e, node, "uninitialized", 1)[0])
    return e.simple(e.b.insert("prim::Uninitialized", (), (type,), e.span(node)).output)


def _unchecked_cast(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    type_node, value_node = _args(e, node, "unchecked_cast", 2)
    type = e.type(type_node)
    return e.simple(
        e.b.insert("prim::unchecked_cast", [e.value(value_node)], (type,), e.span(node)).output
    )


def _isinstance(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    return e.simple(is_instance(e, node).value)


def instance_types(e: Emitter, node: ast.expr) -> list[T.Type]:
    """The types that the second argument of `isinstance` names."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return [t for part in node.elts for t in instance_types(e, part)]
    if isinstance(node, ast.Name) and node.id in ("list", "tuple"):
        return [T.ANY_LIST if node.id == "list" else T.ANY_TUPLE]
    type = e.type(node)
    if isinstance(type, T.UnionType):
        return list(type.options)
    if isinstance(type, T.OptionalType):
        return [type.element, T.NONE]
    return [type]


def _attribute_name(e: Emitter, node: ast.Call, form: str) -> tuple[SugaredValue, str]:
    name = node.args[1]
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        raise CompileError(
            f"{form}'s second argument must be a string literal",
            e.span(name),
            f'write {form}(x, "name")',
        )
    return e.expr(node.args[0]), name.value


def has_attribute(e: Emitter, node: ast.Call) -> bool:
    _args(e, node, "hasattr", 2)
    owner, name = _attribute_name(e, node, "hasattr")
    plain = owner.type(e.b, e.span(node)) if e.b.is_simple(owner) else None
    if plain is not None and not isinstance(plain, (T.ClassType, T.InterfaceType, T.TupleType)):
        raise CompileError(
            "hasattr's first argument must be an object or NamedTuple, got "
            f"{plain.annotation} instead",
            e.span(node.args[0]),
            "use isinstance to tell types apart",
        )
    return owner.has_attr(e.b, name, e.span(node))


def _hasattr(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    return ConstantValue(has_attribute(e, node))


def _getattr(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    """`getattr(x, "name")`, or with a default as third argument.

    Whether `x` has the attribute is decided at compile time.
    """
    _args(e, node, "getattr", 2, 3)
    owner, name = _attribute_name(e, node, "getattr")
    if len(node.args) == 3 and not owner.has_attr(e.b, name, e.span(node)):
        return e.expr(node.args[2])
    return owner.attr(e.b, name, e.span(node))


def _list(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    """`list(x)`: a new list of the elements of `x`."""
    if not node.args and not node.keywords:
        return e.expr(ast.copy_location(ast.List([], ast.Load()), node), expected)
    source, span = _args(e, node, "list", 1)[0], e.span(node)
    if isinstance(source, ast.GeneratorExp):
        return e.expr(source, expected)
    meaning = e.expr(source)
    if e.b.is_simple(meaning):
        value = meaning.value(e.b, span)
        if isinstance(value.type, T.ListType):
            return e.b.call_operator("aten::list", [Arg(e.simple(value), span)], {}, span)
        if value.type == T.STR:
            return e.b.call_operator("aten::list", [Arg(e.simple(value), span)], {}, span)
    iterable = meaning.iterate(e.b, span)
    return gather(e, iterable, span, expected)


def gather(
    e: Emitter, iterable: SugaredValue, span: Span, expected: T.Type | None = None
) -> SugaredValue:
    """Emit a list of all elements of an iterable.

    If their number is not known, it is filled by a loop.
    """
    parts = known_elements(e.b, iterable, span)
    if parts is not None:
        values = [p.value(e.b, span) for p in parts]
        type = common_type(values) if values else T.TENSOR
        if isinstance(type, T.UnionType):
            raise CompileError(
                f"a list of {type.annotation} cannot be made of elements without a declared type",
                span,
                "declare it: x: List[...] = [a, b]",
            )
        return e.simple(e.b.list(values, type, span))
    result = e.b.insert("prim::ListConstruct", (), (T.ListType(T.TENSOR),), span).output
    length: Any = iterable.length(e.b, span)
    go = e.b.constant(True, span)
    loop = e.b.insert("prim::Loop", [length, go], (), span)
    block = loop.add_block()
    turn = block.add_parameter(T.INT)
    with e.block(block):
        value = iterable.element(e.b, turn, span).value(e.b, span)
        result.type = T.ListType(value.type)
        e.b.call_operator(
            "aten::append", [Arg(e.simple(result), span), Arg(e.simple(value), span)], {}, span
        )
        block.add_return(e.b.constant(True, span))
    return e.simple(result)


def _tuple(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    """`tuple(x)`; the number of elements of `x` must be known at compile time."""
    if not node.args and not node.keywords:
        return e.simple(e.b.tuple([], e.span(node)))
    source, span = _args(e, node, "tuple", 1)[0], e.span(node)
    if isinstance(source, ast.GeneratorExp):
        source = ast.copy_location(ast.ListComp(source.elt, source.generators), source)
    meaning = e.expr(source)
    if e.b.is_simple(meaning):
        made = meaning.value(e.b, span)
        is_generator = isinstance(node.args[0], ast.GeneratorExp)
        if is_generator and made.node.kind == "prim::ListConstruct" and not made.uses:
            return e.simple(e.b.tuple(list(made.node.inputs), span))
    parts = meaning.unpack(e.b, span)
    if parts is None:
        raise CompileError(
            f"how many elements {meaning.kind} has is not known at compile time",
            span,
            "a tuple has a fixed number of elements; use a list",
        )
    return e.simple(e.b.tuple([p.value(e.b, span) for p in parts], span))


def _is_pair(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and len(node.elts) == 2


def _dict(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    """`dict()`, `dict(a=1)`, `dict(d)`, `dict(pairs)`."""
    span, keywords = e.span(node), _named_entries(e, node)
    if len(node.args) > 1:
        raise CompileError(
            "dict takes one dict or iterable of pairs, and entries by name",
            e.span(node.args[1]),
            "make a dict of the first, and add the second: d.update(...)",
        )
    if not node.args:
        keys: list[ast.expr | None] = [
            ast.copy_location(ast.Constant(name), node) for name, _ in keywords
        ]
        literal = ast.Dict(keys, [value for _, value in keywords])
        return e.expr(ast.copy_location(literal, node), expected)
    first = node.args[0]
    if (
        isinstance(first, (ast.ListComp, ast.GeneratorExp))
        and isinstance(first.elt, ast.Tuple)
        and len(first.elt.elts) == 2
    ):
        key, value = first.elt.elts
        same = ast.copy_location(ast.DictComp(key, value, first.generators), node)
        return e.expr(same, expected)
    if isinstance(first, (ast.List, ast.Tuple)) and all(map(_is_pair, first.elts)):
        pairs: list[Any] = first.elts
        literal = ast.Dict([p.elts[0] for p in pairs], [p.elts[1] for p in pairs])
        made = e.expr(ast.copy_location(literal, node), expected)
    else:
        items = e.expr(first)
        if not e.b.is_simple(items):
            items = gather(e, items.iterate(e.b, span), span)
        made = e.b.call_operator("aten::dict", [Arg(items, e.span(first))], {}, span)
    for name, given in keywords:
        e.b.call_operator(
            "aten::_set_item",
            [Arg(made, span), Arg(ConstantValue(name), span), Arg(e.expr(given), e.span(given))],
            {},
            span,
        )
    return made


def _named_entries(e: Emitter, node: ast.Call) -> list[tuple[str, ast.expr]]:
    """The keywords of a call of `dict`, with those of `**kwargs` of the function itself."""
    found: list[tuple[str, ast.expr]] = []
    for keyword in node.keywords:
        if keyword.arg is not None:
            found.append((keyword.arg, keyword.value))
            continue
        meaning = e.expr(keyword.value)
        if not isinstance(meaning, KeywordsValue):
            raise CompileError(
                "keyword-arg expansion is not supported",
                e.span(keyword.value),
                "write dict(d) for a copy of d, and add other entries by d.update(...)",
            )
        for name in meaning.entries:
            entry = ast.Subscript(keyword.value, ast.Constant(name), ast.Load())
            for part in (entry.slice, entry):
                ast.copy_location(part, keyword.value)
            found.append((name, entry))
    return found


def _super(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    """`super()`, or `super(C, self)`, in a method."""
    if node.keywords or len(node.args) not in (0, 2) or not _is_self(e, node.args[1:]):
        raise CompileError(
            "super takes nothing, or a class and the object of the method",
            e.span(node),
            "write super()",
        )
    found = whole.super_value(e, node) or whole.super_of_class(e, node)
    if found is not None:
        return found
    if node.args and e.self_type is not None:
        raise CompileError(
            "super takes a class of the object", e.span(node.args[0]), "write super()"
        )
    raise CompileError(
        "super() is known only in methods of modules and classes",
        e.span(node),
        "call the function by its name",
    )


def _is_self(e: Emitter, nodes: Sequence[ast.expr]) -> bool:
    """Whether expressions are the object of the method that is compiled; true for none."""
    own = e.graph.inputs[:1]
    return all(isinstance(n, ast.Name) and [e.value(n)] == own for n in nodes)


def _type_name(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
    raise CompileError("type() is not part of the language", e.span(node), "use isinstance")


ISINSTANCE = SpecialForm("isinstance", _isinstance)
HASATTR = SpecialForm("hasattr", _hasattr)

FORMS: dict[str, SpecialForm] = {
    form.name: form
    for form in (
        ISINSTANCE,
        HASATTR,
        SpecialForm("getattr", _getattr),
        SpecialForm("list", _list),
        SpecialForm("tuple", _tuple),
        SpecialForm("dict", _dict),
        SpecialForm("super", _super),
        SpecialForm("type", _type_name),
    )
}
"""Builtins of Python that are special forms."""

ARCHIVE_FORMS: dict[str, SpecialForm] = {
    "annotate": SpecialForm("annotate", _annotate),
    "uninitialized": SpecialForm("uninitialized", _uninitialized),
    "unchecked_cast": SpecialForm("unchecked_cast", _unchecked_cast),
    "fork": SpecialForm("fork", emit_fork),
    "awaitable": SpecialForm("awaitable", emit_awaitable),
}
"""Special forms that only the code of archives uses by these names."""

ANNOTATE, FORK = ARCHIVE_FORMS["annotate"], ARCHIVE_FORMS["fork"]
AWAITABLE = ARCHIVE_FORMS["awaitable"]
