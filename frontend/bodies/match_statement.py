"""Emits `match` on ints, strings, bools and enums as a chain of `if` statements.

match kind:                          if kind == "a" or kind == "b":
    case "a" | "b": return 1   ->        return 1
    case other: return 2             else:
                                         other = kind
                                         return 2
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from scriptlang import types as T
from scriptlang.errors import CompileError

from ..values.environment import bind
from ..whole import whole

if TYPE_CHECKING:
    from .emitter import Emitter

HELP = "match takes ints, strings, bools and enums; take other values apart with if and elif"


def emit_match(e: Emitter, node: ast.Match) -> None:
    """Emit a `match`.  The subject is evaluated once."""
    subject = node.subject
    if not isinstance(subject, ast.Name):
        name = f"_match_{node.lineno}_{node.col_offset}"
        bind(e.frame, e.b, name, e.expr(subject), e.span(subject))
        subject = ast.copy_location(ast.Name(name, ast.Load()), node.subject)
    type = e.expr(subject).type(e.b, e.span(subject))
    known = type in (T.INT, T.STR, T.BOOL, T.NONE) or isinstance(type, T.EnumType)
    if not known and not isinstance(type, T.OptionalType):
        raise CompileError(
            f"a value of type {type.annotation} cannot be matched", e.span(node.subject), HELP
        )
    whole.emit_statements(e, _cases(e, node.cases, subject))


def _cases(e: Emitter, cases: list[ast.match_case], subject: ast.Name) -> list[ast.stmt]:
    """The statements to which these cases are equivalent."""
    if not cases:
        return []
    case, rest = cases[0], cases[1:]
    test, name = _test(e, case.pattern, subject)
    before: list[ast.stmt] = []
    if name is not None:
        target = ast.copy_location(ast.Name(name, ast.Store()), case.pattern)
        before = [ast.copy_location(ast.Assign([target], subject, type_comment=None), case.pattern)]
    # The guard may read the name, so the name is bound before the test, as in Python.
    if case.guard is not None:
        parts = [case.guard] if test is None else [test, case.guard]
        test = (
            case.guard
            if test is None
            else ast.copy_location(ast.BoolOp(ast.And(), parts), case.guard)
        )
        body = case.body
    else:
        before, body = [], [*before, *case.body]
    if test is None:
        return body
    return [*before, ast.copy_location(ast.If(test, body, _cases(e, rest, subject)), test)]


def _test(
    e: Emitter, pattern: ast.pattern, subject: ast.Name
) -> tuple[ast.expr | None, str | None]:
    """The test for a pattern, and the name that it binds.

    The test is None if the pattern always matches, the name is None if it binds none.
    """
    if isinstance(pattern, ast.MatchValue):
        return _compare(pattern, subject, ast.Eq(), pattern.value), None
    if isinstance(pattern, ast.MatchSingleton):
        value = ast.copy_location(ast.Constant(pattern.value), pattern)
        sign = ast.Is() if pattern.value is None else ast.Eq()
        return _compare(pattern, subject, sign, value), None
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is None:
            return None, pattern.name
        return _test(e, pattern.pattern, subject)[0], pattern.name
    if isinstance(pattern, ast.MatchOr):
        tests = [_test(e, p, subject)[0] for p in pattern.patterns]
        if None in tests:
            return None, None
        return ast.copy_location(ast.BoolOp(ast.Or(), tests), pattern), None
    raise CompileError(
        "a pattern that takes a value apart is not part of the language", e.span(pattern), HELP
    )


def _compare(pattern: ast.pattern, subject: ast.Name, sign: ast.cmpop, value: ast.expr) -> ast.expr:
    return ast.copy_location(
        ast.Compare(ast.copy_location(ast.Name(subject.id, ast.Load()), pattern), [sign], [value]),
        pattern,
    )
