"""Emits assignments, also augmented ones, to names, attributes, elements and tuples of targets."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Value
from scriptlang.source import Span

from ..syntax.annotations import own_annotations
from ..values.environment import bind
from ..values.simple import SimpleValue
from ..values.sugared import Arg, StaticSequence, SugaredValue
from . import indexing
from .expressions import BINARY, binary

if TYPE_CHECKING:
    from .emitter import Emitter

IN_PLACE: dict[type, str] = {
    ast.Add: "aten::add_",
    ast.Sub: "aten::sub_",
    ast.Mult: "aten::mul_",
    ast.Div: "aten::div_",
    ast.Mod: "aten::fmod_",
    ast.BitOr: "aten::bitwise_or",
    ast.BitAnd: "aten::bitwise_and",
    ast.BitXor: "aten::bitwise_xor",
    ast.LShift: "aten::__ilshift__",
    ast.RShift: "aten::__irshift__",
    ast.Pow: "aten::pow",
}
"""Operator of an augmented assignment to a Tensor.  As in PyTorch, not all are in place."""

LIST_IN_PLACE: dict[type, Any] = {ast.Add: "aten::add_", ast.Mult: "aten::mul_"}

OBJECT_IN_PLACE: dict[type, Any] = {
    ast.Add: "__iadd__",
    ast.Sub: "__isub__",
    ast.Mult: "__imul__",
    ast.Div: "__itruediv__",
    ast.Mod: "__imod__",
    ast.FloorDiv: "__ifloordiv__",
    ast.Pow: "__ipow__",
    ast.BitOr: "__ior__",
    ast.BitAnd: "__iand__",
    ast.BitXor: "__ixor__",
    ast.LShift: "__ilshift__",
    ast.RShift: "__irshift__",
    ast.MatMult: "__imatmul__",
}


def emit_assign(e: Emitter, node: ast.Assign) -> None:
    expected = None
    if node.type_comment:
        expected = e.type(ast.parse(node.type_comment, mode="eval").body)
    elif isinstance(node.targets[0], ast.Attribute):
        expected = _declared_in_body(e, node.targets[0])
    value = e.expr(node.value, expected)
    span = e.span(node.value)
    if node.type_comment and isinstance(node.targets[0], ast.Name):
        bind(e.frame, e.b, node.targets[0].id, value, span, expected)
        return
    if len(node.targets) > 1 and e.b.is_simple(value):
        value = e.simple(value.value(e.b, span))
    for target in node.targets:
        assign(e, target, value, span)


def _declared_in_body(e: Emitter, target: ast.Attribute) -> T.Type | None:
    """The type of an attribute assigned in `__init__` if the class body annotates it; else None."""
    own = e.self_type
    if (
        own is None
        or own.is_module
        or own.python_class is None
        or not e.name.endswith("__init__")
        or getattr(target.value, "id", "") != "self"
    ):
        return None
    if not any(target.attr in own_annotations(c) for c in own.python_class.__mro__):
        return None
    slot = own.attribute(target.attr)
    return slot.type if slot else None


def emit_annotated(e: Emitter, node: ast.AnnAssign) -> None:
    """Emit `x: T = value`."""
    type = e.type(node.annotation)
    if node.value is None:
        raise CompileError(
            "annotated assignments without assigned value aren't supported",
            e.span(node),
            "assign a value to it",
        )
    _refuse_display(e, node.value, type)
    value = e.expr(node.value, type)
    if isinstance(node.target, ast.Name):
        bind(e.frame, e.b, node.target.id, value, e.span(node.value), type)
        return
    if isinstance(node.target, ast.Attribute):
        if getattr(node.target.value, "id", "") == "self" and not e.name.endswith("__init__"):
            raise CompileError(
                "the type of an attribute is declared in __init__ or in the class body only",
                e.span(node.target),
                "leave the annotation out here",
            )
        plain = value.value(e.b, e.span(node.value))
        _refuse_own(e, node.target, plain.type)
        _declare_attribute(e, e.expr(node.target.value), node.target, type)
        value = e.simple(e.b.convert(plain, type, e.span(node.value), False))
    assign(e, node.target, value, e.span(node.value))


def _refuse_display(e: Emitter, node: ast.expr, type: T.Type) -> None:
    """Raises CompileError if a list or dict is written where the annotation is a plain type."""
    name = {ast.List: "List", ast.ListComp: "List", ast.Dict: "Dict"}.get(node.__class__)
    if name and type in (T.INT, T.FLOAT, T.BOOL, T.STR, T.COMPLEX, T.TENSOR):
        raise CompileError(
            f"Expected an annotation of type {name} but got {type.annotation}",
            e.span(node),
            f"write {name}[...] as the annotation",
        )


def assign(e: Emitter, target: ast.expr, value: SugaredValue, span: Span) -> None:
    """Assign a value to a target of any kind; `span` is the span of the value."""
    if isinstance(target, ast.Name):
        bind(e.frame, e.b, target.id, value, e.span(target))
    elif isinstance(target, (ast.Tuple, ast.List)):
        unpack(e, target.elts, value, span, e.span(target))
    elif isinstance(target, ast.Subscript):
        indexing.assign_item(e, target, value.value(e.b, span), span)
    elif isinstance(target, ast.Attribute):
        owner = e.expr(target.value)
        plain = value.value(e.b, span)
        _refuse_own(e, target, plain.type)
        _declare_attribute(e, owner, target, plain.type)
        owner.set_attr(e.b, target.attr, plain, e.span(target))
    else:
        raise CompileError(
            "this cannot be assigned to",
            e.span(target),
            "assign to a name, an attribute or an element",
        )


def _declare_attribute(
    e: Emitter, owner: SugaredValue, target: ast.Attribute, type: T.Type
) -> None:
    """Add an attribute to the class if this is its first assignment in `__init__`."""
    known, name = e.self_type, target.attr
    if known is None or known.is_module or not e.name.endswith("__init__"):
        return
    if (
        not isinstance(owner, SimpleValue)
        or owner.simple_value.type is not known
        or known.slot(name) is not None
        or name in known.properties
    ):
        return
    if e.frame.parent is not None:
        raise CompileError(
            f"the attribute {name!r} is first assigned inside a branch or loop",
            e.span(target),
            "assign it before, at the top of __init__",
        )
    known.add_attribute(name, type)


def _refuse_own(e: Emitter, target: ast.Attribute, type: T.Type) -> None:
    """Raises CompileError if an attribute set in `__init__` could hold objects of its own class.

    PyTorch refuses such attributes, too.
    """
    own = e.self_type
    if own is not None and not own.is_module and e.name.endswith("__init__") and _holds(type, own):
        raise CompileError(
            f"Assignment to attribute {target.attr!r} cannot be of a type that contains class "
            f"{own.short_name!r}",
            e.span(target),
            "keep the objects in a list outside, and indices in the object",
        )


def _holds(type: T.Type, wanted: T.Type) -> bool:
    """Whether values of a type can hold values of the type `wanted`, also in their attributes."""
    if type is wanted:
        return True
    inner = [a.type for a in type.attributes] if isinstance(type, T.ClassType) else type.contained
    return any(_holds(t, wanted) for t in inner)


def unpack(
    e: Emitter, targets: Sequence[ast.expr], value: SugaredValue, span: Span, place: Span
) -> None:
    """`a, b = value`; one target may be starred.

    `span` is the span of the value, `place` that of the targets.
    """
    stars = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
    if len(stars) > 1:
        raise CompileError("only one target may be starred", place, "name the others")
    if stars and len(targets) == 1:
        raise CompileError(
            "a starred target stands beside others",
            place,
            "write the name alone, or list(...) of the value",
        )
    parts = value.unpack(e.b, span, None if stars else len(targets))
    if parts is None:
        if stars:
            raise CompileError(
                f"how many elements {value.kind} has is not known at compile time",
                span,
                "only tuples can be taken apart with a star",
            )
        raise CompileError(
            f"{value.kind} cannot be used as a tuple",
            span,
            "only tuples and lists can; a tensor is x[0], x[1], or x.unbind()",
        )
    if stars:
        if len(parts) < len(targets) - 1:
            raise CompileError(
                f"need at least {len(targets) - 1} values to unpack but found only {len(parts)}",
                place,
                "leave targets out",
            )
        i, after = stars[0], len(targets) - stars[0] - 1
        middle = parts[i : len(parts) - after]
        gathered: SugaredValue = StaticSequence(middle)
        if all(e.b.is_simple(m) for m in middle):
            gathered = e.simple(gathered.value(e.b, span))
        parts = [*parts[:i], gathered, *parts[len(parts) - after :]]
        targets = [t.value if isinstance(t, ast.Starred) else t for t in targets]
    if len(parts) != len(targets):
        raise CompileError(
            _wrong_count(len(targets), len(parts)),
            place,
            "write a target for each value, or * before the last",
        )
    for target, part in zip(targets, parts):
        assign(e, target, part, span)


def _wrong_count(need: int, found: int) -> str:
    if found > need:
        return f"too many values to unpack: need {need} but found {found}"
    return f"need {need} values to unpack but found only {found}"


# Augmented assignment


def emit_augmented(e: Emitter, node: ast.AugAssign) -> None:
    """`target op= value`: in place for tensors and lists, and objects with methods for it."""
    span, target = e.span(node), node.target
    if isinstance(target, ast.Subscript):
        indexing.augment_item(e, target, type(node.op), node.value, span)
        return
    if isinstance(target, ast.Name):
        old = e.lookup(target.id, e.span(target)).value(e.b, e.span(target))
        new = updated(e, type(node.op), old, node, span)
        bind(e.frame, e.b, target.id, new, span)
        return
    owner = e.expr(target.value)
    if isinstance(owner, SimpleValue) and not isinstance(owner.simple_value.type, T.ClassType):
        raise CompileError(
            f"Tried to set an attribute: {target.attr} on a non-class: "
            f"{owner.simple_value.type.annotation}",
            e.span(target),
            "only attributes of objects and modules can be set",
        )
    old = owner.attr(e.b, target.attr, e.span(target)).value(e.b, e.span(target))
    changed = updated(e, type(node.op), old, node, span).value(e.b, span)
    if old.type != T.TENSOR:
        owner.set_attr(e.b, target.attr, changed, e.span(target))


def updated(e: Emitter, op: type, old: Value, node: ast.AugAssign, span: Span) -> SugaredValue:
    """The result of `old op= value` for the value of a node; see `combine`."""
    return combine(e, op, old, e.expr(node.value), e.span(node.target), e.span(node.value), span)


def combine(
    e: Emitter, op: type, old: Value, other: SugaredValue, left: Span, right: Span, span: Span
) -> SugaredValue:
    """The result of `old op= other`, computed in place if the type of `old` supports it."""
    operator = None
    if old.type == T.TENSOR:
        operator = IN_PLACE.get(op)
        if operator is None:
            raise CompileError(
                "a Tensor has no such augmented assignment",
                span,
                f"write the assignment out: x = x {BINARY[op][2]} y",
            )
    elif isinstance(old.type, T.ListType):
        operator = LIST_IN_PLACE.get(op)
    elif isinstance(old.type, T.ClassType):
        method = OBJECT_IN_PLACE.get(op)
        if method in old.type.methods:
            return e.b.call_method(old, method, [Arg(other, right)], {}, span)
    if operator is None:
        return binary(e, op, e.simple(old), other, (left, right), span)
    return e.b.call_operator(operator, [Arg(SimpleValue(old), left), Arg(other, right)], {}, span)
