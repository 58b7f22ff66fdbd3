"""Emits subscripts, and assignments to them: of lists, tuples, str, dicts, tensors and objects."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Value
from scriptlang.records import record
from scriptlang.source import Span

from ..overloads.operators import overloads
from ..values.simple import SimpleValue
from ..values.sugared import (
    Arg,
    BuiltinFunction,
    ConstantValue,
    SpecialForm,
    StaticSequence,
    SugaredValue,
)
from ..whole import whole

if TYPE_CHECKING:
    from ..values.builder import Builder
    from .emitter import Emitter


class SliceValue(SugaredValue):
    """`a:b:c` in an index, or `slice(a, b, c)`.  A part that is left out is None."""

    kind = "a slice"

    def __init__(self, lower: Arg | None, upper: Arg | None, step: Arg | None) -> None:
        self.lower, self.upper, self.step = lower, upper, step

    @property
    def parts(self) -> tuple[Arg | None, ...]:
        return self.lower, self.upper, self.step

    def arguments(self, span: Span) -> list[Arg]:
        """The last three arguments of `aten::slice`: start, end and step."""
        lower, upper, step = self.parts
        nothing = Arg(ConstantValue(None), span)
        return [lower or nothing, upper or nothing, step or Arg(ConstantValue(1), span)]

    def static(self, b: Builder) -> slice:
        """The slice with its constant bounds.  Raises CompileError if they are not constant."""
        return slice(*(_bound(b, p) for p in self.parts))


def _make_slice(
    b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
) -> SugaredValue:
    if kwargs or not 1 <= len(args) <= 3:
        raise CompileError(
            "slice takes one to three arguments, and no keyword arguments",
            span,
            "write slice(start, stop, step)",
        )
    parts = [None, args[0], None] if len(args) == 1 else [*args, None][:3]
    return SliceValue(
        *(None if p is None or p.value.type(b, p.span) == T.NONE else p for p in parts)
    )


SLICE = BuiltinFunction("slice", _make_slice)


def slice_of(e: Emitter, node: ast.expr) -> SliceValue | None:
    """The slice that an index is; None if it is something else."""
    if isinstance(node, ast.Slice):
        return SliceValue(
            *(
                None if p is None else Arg(e.expr(p), e.span(p))
                for p in (node.lower, node.upper, node.step)
            )
        )
    if isinstance(node, ast.Name):
        found = e.frame.find(node.id)
        return found if isinstance(found, SliceValue) else None
    if (
        isinstance(node, ast.Call)
        and getattr(node.func, "id", None) == "slice"
        and e.lookup("slice", e.span(node.func)) is SLICE
    ):
        return e.expr(node)
    return None


def item_method(tensor: Value) -> SpecialForm:
    """`x.__getitem__` of a tensor; calling it with `i` is the same as `x[i]`."""

    def emit(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
        span = e.span(node)
        if len(node.args) != 1 or node.keywords:
            raise CompileError("__getitem__ takes one index", span, "write x[i]")
        view, indices = view_of(e, tensor, node.args[0], span)
        return e.simple(_gather(e, view, indices, span) if indices else view)

    return SpecialForm("__getitem__", emit)


def emit_subscript(e: Emitter, node: ast.Subscript, expected: T.Type | None) -> SugaredValue:
    """Emit `owner[index]` for all kinds of owners."""
    owner, span = e.expr(node.value), e.span(node)
    if not isinstance(owner, (SimpleValue, ConstantValue)):
        part = slice_of(e, node.slice)
        if part is not None:
            return _slice_static(e, owner, part, span)
        return owner.get_item(e.b, Arg(e.expr(node.slice), e.span(node.slice)), span)
    value = owner.value(e.b, e.span(node.value))
    if getattr(value.type, "origin", None) is not None:
        found = e.simple(value).subscript(e, node, expected)
        if found is not None:
            return found
    if isinstance(expected, T.InterfaceType) and getattr(value.type, "is_module", False):
        return e.simple(member_at_run_time(e, value, e.value(node.slice), expected, span))
    if value.type == T.TENSOR:
        view, indices = view_of(e, value, node.slice, span)
        return e.simple(_gather(e, view, indices, span) if indices else view)
    part = slice_of(e, node.slice)
    if part is not None:
        return _slice(e, value, part, span)
    return item(e, value, node.slice, span)


def member_at_run_time(
    e: Emitter, owner: Value, index: Value, wanted: T.InterfaceType, span: Span
) -> Value:
    """Emit the lookup of a module in a container with an index that is known only at run time.

    All modules of the container must have the interface `wanted`.
    """
    overload = "dict" if index.type == T.STR else "list"
    schema = next(s for s in overloads("prim::ModuleContainerIndex") if s.overload == overload)
    return e.graph.insert(
        "prim::ModuleContainerIndex", [owner, index], (wanted,), span, schema=schema
    ).output


def item(e: Emitter, owner: Value, index: ast.expr, span: Span) -> SugaredValue:
    """Emit `owner[index]` for values other than tensors."""
    if isinstance(owner.type, T.TupleType):
        return _tuple_item(e, owner, index, span)
    if isinstance(owner.type, T.OptionalType):
        e.simple(owner).fail(
            "cannot be indexed",
            span,
            "rule out None first: `assert x is not None`, or `if x is not None:`",
        )
    position = e.value(index)
    if isinstance(owner.type, T.ClassType):
        found = e.simple(owner).attr(e.b, "__getitem__", span)
        return found.call(e.b, [Arg(e.simple(position), e.span(index))], {}, span)
    if owner.type in (T.INT, T.FLOAT, T.BOOL, T.COMPLEX, T.NONE):
        raise CompileError(
            f"{owner.type.annotation!r} object is not subscriptable",
            span,
            "only tensors and containers can be indexed",
        )
    return e.b.call_operator(
        "aten::__getitem__",
        [Arg(e.simple(owner), span), Arg(e.simple(position), e.span(index))],
        {},
        span,
    )


def _tuple_item(e: Emitter, owner: Value, index: ast.expr, span: Span) -> SugaredValue:
    """Emit the lookup in a tuple.

    The index must be a constant, unless all elements have the same type.
    """
    elements = owner.type.elements
    position = e.value(index)
    if position.type != T.INT:
        raise CompileError(
            f"a tuple is indexed by an int, not {position.type.annotation}",
            e.span(index),
            "write x[0]",
        )
    if not position.is_constant:
        if elements and all(t == elements[0] for t in elements):
            return e.simple(
                e.b.insert("prim::TupleIndex", [owner, position], (elements[0],), span).output
            )
        raise CompileError(
            f"Cannot index into a {owner.type.annotation} with a non-integer literal because we "
            "cannot resolve the output type",
            e.span(index),
            "use a literal, or a list",
        )
    if not -len(elements) <= position.constant < len(elements):
        raise CompileError(
            f"Tuple index out of range. Tuple is length {len(elements)} and index is "
            f"{position.constant}",
            e.span(index),
            f"its indices go from 0 to {len(elements) - 1}",
        )
    return e.simple(
        e.b.insert(
            "prim::TupleIndex", [owner, position], (elements[position.constant],), span
        ).output
    )


def _slice(e: Emitter, owner: Value, part: SliceValue, span: Span) -> SugaredValue:
    """Emit `owner[a:b:c]` for lists, strings and tuples."""
    if isinstance(owner.type, T.TupleType):
        return e.simple(e.b.tuple(e.b.unpack_tuple(owner, span)[part.static(e.b)], span))
    if isinstance(owner.type, T.ClassType):
        e.simple(owner).fail("cannot be sliced", span, "only tensors, lists, tuples and str can")
    return e.b.call_operator(
        "aten::slice", [Arg(e.simple(owner), span), *part.arguments(span)], {}, span
    )


def _slice_static(e: Emitter, owner: SugaredValue, part: SliceValue, span: Span) -> SugaredValue:
    parts = owner.unpack(e.b, span)
    if parts is None:
        owner.fail("cannot be sliced", span, "only tensors, lists, tuples and str can")
    return StaticSequence(parts[part.static(e.b)])


def _bound(b: Builder, part: Arg | None) -> int | None:
    if part is None:
        return None
    value = part.value.value(b, part.span)
    if not value.is_constant or not isinstance(value.constant, int):
        raise CompileError(
            "tuple slice indices must be integer constants",
            part.span,
            "write literals, or use a list",
        )
    return value.constant


# Tensors

INT64 = 4
"""Code of the dtype to which a list that is used as an index is converted."""


@record
class _Cursor:
    """The dimension of a tensor to which the next part of an index applies.

    Before `...` it is `dim`, counted from the front.  After it, `behind` is the number of remaining
    dimensions, and the dimension is counted from the end.
    """

    view: Value
    dim: int = 0
    behind: int | None = None

    @property
    def position(self) -> int:
        return self.dim if self.behind is None else -self.behind

    def kept(self) -> None:
        """Move on after an index that keeps its dimension."""
        if self.behind is None:
            self.dim += 1
        else:
            self.behind -= 1

    def removed(self) -> None:
        """Move on after an index that removes its dimension."""
        if self.behind is not None:
            self.behind -= 1


def view_of(
    e: Emitter, owner: Value, index: ast.expr, span: Span
) -> tuple[Value, list[Value | None]]:
    """Apply the ints, slices, None and `...` of an index to a tensor.

    Returns the view, and a list of the index tensors that remain to be applied to it.  The list has
    a None for each dimension before the last of these that no tensor indexes.
    """
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    cursor = _Cursor(owner)
    indices: list[Any] = []
    for i, part in enumerate(parts):
        cut = slice_of(e, part)
        if is_ellipsis(part):
            if cursor.behind is not None:
                raise CompileError(
                    "an index has at most one ...",
                    e.span(part),
                    "write a : for each dimension of the other",
                )
            cursor.behind = _dimensions(e, parts[i + 1 :])
        elif cut is not None:
            cursor.view = _slice_dim(e, cursor, cut, span)
            cursor.kept()
        else:
            _apply_index(e, cursor, indices, part, span)
    return cursor.view, indices


def is_ellipsis(part: ast.expr) -> bool:
    """Whether a part of an index is `...` or the name `Ellipsis`."""
    return (
        isinstance(part, ast.Constant)
        and part.value is Ellipsis
        or isinstance(part, ast.Name)
        and part.id == "Ellipsis"
    )


def _dimensions(e: Emitter, parts: list[ast.expr]) -> int:
    """How many dimensions the parts of an index after `...` use."""
    return sum(
        not (is_ellipsis(p) or isinstance(p, ast.Constant) and p.value is None) for p in parts
    )


def _slice_dim(e: Emitter, cursor: _Cursor, part: SliceValue, span: Span) -> Value:
    dim = e.b.constant(cursor.position, span)
    return e.b.call_operator(
        "aten::slice",
        [Arg(e.simple(cursor.view), span), Arg(e.simple(dim), span), *part.arguments(span)],
        {},
        span,
    ).value(e.b, span)


def _apply_index(
    e: Emitter, cursor: _Cursor, indices: list[Value | None], part: ast.expr, span: Span
) -> None:
    """Apply an int or None to the view of the cursor, or add a tensor to `indices`."""
    place = e.span(part)
    value = e.value(part)
    # A list of any element type becomes a tensor of int64, even a list of bools.
    if isinstance(value.type, T.ListType):
        value = e.b.emit("aten::tensor", [value], place, dtype=e.b.constant(INT64, place))
    if value.type == T.NONE:
        position = cursor.position - (cursor.behind is not None)
        cursor.view = e.b.emit("aten::unsqueeze", [cursor.view, e.b.constant(position, span)], span)
        if cursor.behind is None:
            cursor.dim += 1
    elif value.type == T.INT:
        cursor.view = e.b.emit(
            "aten::select", [cursor.view, e.b.constant(cursor.position, span), value], span
        )
        cursor.removed()
    elif value.type == T.TENSOR or value.type == T.OptionalType(T.TENSOR):
        if cursor.behind is not None:
            raise CompileError(
                "a tensor cannot index a dimension after ...",
                place,
                "write a : for each dimension that ... stands for",
            )
        indices += [None] * (cursor.dim - len(indices))
        indices.append(value)
        cursor.kept()
    else:
        raise CompileError(
            "Unsupported operation: indexing tensor with unsupported index type "
            f"{value.type.annotation!r}. Only ints, slices, lists and tensors are supported",
            place,
            "an index is an int, a slice, None, ..., a list or a tensor",
        )


def _indices(e: Emitter, indices: list[Value | None], span: Span) -> Value:
    values = [e.b.constant(None, span) if v is None else v for v in indices]
    return e.b.list(values, T.OptionalType(T.TENSOR), span)


def _gather(e: Emitter, view: Value, indices: list[Value | None], span: Span) -> Value:
    """Emit `aten::index` of a view with index tensors."""
    return e.b.emit("aten::index", [view, _indices(e, indices, span)], span)


# Assignment


def assign_item(e: Emitter, target: ast.Subscript, value: Value, span: Span) -> None:
    """Emit `owner[index] = value`; `span` is the span of the value."""
    owner, place = e.value(target.value), e.span(target)
    if owner.type == T.TENSOR:
        view, indices = view_of(e, owner, target.slice, place)
        store(e, view, indices, _as_tensor(e, value, view, span), place)
        return
    if isinstance(target.slice, ast.Slice):
        raise CompileError(
            f"a slice of a value of type {owner.type.annotation} cannot be assigned",
            place,
            "assign element by element",
        )
    index = e.expr(target.slice)
    if isinstance(owner.type, T.ClassType):
        e.simple(owner).attr(e.b, "__setitem__", place).call(
            e.b, [Arg(index, e.span(target.slice)), Arg(e.simple(value), span)], {}, place
        )
        return
    if isinstance(owner.type, T.TupleType) or owner.type == T.STR:
        raise CompileError(
            f"{owner.type.annotation} does not support subscripted assignment", place, "use a list"
        )
    e.b.call_operator(
        "aten::_set_item",
        [
            Arg(e.simple(owner), e.span(target.value)),
            Arg(index, e.span(target.slice)),
            Arg(e.simple(value), span),
        ],
        {},
        place,
    )


def _as_tensor(e: Emitter, value: Value, view: Value, span: Span) -> Value:
    """Convert a number to a tensor of the dtype and device of `view`; other values stay."""
    if value.type not in (T.INT, T.FLOAT, T.BOOL, T.COMPLEX):
        return value
    dtype = e.b.emit("prim::dtype", [view], span)
    device = e.b.emit("prim::device", [view], span)
    return e.b.emit("aten::tensor", [value], span, dtype=dtype, device=device)


def store(e: Emitter, view: Value, indices: list[Value | None], value: Value, span: Span) -> None:
    """Emit the assignment to a part of a tensor, which `view_of` described."""
    if indices:
        e.b.emit("aten::index_put_", [view, _indices(e, indices, span), value], span)
    else:
        e.b.emit("aten::copy_", [view, value], span)


def augment_item(e: Emitter, target: ast.Subscript, op: type, value: ast.expr, span: Span) -> None:
    """Emit `owner[index] op= value`; owner and index are evaluated once."""
    owner, place, right = e.value(target.value), e.span(target), e.span(value)
    if owner.type == T.TENSOR:
        view, indices = view_of(e, owner, target.slice, place)
        if not indices:
            whole.combine(e, op, view, e.expr(value), place, right, span)
            return
        listed = _indices(e, indices, place)
        old = e.b.emit("aten::index", [view, listed], place)
        new = whole.combine(e, op, old, e.expr(value), place, right, span).value(e.b, span)
        e.b.emit("aten::index_put_", [view, listed, new], span)
        return
    if isinstance(target.slice, ast.Slice):
        raise CompileError(
            "a slice cannot be changed by an augmented assignment",
            place,
            "loop over the indices, or use x.extend(...)",
        )
    if isinstance(owner.type, T.TupleType):
        raise CompileError(
            f"{owner.type.annotation} does not support augmented assignment",
            place,
            "make a new tuple, or use a list",
        )
    index = e.simple(e.value(target.slice))
    item_arg = Arg(e.simple(owner), e.span(target.value))
    index_arg = Arg(index, e.span(target.slice))
    if isinstance(owner.type, T.ClassType):
        before = e.b.call_method(owner, "__getitem__", [index_arg], {}, place)
    else:
        before = e.b.call_operator("aten::__getitem__", [item_arg, index_arg], {}, place)
    old_value = before.value(e.b, place)
    # A tensor in a list changes in place, one in a dict is replaced, as PyTorch has it.
    in_place = not isinstance(owner.type, T.DictType)
    if in_place:
        new = whole.combine(e, op, old_value, e.expr(value), place, right, span)
    else:
        new = whole.binary(e, op, e.simple(old_value), e.expr(value), (place, right), span)
    if isinstance(owner.type, T.ClassType):
        e.b.call_method(owner, "__setitem__", [index_arg, Arg(new, span)], {}, place)
    elif not in_place or old_value.type != T.TENSOR:
        e.b.call_operator("aten::_set_item", [item_arg, index_arg, Arg(new, span)], {}, place)
