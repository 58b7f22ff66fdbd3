"""Emits conditions, and finds what they imply about the types of variables (type refinement).

In `if x is not None and x > 0:`, x is not None in the body, and also in the second part of the
condition.  Some conditions are known at compile time.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Value
from scriptlang.records import field, record
from scriptlang.source import Span

from ..values.environment import bind
from ..values.sugared import ConstantValue, SugaredValue
from ..whole import whole

if TYPE_CHECKING:
    from .emitter import Emitter

Refinements = dict[str, T.Type]
"""Name of a variable -> the type that it is known to have."""


@record
class Condition:
    """A condition that was emitted.

    `value` is its bool value.  `if_true` and `if_false` are the types of variables that follow if
    it is true or false.  `static` is its value if known at compile time, else None.
    """

    value: Value
    if_true: Refinements = field(default_factory=dict)
    if_false: Refinements = field(default_factory=dict)
    static: bool | None = None


class Binding(ast.expr):
    """A syntax node of scriptlang's own: a condition that first binds names to a value.

    The guard of a `case` is one, if its pattern binds names.
    """

    _fields = ("names", "value", "test")
    names: list[str]
    value: ast.Name
    test: ast.expr


def condition(e: Emitter, node: ast.expr) -> Condition:
    """Emit an expression as a condition."""
    if isinstance(node, Binding):
        for name in node.names:
            bind(e.frame, e.b, name, e.expr(node.value), e.span(node.value))
        return condition(e, node.test)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _not(e, node)
    if isinstance(node, ast.BoolOp):
        return _short_circuit(e, node.values, isinstance(node.op, ast.And), e.span(node))
    if isinstance(node, ast.Compare):
        return _compare(e, node)
    if isinstance(node, ast.Call):
        special = _static_call(e, node)
        if special is not None:
            return special
    return _truth(e, node)


def _static(e: Emitter, value: bool, span: Span) -> Condition:
    return Condition(e.b.constant(value, span), static=value)


def _not(e: Emitter, node: ast.UnaryOp) -> Condition:
    inner, span = condition(e, node.operand), e.span(node)
    if inner.static is not None:
        value = e.b.constant(not inner.static, span)
    else:
        value = e.b.emit("aten::__not__", [inner.value], span)
    return Condition(
        value, inner.if_false, inner.if_true, None if inner.static is None else not inner.static
    )


def _truth(e: Emitter, node: ast.expr) -> Condition:
    """Emit the truth value of an expression.  That of an Optional is false if it is None."""
    span = e.span(node)
    meaning = e.expr(node)
    if isinstance(meaning, ConstantValue) and isinstance(meaning.constant, (bool, int, float)):
        return _static(e, bool(meaning.constant), span)
    value = meaning.value(e.b, span)
    if value.type == T.NONE:
        return _static(e, False, span)
    if isinstance(value.type, T.OptionalType):
        return _optional_truth(e, node, value, span)
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        return Condition(e.to_bool(e.simple(value), span), static=bool(value.constant))
    return Condition(e.to_bool(meaning, span))


def _optional_truth(e: Emitter, node: ast.expr, value: Value, span: Span) -> Condition:
    """Emit the truth value of an Optional: it is not None, and its value is true."""
    plain = value.type.contained[0]
    some = e.b.emit("aten::__isnot__", [value, e.b.constant(None, span)], span)
    branch = e.b.insert("prim::If", [some], (T.BOOL,), span)
    with e.block(branch.add_block()):
        known = e.simple(e.b.cast(value, plain, span))
        if isinstance(plain, T.ClassType):
            truth = e.b.constant(True, span)
        else:
            truth = e.to_bool(known, span)
        branch.blocks[0].add_return(truth)
    with e.block(branch.add_block()):
        branch.blocks[1].add_return(e.b.constant(False, span))
    return Condition(branch.output, {node.id: plain} if isinstance(node, ast.Name) else {})


def _short_circuit(e: Emitter, nodes: list[ast.expr], is_and: bool, span: Span) -> Condition:
    """Emit `and` or `or`: later operands are evaluated only if the first does not decide it."""
    left = condition(e, nodes[0])
    if len(nodes) == 1:
        return left
    if left.static is not None:
        if left.static is not is_and:
            return left
        return _short_circuit(e, nodes[1:], is_and, span)

    branch = e.b.insert("prim::If", [left.value], (T.BOOL,), span)
    open_block, closed_block = branch.add_block(), branch.add_block()
    if not is_and:
        open_block, closed_block = closed_block, open_block
    with e.block(open_block) as opened:
        refine(e, left.if_true if is_and else left.if_false, span)
        right = _short_circuit(e, nodes[1:], is_and, span)
        open_block.add_return(right.value)
    with e.block(closed_block) as closed:
        closed_block.add_return(e.b.constant(not is_and, span))
    whole.keep_named(e, branch, [opened, closed] if is_and else [closed, opened], span)
    if is_and:
        if_true = {**left.if_true, **right.if_true}
        if_false = _common(left.if_false, right.if_false)
    else:
        if_true = _common(left.if_true, right.if_true)
        if_false = {**left.if_false, **right.if_false}
    static = None
    if right.static is not None and right.static is not is_and:
        static = right.static
    return Condition(branch.outputs[0], if_true, if_false, static)


def _common(a: Refinements, b: Refinements) -> Refinements:
    """The refinements that hold if at least one of `a` and `b` holds."""
    found = {}
    for name in a.keys() & b.keys():
        unified = T.unify(a[name], b[name])
        if unified is not None:
            found[name] = unified
    return found


def _compare(e: Emitter, node: ast.Compare) -> Condition:
    """Emit a chain of comparisons.  Only `is None` and `is not None` refine types."""
    operands = [node.left, *node.comparators]
    if len(node.ops) == 1:
        op = node.ops[0]
        if isinstance(op, (ast.Is, ast.IsNot)):
            return _is(e, operands[0], operands[1], isinstance(op, ast.IsNot), e.span(node))
        value = whole.compare(e, operands[0], op, operands[1], e.span(node))
        if isinstance(value, ConstantValue):
            return _static(e, value.constant, e.span(node))
        return Condition(e.to_bool(value, e.span(node)))
    parts: list[ast.expr] = [
        ast.copy_location(ast.Compare(a, [op], [b]), node)
        for a, op, b in zip(operands, node.ops, operands[1:])
    ]
    for part in parts:
        part.lineno, part.col_offset = part.left.lineno, part.left.col_offset
        last = part.comparators[0]
        part.end_lineno, part.end_col_offset = last.end_lineno, last.end_col_offset
    return _short_circuit(e, parts, True, e.span(node))


def _is(e: Emitter, left: ast.expr, right: ast.expr, negated: bool, span: Span) -> Condition:
    """Emit `left is right`, or `is not` if `negated`.

    A comparison with None may be known at compile time, and refines types.  As in PyTorch, a
    variable found to be None keeps its Optional type, so that other values may be assigned to it.
    """
    meanings = e.expr(left), e.expr(right)
    if any(
        isinstance(m, ConstantValue)
        and m.constant is None
        or e.b.is_simple(m)
        and m.type(e.b, span) == T.NONE
        for m in meanings
    ) and not all(map(e.b.is_simple, meanings)):
        # The other operand is a function, class or module, so it is not None.
        return _static(e, negated, span)
    x, y = (m.value(e.b, e.span(node)) for m, node in zip(meanings, (left, right)))
    operator = "aten::__isnot__" if negated else "aten::__is__"
    named = left
    if x.type == T.NONE and y.type != T.NONE:
        x, y, named = y, x, right
    if y.type != T.NONE:
        return Condition(e.b.emit(operator, [x, y], span))
    is_none = x.type == T.NONE or isinstance(named, ast.Name) and e.frame.is_none(named.id)
    if is_none or x.type == T.ANY or not T.may_be_none(x.type):
        # As in PyTorch only the type counts: a value of type Any is never None.
        return _static(e, is_none is not negated, span)
    value = e.b.emit(operator, [x, y], span)
    some: Refinements = {}
    none: Refinements = {}
    if isinstance(named, ast.Name):
        some, none = {named.id: T.without_none(x.type)}, {named.id: T.NONE}
    return Condition(value, some, none) if negated else Condition(value, none, some)


def _static_call(e: Emitter, node: ast.Call) -> Condition | None:
    """A call of `isinstance` or `hasattr` as a condition; None for other calls."""
    if not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
    if name not in ("isinstance", "hasattr"):
        return None
    meaning = e.expr(node.func)
    if meaning is whole.ISINSTANCE:
        return is_instance(e, node)
    if meaning is whole.HASATTR:
        return _static(e, whole.has_attribute(e, node), e.span(node))
    return None


def is_instance(e: Emitter, node: ast.Call) -> Condition:
    """Emit `isinstance(x, T)`; it is known at compile time if the type of `x` decides it."""
    span = e.span(node)
    if len(node.args) != 2 or node.keywords:
        raise CompileError("isinstance takes a value and a type", span, "write isinstance(x, int)")
    meaning = e.expr(node.args[0])
    wanted = whole.instance_types(e, node.args[1])
    actual = meaning.type(e.b, e.span(node.args[0]))
    parts = _parts(actual)
    fitting = [p for p in parts if any(_is_a(p, w) for w in wanted)]
    others = [p for p in parts if p not in fitting]
    if actual != T.ANY and T.ANY not in parts:
        inside = [w for w in wanted if any(T.is_subtype(w, p) and p != w for p in others)]
        if not others:
            return _static(e, True, span)
        if not fitting and not inside:
            return _static(e, False, span)
        fitting += [w for w in inside if w not in fitting]
    else:
        fitting = list(wanted)
        others = [actual]
    value = meaning.value(e.b, span)
    asked = e.b.insert("prim::isinstance", [value], (T.BOOL,), span, types=list(wanted)).output
    if not isinstance(node.args[0], ast.Name):
        return Condition(asked)
    name = node.args[0].id
    return Condition(
        asked,
        {name: T.union(*fitting)} if fitting else {},
        {name: T.union(*others)} if others else {},
    )


def _parts(t: T.Type) -> list[T.Type]:
    if isinstance(t, T.UnionType):
        return list(t.options)
    if isinstance(t, T.OptionalType):
        return [*_parts(t.element), T.NONE]
    return [t]


def _is_a(t: T.Type, wanted: T.Type) -> bool:
    return T.is_subtype(t, wanted)


def narrows(e: Emitter, known: SugaredValue, type: T.Type, span: Span) -> bool:
    """Whether `type` is narrower than the type of the value `known`."""
    own = known.type(e.b, span)
    return own != type and (T.is_subtype(type, own) or own == T.ANY)


def refine(e: Emitter, facts: Refinements, span: Span) -> None:
    """Narrow the types of variables in the current frame to those in `facts`."""
    for name, type in sorted(facts.items()):
        known = e.frame.find(name)
        if known is None or not e.b.is_simple(known):
            continue
        if not narrows(e, known, type, span):
            continue
        if type == T.NONE:
            e.frame.nones.add(name)
            continue
        refined = e.b.cast(known.value(e.b, span), type, span)
        if not refined.name:
            refined.name = name
        e.frame.refine(name, e.simple(refined), known)
