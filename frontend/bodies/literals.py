"""Emits literals of lists, tuples and dicts, and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Value
from scriptlang.source import Span

from ..overloads.conversions import EMPTY_LIST, remedy
from ..syntax.annotations import KEY_HELP, NO_KEY, may_be_key
from ..values.environment import Frame, Unusable
from ..values.iteration import known_elements
from ..values.sugared import Arg, StaticSequence, SugaredValue
from ..whole import whole
from .refinement import condition, refine

if TYPE_CHECKING:
    from .emitter import Emitter


def elements(e: Emitter, nodes: list[ast.expr]) -> list[SugaredValue]:
    """The elements of a literal; starred tuples are unpacked."""
    found: list[SugaredValue] = []
    for node in nodes:
        if not isinstance(node, ast.Starred):
            found.append(e.expr(node))
            continue
        meaning = e.expr(node.value)
        parts = meaning.unpack(e.b, e.span(node))
        if parts is None:
            raise CompileError(
                f"how many elements {meaning.kind} has is not known at compile time",
                e.span(node),
                "add the lists instead: [a] + b",
            )
        found += parts
    return found


def emit_tuple(e: Emitter, node: ast.Tuple, expected: T.Type | None) -> SugaredValue:
    parts = elements(e, node.elts)
    if not all(e.b.is_simple(p) for p in parts):
        return StaticSequence(parts)
    return e.simple(e.b.tuple([p.value(e.b, e.span(node)) for p in parts], e.span(node)))


def _options(expected: T.Type | None, kind: type[T.Type]) -> list[T.Type]:
    """The types of the class `kind` that a literal may have if `expected` is the declared type."""
    if expected is None:
        return []
    return [
        t
        for t in (
            expected.options if isinstance(expected, T.UnionType) else (T.without_none(expected),)
        )
        if isinstance(t, kind)
    ]


def _refuse_open(choices: list[T.Type], name: str, span: Span) -> None:
    """Raises CompileError for an empty literal that could have several of the declared types."""
    if len(choices) > 1:
        raise CompileError(
            f"an empty {name} could be each of {', '.join(t.annotation for t in choices)}",
            span,
            f"say which: torch.jit.annotate({choices[0].annotation}, ...)",
        )


def _list_hint(expected: T.Type | None) -> T.Type | None:
    """The type that the elements of a list literal must have; None if it is not determined."""
    found = _options(expected, T.ListType)
    return found[0].contained[0] if len(found) == 1 else None


def emit_list(e: Emitter, node: ast.List, expected: T.Type | None) -> SugaredValue:
    span, hint = e.span(node), _list_hint(expected)
    values = [p.value(e.b, span) for p in elements(e, node.elts)]
    if not values and hint is None:
        _refuse_open(_options(expected, T.ListType), "list", span)
        return e.simple(e.b.insert(EMPTY_LIST, (), (T.ListType(T.TENSOR),), span).output)
    if hint is None:
        return e.simple(e.b.list(values, common_type(values), span))
    places = node.elts if len(node.elts) == len(values) else [node] * len(values)
    for v, place in zip(values, places):
        _check_element(v.type, hint, e.span(place))
    return e.simple(e.b.list(values, hint, span))


def _check_element(actual: T.Type, wanted: T.Type, span: Span) -> None:
    """Raises CompileError if an element does not have the declared type.

    Elements are not converted to it.
    """
    if not T.is_subtype(actual, wanted):
        raise CompileError(
            f"List type annotation `List[{wanted.annotation}]` did not match the types of the "
            f"given list elements, one of which is {actual.annotation}",
            span,
            remedy(wanted, actual) or "convert it, or declare another list",
        )


def common_type(values: list[Value]) -> T.Type:
    """The type of the elements of a list of these values; a union if they do not unify."""
    type = values[0].type
    for v in values[1:]:
        type = T.unify(type, v.type) or T.union(type, v.type)
    return type


def emit_dict(e: Emitter, node: ast.Dict, expected: T.Type | None) -> SugaredValue:
    span = e.span(node)
    choices = _options(expected, T.DictType)
    hint = choices[0] if len(choices) == 1 else None
    if not node.keys:
        _refuse_open(choices, "dict", span)
    pairs: list[Value] = []
    for key, value in zip(node.keys, node.values):
        if key is None:
            raise CompileError(
                "** in a dict is not part of the language", e.span(value), "use d.update(...)"
            )
        pairs += [e.value(key), e.value(value)]
    if hint is None:
        hint = _dict_type(e, node, pairs)
        if choices and hint not in choices:
            raise CompileError(
                f"a {hint.annotation} is none of {', '.join(t.annotation for t in choices)}",
                span,
                "convert its values, or declare that dict, too",
            )
    else:
        for i, v in enumerate(pairs):
            wanted = hint.value if i % 2 else hint.key
            if not T.is_subtype(v.type, wanted):
                place = node.values[i // 2] if i % 2 else node.keys[i // 2]
                raise CompileError(
                    f"Dict type annotation `{hint.annotation}` did not match the type of an actual "
                    f"{'value' if i % 2 else 'key'} type `{v.type.annotation}`",
                    e.span(place),
                    remedy(wanted, v.type) or "convert it, or declare another dict",
                )
    return e.simple(e.b.insert("prim::DictConstruct", pairs, (hint,), span).output)


def _dict_type(e: Emitter, node: ast.Dict, pairs: list[Value]) -> T.DictType:
    if not pairs:
        return T.DictType(T.STR, T.TENSOR)
    key = pairs[0].type
    if not may_be_key(key):
        raise CompileError(NO_KEY.format(key.annotation), e.span(node.keys[0]), KEY_HELP)
    for v, part in zip(pairs[::2], node.keys):
        if v.type != key:
            raise CompileError(
                f"Dict keys must contain only a single type. Expected: {key.annotation} but found "
                f"{v.type.annotation} instead",
                e.span(part),
                "use keys of one type",
            )
    return T.DictType(key, common_type(pairs[1::2]))


# Comprehensions


def emit_list_comprehension(
    e: Emitter, node: ast.ListComp | ast.GeneratorExp, expected: T.Type | None
) -> SugaredValue:
    """Emit `[f(x) for x in xs if c]` as a loop that appends.

    It is unrolled if the number of elements of `xs` is known.
    """
    span, hint = e.span(node), _list_hint(expected)
    result = e.b.insert("prim::ListConstruct", (), (T.ListType(hint or T.TENSOR),), span)

    def add() -> None:
        value = e.value(node.elt)
        if hint is None:
            result.output.type = T.ListType(value.type)
        else:
            _check_element(value.type, hint, e.span(node.elt))
        e.b.call_operator(
            "aten::append",
            [Arg(e.simple(result.output), span), Arg(e.simple(value), e.span(node.elt))],
            {},
            span,
        )

    static = _static_list(e, node, span)
    if static is not None:
        result.destroy()
        return (
            e.simple(e.b.list(static, hint or common_type(static), span))
            if static
            else e.simple(
                e.b.insert("prim::ListConstruct", (), (T.ListType(hint or T.TENSOR),), span).output
            )
        )
    _comprehend(e, node.generators, add, node)
    forget_named(e, node)
    return e.simple(result.output)


def forget_named(e: Emitter, node: ast.expr) -> None:
    """Make names that `:=` binds inside a comprehension unusable after it."""
    for part in ast.walk(node):
        if isinstance(part, ast.NamedExpr):
            e.frame.forget(
                part.target.id,
                Unusable(
                    f"{part.target.id!r} was assigned inside a comprehension, which does "
                    "not keep it",
                    "assign it in a loop",
                ),
            )


def _static_list(
    e: Emitter, node: ast.ListComp | ast.GeneratorExp | ast.DictComp, span: Span
) -> list[Value] | None:
    """The values of a comprehension over a tuple or modules; None if it needs a loop.

    A dict comprehension gives keys and values alternately.
    """
    first = node.generators[0]
    if len(node.generators) > 1 or first.ifs:
        return None
    before = e.graph.insert_point.prev
    iterable = e.expr(first.iter).iterate(e.b, e.span(first.iter))
    parts = known_elements(e.b, iterable, span)
    if parts is None:
        e.drop_after(before)
        return None
    saved, e.frame = e.frame, Frame(e.frame)
    try:
        values = []
        for part in parts:
            e.frame = Frame(saved)
            assign_fresh(e, first.target, part, span, whole.assign)
            if isinstance(node, ast.DictComp):
                values += [e.value(node.key), e.value(node.value)]
                continue
            values.append(e.value(node.elt))
            if isinstance(node, ast.ListComp) and T.unify(values[0].type, values[-1].type) is None:
                raise CompileError(
                    f"this comprehension gives {values[0].type.annotation} and "
                    f"{values[-1].type.annotation}",
                    e.span(node.elt),
                    "convert each, or write a tuple",
                )
    finally:
        e.frame = saved
    return values


def assign_fresh(
    e: Emitter, target: ast.expr, value: SugaredValue, span: Span, assign: Callable[..., Any]
) -> None:
    """Bind the target of a comprehension.

    Its names are new variables: outer variables of the same names do not restrict their types.
    """
    saved, e.frame.is_scope = e.frame.is_scope, True
    try:
        assign(e, target, value, span)
    finally:
        e.frame.is_scope = saved


def _comprehend(
    e: Emitter, generators: list[ast.comprehension], body: Callable[[], None], node: ast.expr
) -> None:
    """Emit the loops of a comprehension, outermost first, with `body` inside."""
    if not generators:
        body()
        return
    first, span = generators[0], e.span(generators[0].iter)
    iterable = e.expr(first.iter).iterate(e.b, span)
    length: Any = iterable.length(e.b, span)
    go = e.b.constant(True, span)
    loop = e.b.insert("prim::Loop", [length, go], (), e.span(node))
    block = loop.add_block()
    turn = block.add_parameter(T.INT)
    with e.block(block):
        assign_fresh(e, first.target, iterable.element(e.b, turn, span), span, whole.assign)
        depth = []
        for test in first.ifs:
            known = condition(e, test)
            branch = e.b.insert("prim::If", [known.value], (), e.span(test))
            depth.append(e.block(branch.add_block()))
            depth[-1].__enter__()
            branch.add_block()
            refine(e, known.if_true, e.span(test))
        _comprehend(e, generators[1:], body, node)
        for opened in reversed(depth):
            opened.__exit__(None, None, None)
        block.add_return(e.b.constant(True, span))


def emit_dict_comprehension(
    e: Emitter, node: ast.DictComp, expected: T.Type | None
) -> SugaredValue:
    """Emit `{k: v for ...}` as a loop that stores; unrolled as in list comprehensions."""
    span = e.span(node)
    hint = T.without_none(expected) if expected is not None else None
    known = isinstance(hint, T.DictType)
    static = _static_list(e, node, span)
    if static:
        places = ast.Dict([node.key] * (len(static) // 2), [node.value] * (len(static) // 2))
        type = hint if known else _dict_type(e, places, static)
        return e.simple(e.b.insert("prim::DictConstruct", static, (type,), span).output)
    result = e.b.insert(
        "prim::DictConstruct", (), (hint if known else T.DictType(T.STR, T.TENSOR),), span
    )

    def add() -> None:
        key, value = e.value(node.key), e.value(node.value)
        if not known:
            result.output.type = T.DictType(key.type, value.type)
        e.b.call_operator(
            "aten::_set_item",
            [
                Arg(e.simple(result.output), span),
                Arg(e.simple(key), e.span(node.key)),
                Arg(e.simple(value), e.span(node.value)),
            ],
            {},
            span,
        )

    _comprehend(e, node.generators, add, node)
    forget_named(e, node)
    return e.simple(result.output)
