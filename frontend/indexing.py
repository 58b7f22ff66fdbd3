"""Subscripts: elements and slices of lists, tuples, strings, dicts, tensors and objects."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Value
from scriptlang.source import Span

from .operators import overloads
from .simple import SimpleValue
from .sugared import Arg, ConstantValue, SugaredValue

if TYPE_CHECKING:
    from .emitter import Emitter


def emit_subscript(e: Emitter, node: ast.Subscript, expected) -> SugaredValue:
    owner, span = e.expr(node.value), e.span(node)
    if not isinstance(owner, (SimpleValue, ConstantValue)):
        if isinstance(node.slice, ast.Slice):
            return _slice_static(e, owner, node.slice, span)
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
    if isinstance(node.slice, ast.Slice):
        return _slice(e, value, node.slice, span)
    return item(e, value, node.slice, span)


def member_at_run_time(e: Emitter, owner: Value, index: Value, wanted: T.InterfaceType,
                       span: Span) -> Value:
    """A member of a container of modules, as an interface that all members have."""
    overload = "dict" if index.type == T.STR else "list"
    schema = next(s for s in overloads("prim::ModuleContainerIndex") if s.overload == overload)
    return e.graph.insert("prim::ModuleContainerIndex", [owner, index], (wanted,), span,
                          schema=schema).output


def item(e: Emitter, owner: Value, index: ast.expr, span: Span) -> SugaredValue:
    """`owner[index]` of everything but tensors."""
    if isinstance(owner.type, T.TupleType):
        return _tuple_item(e, owner, index, span)
    if isinstance(owner.type, T.OptionalType):
        e.simple(owner).fail("cannot be indexed", span,
                             "rule out None first: `assert x is not None`, or `if x is not None:`")
    position = e.value(index)
    if isinstance(owner.type, T.ClassType):
        found = e.simple(owner).attr(e.b, "__getitem__", span)
        return found.call(e.b, [Arg(e.simple(position), e.span(index))], {}, span)
    return e.b.call_operator("aten::__getitem__", [
        Arg(e.simple(owner), span), Arg(e.simple(position), e.span(index))], {}, span)


def _constant_int(e: Emitter, node: ast.expr) -> int | None:
    value = e.value(node)
    return value.constant if value.is_constant and isinstance(value.constant, int) else None


def _tuple_item(e: Emitter, owner: Value, index: ast.expr, span: Span) -> SugaredValue:
    elements = owner.type.elements
    position = e.value(index)
    if position.type != T.INT:
        raise CompileError(f"a tuple is indexed by an int, not {position.type.annotation}",
                           e.span(index), "write x[0]")
    if not position.is_constant:
        if elements and all(t == elements[0] for t in elements):
            return e.simple(e.b.insert("prim::TupleIndex", [owner, position], (elements[0],),
                                       span).output)
        raise CompileError("the index of a tuple of different types must be known at compile time",
                           e.span(index), "use a literal, or a list")
    if not -len(elements) <= position.constant < len(elements):
        raise CompileError(f"the tuple has only {len(elements)} elements", e.span(index),
                           f"its indices go from 0 to {len(elements) - 1}")
    return e.simple(e.b.insert("prim::TupleIndex", [owner, position],
                               (elements[position.constant],), span).output)


def _slice(e: Emitter, owner: Value, node: ast.Slice, span: Span) -> SugaredValue:
    """`owner[a:b:c]` of lists, strings and tuples."""
    if isinstance(owner.type, T.TupleType):
        bounds = slice(*(_bound(e, p) for p in (node.lower, node.upper, node.step)))
        return e.simple(e.b.tuple(e.b.unpack_tuple(owner, span)[bounds], span))
    if isinstance(owner.type, T.ClassType):
        e.simple(owner).fail("cannot be sliced", span, "only tensors, lists, tuples and str can")
    bounds = [Arg(_bound_value(e, p, span), e.span(p) if p else span)
              for p in (node.lower, node.upper)]
    step = Arg(e.expr(node.step) if node.step else ConstantValue(1), span)
    return e.b.call_operator("aten::slice", [Arg(e.simple(owner), span), *bounds, step], {}, span)


def _slice_static(e: Emitter, owner: SugaredValue, node: ast.Slice, span: Span) -> SugaredValue:
    from .sugared import StaticSequence

    parts = owner.unpack(e.b, span)
    if parts is None:
        owner.fail("cannot be sliced", span, "only tensors, lists, tuples and str can")
    bounds = slice(*(_bound(e, p) for p in (node.lower, node.upper, node.step)))
    return StaticSequence(parts[bounds])


def _bound(e: Emitter, node: ast.expr | None) -> int | None:
    if node is None:
        return None
    value = _constant_int(e, node)
    if value is None:
        raise CompileError("the bounds of this slice must be known at compile time",
                           e.span(node), "write literals, or use a list")
    return value


def _bound_value(e: Emitter, node: ast.expr | None, span: Span) -> SugaredValue:
    return ConstantValue(None) if node is None else e.expr(node)


# Tensors

@dataclass
class _Cursor:
    """Where in the dimensions of a tensor the next index works.

    Before `...` dimensions count from the front; after it `behind` of them are still to come.
    """

    view: Value
    dim: int = 0
    behind: int | None = None

    @property
    def position(self) -> int:
        return self.dim if self.behind is None else -self.behind

    def kept(self) -> None:
        """One dimension was used and is still there."""
        if self.behind is None:
            self.dim += 1
        else:
            self.behind -= 1

    def removed(self) -> None:
        if self.behind is not None:
            self.behind -= 1


def view_of(e: Emitter, owner: Value, index: ast.expr, span: Span
            ) -> tuple[Value, list[Value | None]]:
    """Apply ints, slices, None and ... of an index; the view and the index tensors that are left.

    The list of index tensors has a None for every dimension before one that is indexed by a tensor.
    """
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    cursor, indices = _Cursor(owner), []
    for i, part in enumerate(parts):
        if isinstance(part, ast.Constant) and part.value is Ellipsis:
            if cursor.behind is not None:
                raise CompileError("an index has at most one ...", e.span(part),
                                   "write a : for each dimension of the other")
            cursor.behind = _dimensions(e, parts[i + 1:])
        elif isinstance(part, ast.Slice):
            cursor.view = _slice_dim(e, cursor, part, span)
            cursor.kept()
        else:
            _apply_index(e, cursor, indices, part, span)
    return cursor.view, indices


def _dimensions(e: Emitter, parts: list[ast.expr]) -> int:
    """How many dimensions the indices after `...` use."""
    return sum(not (isinstance(p, ast.Constant) and p.value in (None, Ellipsis)) for p in parts)


def _slice_dim(e: Emitter, cursor: _Cursor, node: ast.Slice, span: Span) -> Value:
    dim = e.b.constant(cursor.position, span)
    bounds = [Arg(_bound_value(e, p, span), e.span(p) if p else span)
              for p in (node.lower, node.upper)]
    step = Arg(e.expr(node.step) if node.step else ConstantValue(1), span)
    return e.b.call_operator("aten::slice", [Arg(e.simple(cursor.view), span),
                                             Arg(e.simple(dim), span), *bounds, step],
                             {}, span).value(e.b, span)


def _apply_index(e: Emitter, cursor: _Cursor, indices: list[Value | None], part: ast.expr,
                 span: Span) -> None:
    place = e.span(part)
    value = e.value(part)
    if isinstance(value.type, (T.ListType, T.TupleType)):
        value = e.b.emit("aten::tensor", [_as_list(e, value, place)], place)
    if value.type == T.NONE:
        position = cursor.position - (cursor.behind is not None)
        cursor.view = e.b.emit("aten::unsqueeze", [cursor.view, e.b.constant(position, span)], span)
        if cursor.behind is None:
            cursor.dim += 1
    elif value.type == T.INT:
        cursor.view = e.b.emit("aten::select", [cursor.view, e.b.constant(cursor.position, span),
                                                value], span)
        cursor.removed()
    elif value.type == T.TENSOR or value.type == T.OptionalType(T.TENSOR):
        if cursor.behind is not None:
            raise CompileError("a tensor cannot index a dimension after ...", place,
                               "write a : for each dimension that ... stands for")
        indices += [None] * (cursor.dim - len(indices))
        indices.append(value)
        cursor.kept()
    else:
        raise CompileError(f"a tensor cannot be indexed by {value.type.annotation}", place,
                           "an index is an int, a slice, None, ..., a list or a tensor")


def _as_list(e: Emitter, value: Value, span: Span) -> Value:
    if isinstance(value.type, T.ListType):
        return value
    elements = value.type.elements
    if not elements or any(t != elements[0] for t in elements):
        raise CompileError("an index tuple needs elements of one type", span)
    return e.b.list(e.b.unpack_tuple(value, span), elements[0], span)


def _indices(e: Emitter, indices: list[Value | None], span: Span) -> Value:
    values = [e.b.constant(None, span) if v is None else v for v in indices]
    return e.b.list(values, T.OptionalType(T.TENSOR), span)


def _gather(e: Emitter, view: Value, indices: list[Value | None], span: Span) -> Value:
    return e.b.emit("aten::index", [view, _indices(e, indices, span)], span)


# Assignment

def assign_item(e: Emitter, target: ast.Subscript, value: Value, span: Span) -> None:
    """`owner[index] = value`."""
    owner, place = e.value(target.value), e.span(target)
    if owner.type == T.TENSOR:
        view, indices = view_of(e, owner, target.slice, place)
        store(e, view, indices, _as_tensor(e, value, view, span), place)
        return
    if isinstance(target.slice, ast.Slice):
        raise CompileError(f"a slice of a value of type {owner.type.annotation} cannot be assigned",
                           place, "assign element by element")
    index = e.expr(target.slice)
    if isinstance(owner.type, T.ClassType):
        e.simple(owner).attr(e.b, "__setitem__", place).call(
            e.b, [Arg(index, e.span(target.slice)), Arg(e.simple(value), span)], {}, place)
        return
    if isinstance(owner.type, T.TupleType) or owner.type == T.STR:
        e.simple(owner).fail("cannot be changed", place, "use a list")
    e.b.call_operator("aten::_set_item", [Arg(e.simple(owner), e.span(target.value)),
                                          Arg(index, e.span(target.slice)),
                                          Arg(e.simple(value), span)], {}, place)


def _as_tensor(e: Emitter, value: Value, view: Value, span: Span) -> Value:
    """A number that is stored into a tensor becomes a tensor like it."""
    if value.type not in (T.INT, T.FLOAT, T.BOOL, T.COMPLEX):
        return value
    dtype = e.b.emit("prim::dtype", [view], span)
    device = e.b.emit("prim::device", [view], span)
    return e.b.emit("aten::tensor", [value], span, dtype=dtype, device=device)


def store(e: Emitter, view: Value, indices: list[Value | None], value: Value, span: Span) -> None:
    """Write a tensor where an index points."""
    if indices:
        e.b.emit("aten::index_put_", [view, _indices(e, indices, span), value], span)
    else:
        e.b.emit("aten::copy_", [view, value], span)


def augment_item(e: Emitter, target: ast.Subscript, op: type, value: ast.expr, span: Span) -> None:
    """`owner[index] op= value`; owner and index are evaluated once."""
    from .assignment import combine

    owner, place, right = e.value(target.value), e.span(target), e.span(value)
    if owner.type == T.TENSOR:
        view, indices = view_of(e, owner, target.slice, place)
        if not indices:
            combine(e, op, view, e.expr(value), place, right, span)
            return
        listed = _indices(e, indices, place)
        old = e.b.emit("aten::index", [view, listed], place)
        new = combine(e, op, old, e.expr(value), place, right, span).value(e.b, span)
        e.b.emit("aten::index_put_", [view, listed, new], span)
        return
    if isinstance(target.slice, ast.Slice):
        raise CompileError("a slice cannot be changed by an augmented assignment", place,
                           "loop over the indices, or use x.extend(...)")
    if isinstance(owner.type, T.TupleType):
        raise CompileError("an element of a tuple cannot be changed", place,
                           "make a new tuple, or use a list")
    index = e.simple(e.value(target.slice))
    item_arg = Arg(e.simple(owner), e.span(target.value))
    index_arg = Arg(index, e.span(target.slice))
    if isinstance(owner.type, T.ClassType):
        old = e.b.call_method(owner, "__getitem__", [index_arg], {}, place)
    else:
        old = e.b.call_operator("aten::__getitem__", [item_arg, index_arg], {}, place)
    old_value = old.value(e.b, place)
    new = combine(e, op, old_value, e.expr(value), place, right, span)
    if isinstance(owner.type, T.ClassType):
        e.b.call_method(owner, "__setitem__", [index_arg, Arg(new, span)], {}, place)
    elif old_value.type != T.TENSOR:
        e.b.call_operator("aten::_set_item", [item_arg, index_arg, Arg(new, span)], {}, place)
