"""Implicit conversions of values to the type that is wanted.

`plan` decides on a conversion without changing the graph; `apply` emits it.  A plan is a `Step`, or
None if the value needs no conversion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from scriptlang import types as T
from scriptlang.ir import Value
from scriptlang.records import record
from scriptlang.source import Span

if TYPE_CHECKING:
    from ..values.builder import Builder

EMPTY_LIST = "prim::EmptyListLiteral"
"""Kind of the node of an `[]` without annotation.  Its first use may determine its type."""

IMPLICIT: dict[tuple[T.Type, T.Type], str] = {
    (T.TENSOR, T.FLOAT): "aten::FloatImplicit",
    (T.TENSOR, T.INT): "aten::IntImplicit",
    (T.TENSOR, T.COMPLEX): "aten::ComplexImplicit",
    (T.TENSOR, T.NUMBER): "aten::ScalarImplicit",
    (T.NUMBER, T.FLOAT): "aten::Float",
    (T.NUMBER, T.INT): "aten::Int",
    (T.NUMBER, T.COMPLEX): "aten::Complex",
    (T.BOOL, T.INT): "aten::Int",
    (T.BOOL, T.NUMBER): "aten::Int",
    (T.BOOL, T.FLOAT): "aten::Float",
    (T.STR, T.DEVICE): "aten::device",
}
"""(from, to) -> the operator that converts implicitly, where implicit conversions are allowed."""


@record(frozen=True)
class Step:
    """One conversion: `kind` is operator, empty_list, tuple_to_list, tuple or repeat."""

    kind: str
    type: T.Type
    operator: str = ""
    parts: tuple[Step | None, ...] = ()
    count: int = 0


Openness: TypeAlias = "bool | tuple[Openness, ...]"
"""Whether a value is an `[]` whose type is not determined yet; for a tuple literal, a tuple with
this for each element."""


def plan(
    actual: T.Type, wanted: T.Type, implicit: bool, is_open: Openness = False
) -> tuple[Step | None, T.Type]:
    """The conversion of a value of type `actual`, and the type of the result.

    The result may not fit `wanted`: the caller checks that.  `implicit` allows the conversions of
    IMPLICIT.
    """
    if actual is wanted or actual == wanted:
        return None, actual
    if isinstance(wanted, T.OptionalType):
        if isinstance(actual, T.OptionalType) or actual == T.NONE:
            return None, actual
        return plan(actual, wanted.element, implicit, is_open)
    if is_open is True and isinstance(wanted, T.ListType):
        return Step("empty_list", wanted), wanted
    if isinstance(actual, T.TupleType):
        if isinstance(wanted, T.ListType) and all(
            T.is_subtype(t, wanted.element) for t in actual.elements
        ):
            return Step("tuple_to_list", wanted), wanted
        if (
            isinstance(wanted, T.TupleType)
            and not T.is_subtype(actual, wanted)
            and len(actual.elements) == len(wanted.elements)
        ):
            open_parts = is_open or (False,) * len(actual.elements)
            pairs = [
                plan(a, w, implicit, o)
                for a, w, o in zip(actual.elements, wanted.elements, open_parts)
            ]
            type = T.TupleType(
                tuple(t for _, t in pairs), wanted.name, wanted.fields, wanted.defaults
            )
            return Step("tuple", type, parts=tuple(step for step, _ in pairs)), type
        return None, actual
    if implicit:
        operator = IMPLICIT.get((actual, wanted))
        if operator:
            return Step("operator", wanted, operator), wanted
    return None, actual


def apply(b: Builder, step: Step | None, value: Value, span: Span) -> Value:
    """Emit a planned conversion; returns the converted value."""
    if step is None:
        return value
    if step.kind == "operator":
        return b.emit(step.operator, [value], span)
    if step.kind == "empty_list":  # The literal itself gets the type; no node is added.
        value.type, value.node.kind = step.type, "prim::ListConstruct"
        return value
    if step.kind == "repeat":
        return b.insert("prim::ListConstruct", [value] * step.count, (step.type,), span).output
    parts = b.unpack_tuple(value, span)
    if step.kind == "tuple_to_list":
        return b.insert("prim::ListConstruct", parts, (step.type,), span).output
    parts = [apply(b, s, v, span) for s, v in zip(step.parts, parts)]
    return b.insert("prim::TupleConstruct", parts, (step.type,), span).output


def openness(value: Value) -> Openness:
    """Which `[]` of a literal have a type that is not determined yet.

    A literal whose value is already used elsewhere has none.
    """
    if value.uses:
        return False
    return _open_in(value)


def _open_in(value: Value) -> Openness:
    if value.node.kind == EMPTY_LIST:
        return True
    if value.node.kind == "prim::TupleConstruct":
        parts = tuple(len(v.uses) == 1 and _open_in(v) for v in value.node.inputs)
        return parts if any(parts) else False
    return False


def settle(value: Value) -> None:
    """Make lists whose type is not determined lists of tensors, since the value gets a name."""
    if value.node.kind == EMPTY_LIST:
        value.node.kind = "prim::ListConstruct"
    elif value.node.kind == "prim::TupleConstruct":
        for part in value.node.inputs:
            settle(part)


def remedy(wanted: T.Type, actual: T.Type) -> str | None:
    """The advice of an error about a value of type `actual` where `wanted` is needed; or None."""
    if T.may_be_none(actual) and T.is_subtype(T.without_none(actual), wanted):
        return "rule out None first: `assert x is not None`, or `if x is not None:`"
    if wanted == T.FLOAT and actual == T.INT:
        return "write float(x), or a literal with a point"
    if wanted == T.INT and actual in (T.FLOAT, T.TENSOR):
        return "write int(x)"
    if actual == T.ListType(T.TENSOR) and isinstance(wanted, T.ListType):
        return (
            f"an empty list is a List[Tensor] unless it is annotated: x: {wanted.annotation} = []"
        )
    if actual == T.DictType(T.STR, T.TENSOR) and isinstance(wanted, T.DictType):
        return (
            f"an empty dict is a Dict[str, Tensor] unless it is annotated: "
            f"x: {wanted.annotation} = {{}}"
        )
    return None
