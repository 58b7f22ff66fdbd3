"""Emits statements: one function for each kind of syntax node, listed in STATEMENTS."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Node, Value
from scriptlang.source import Span

from ..overloads.conversions import remedy
from ..syntax.places import placed
from ..syntax.questions import assigned_names
from ..values.environment import Consequence, Unusable
from ..values.sugared import Arg, ConstantValue, ExceptionValue
from . import assignment, control_flow, exits, match_statement, nested
from .refinement import condition, refine

if TYPE_CHECKING:
    from .emitter import Emitter


def emit_statements(e: Emitter, body: Sequence[ast.stmt]) -> None:
    """Emit statements in order, up to the first that leaves the block.

    An error in a statement is added to `e.errors`, and the following statements are still compiled.
    Names that it would have assigned are unusable; their uses are not reported as errors.
    """
    for statement in body:
        if e.frame.exits:
            return
        before = e.graph.insert_point.prev
        try:
            emit_statement(e, statement)
        except CompileError as error:
            if e.b.unknown and not e.errors:
                leave_out(e, statement, before)
            else:
                recover(e, statement, error)


def leave_out(e: Emitter, statement: ast.stmt, before: Node) -> None:
    """Replace a statement by one that raises an error about an unknown operator.

    This happens in archives, after a call of an operator without schema.  The type of its result
    was guessed, so the error may be a wrong guess; the rest of the block cannot be compiled.
    """
    e.drop_after(before)
    kind, span = e.b.unknown[-1], e.span(statement)
    e.b.insert(kind, (), (T.TENSOR,), span, left_out=True)
    raise_exception(
        e, e.b.constant(f"the operator {kind} is not known", span), "builtins.RuntimeError", span
    )


def recover(e: Emitter, statement: ast.stmt, error: CompileError) -> None:
    """Report the error of a statement, and make the names that it assigns unusable."""
    if not isinstance(error, Consequence):
        e.report(placed(error, e.span(statement)))
    own = {statement.name} if isinstance(statement, ast.FunctionDef) else set()
    for name in assigned_names([statement]) | own:
        e.frame.forget(name, Unusable(""))
    e.frame.exits = isinstance(statement, LEAVING)


def emit_statement(e: Emitter, node: ast.stmt) -> None:
    emit = STATEMENTS.get(type(node))
    if emit is None:
        e.refuse(node)
    emit(e, node)


def emit_expression(e: Emitter, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):  # A docstring or `...`
        return
    e.expr(node.value)


def emit_pass(e: Emitter, node: ast.Pass) -> None:
    pass


def emit_return(e: Emitter, node: ast.Return) -> None:
    span = e.span(node)
    if node.value is None:
        value = e.b.constant(None, span)
    else:
        value = e.value(node.value, e.result)
    leave_function(e, result_value(e, value, span), e.span(node))


def result_value(e: Emitter, value: Value, span: Span) -> Value:
    """The value to return, converted to the declared type of the result, if any.

    Raises CompileError if it does not fit.
    """
    if e.result is None:
        return value
    converted = e.b.convert(value, e.result, span, True)
    if not T.is_subtype(converted.type, e.result):
        help = (
            "annotate the result as Optional[...]"
            if converted.type == T.NONE
            else remedy(e.result, converted.type) or "declare the type that it returns"
        )
        raise CompileError(
            f"Return value was annotated as having type {e.result.annotation} but is actually of "
            f"type {converted.type.annotation}",
            span,
            help,
        )
    return e.b.widen(converted, e.result, span)


def leave_function(e: Emitter, value: Value, span: Span) -> None:
    """Emit the return of a value from the function, or first from the innermost loop."""
    e.frame.exits = True
    dynamic = [loop for loop in e.loops if not loop.static]
    if dynamic:
        loop = dynamic[-1]
        leave = control_flow.leave_turn(e, loop, e.b.constant(False, span), span)
        loop.returns.append((leave, value))
    else:
        e.returns.append(e.b.insert(exits.LEAVE, [value], (), span))


def emit_raise(e: Emitter, node: ast.Raise) -> None:
    span = e.span(node)
    if node.exc is None:
        raise CompileError(
            "a bare raise is not part of the language", span, "raise an exception with a message"
        )
    meaning = e.expr(node.exc)
    if not isinstance(meaning, ExceptionValue):
        raise CompileError(
            f"exceptions must derive from BaseException, not {meaning.kind}",
            e.span(node.exc),
            'raise an exception, as `raise ValueError("...")`',
        )
    message = meaning.message or e.b.constant("", span)
    raise_exception(e, message, meaning.qualified_name, span)


def raise_exception(e: Emitter, message: Value, name: str, span: Span) -> None:
    e.b.call_operator(
        "prim::RaiseException",
        [Arg(e.simple(message), span), Arg(ConstantValue(name), span)],
        {},
        span,
    )
    e.frame.exits = True


def emit_assert(e: Emitter, node: ast.Assert) -> None:
    """Emit `assert test, message`."""
    if isinstance(node.test, ast.Tuple) and node.test.elts:
        raise CompileError(
            "an assert of a tuple never fails",
            e.span(node.test),
            'leave out the parentheses: assert x > 0, "message"',
        )
    require(e, node.test, node.msg, "builtins.AssertionError", e.span(node))


def require(
    e: Emitter, test: ast.expr, message: ast.expr | None, exception: str, span: Span
) -> None:
    """Emit a branch that raises `exception` unless a condition holds.

    What the condition implies about types is known after it.
    """
    wanted = condition(e, test)
    if wanted.static is True:
        refine(e, wanted.if_true, span)
        return
    if wanted.static is False:
        raise_exception(e, _message(e, message, span), exception, span)
        return
    branch = e.b.insert("prim::If", [wanted.value], (), span)
    branch.add_block()
    with e.block(branch.add_block()):
        refine(e, wanted.if_false, span)
        raise_exception(e, _message(e, message, span), exception, span)
    control_flow.keep_facts(e, branch, wanted.if_true, 0, span)


def _message(e: Emitter, message: ast.expr | None, span: Span) -> Value:
    if message is None:
        return e.b.constant("", span)
    return e.b.text(Arg(e.expr(message), e.span(message)))


def emit_delete(e: Emitter, node: ast.Delete) -> None:
    """Emit a `del` of names or elements.  A deleted name becomes unusable."""
    for target in node.targets:
        span = e.span(target)
        if isinstance(target, ast.Name):
            e.lookup(target.id, span)
            e.frame.forget(
                target.id,
                Unusable(
                    f"undefined value {target.id}: it was deleted before this use",
                    "use it before the del",
                ),
            )
        elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            owner, index = e.value(target.value), e.value(target.slice)
            if isinstance(owner.type, T.TupleType):
                raise CompileError(
                    "elements of a tuple cannot be deleted", span, "make a tuple of the others"
                )
            if isinstance(owner.type, T.ClassType) and "__delitem__" in owner.type.methods:
                e.b.call_method(owner, "__delitem__", [Arg(e.simple(index), span)], {}, span)
            else:
                e.b.call_operator(
                    "aten::Delete",
                    [
                        Arg(e.simple(owner), e.span(target.value)),
                        Arg(e.simple(index), e.span(target.slice)),
                    ],
                    {},
                    span,
                )
        else:
            sliced = isinstance(target, ast.Subscript)
            raise CompileError(
                "del statements only support deletion at a single index, slicing is not supported"
                if sliced
                else "del statements are only supported for deleting list and dict items and "
                "variables",
                span,
                "write del xs[i], or del x for a name",
            )


LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
"""Statements after which control does not continue in the block."""

STATEMENTS: dict[type, Callable[..., None]] = {
    ast.Expr: emit_expression,
    ast.Pass: emit_pass,
    ast.Return: emit_return,
    ast.Raise: emit_raise,
    ast.Assert: emit_assert,
    ast.Delete: emit_delete,
    ast.Assign: assignment.emit_assign,
    ast.AnnAssign: assignment.emit_annotated,
    ast.AugAssign: assignment.emit_augmented,
    ast.If: control_flow.emit_if,
    ast.While: control_flow.emit_while,
    ast.For: control_flow.emit_for,
    ast.Break: control_flow.emit_break,
    ast.Continue: control_flow.emit_continue,
    ast.With: control_flow.emit_with,
    ast.FunctionDef: nested.define_nested,
    ast.Match: match_statement.emit_match,
    match_statement.Unbound: match_statement.emit_unbound,
}
"""Syntax -> function `emit(emitter, node)`."""
